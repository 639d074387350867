#!/usr/bin/env python3
"""Writes reference.txt: the conversion of zCDP to 25 digits, by mpmath with 80 digits.

Each line: zcdp rho delta epsilon, the minimum over alpha of Canonne, Kamath and Steinke's bound. Inputs are the exact values of the
float64 printed.
"""
from mpmath import mp, mpf, exp, log, nstr, sqrt

mp.dps = 80
out = open(__file__.replace(".py", ".txt"), "w")


def cks(rho, delta):
    rho, l = mpf(rho), -log(mpf(delta))
    bound = lambda al: al * rho + (al * log(1 - 1 / al) - log(al - 1) + l) / (al - 1)
    a, b = mpf("1e-30"), mpf("1e30")  # golden section on ln(alpha - 1); the bound has one minimum
    a, b = log(a), log(b)
    g = (sqrt(mpf(5)) - 1) / 2
    for _ in range(260):
        c, d = b - g * (b - a), a + g * (b - a)
        if bound(1 + exp(c)) < bound(1 + exp(d)):
            b = d
        else:
            a = c
    return bound(1 + exp(a))


for rho in [1e-12, 1e-6, 0.01, 0.125, 0.5, 1.0, 10.0, 1e3, 1e6]:
    for delta in [1e-300, 1e-30, 1e-9, 1e-6, 1e-3, 0.1]:
        e = cks(rho, delta)
        if e > 0:
            out.write(f"zcdp {rho!r} {delta!r} {nstr(e, 25)}\n")
