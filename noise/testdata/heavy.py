#!/usr/bin/env python3
"""Writes heavy.txt: values of the staircase, zero-symmetric Pareto and Student-type laws to 19 digits, by mpmath with 80 digits.

Inputs are the exact values of the float64 printed. The staircase is summed step by step from its density, Student's law is the regularized
incomplete beta function, checked here against quadrature.
  pareto, student: shape scale x survival logsurvival
  staircase: epsilon sensitivity gamma x survival logsurvival
  stairmoments: epsilon gamma variance meanabs
  studentmoments: shape meanabs
"""
from mpmath import mp, mpf, exp, log, log1p, nstr, betainc, quad, sqrt, inf, gamma, pi

mp.dps = 80
out = open(__file__.replace(".py", ".txt"), "w")


def emit(law, *args):
    out.write(" ".join([law] + [repr(a) if isinstance(a, float) else nstr(a, 19) for a in args]) + "\n")


def both(law, params, x, tail, lower):
    """tail = Pr[X > |x|]; written at x and, for some x, at -x."""
    emit(law, *params, x, tail, log(tail))
    if lower:
        emit(law, *params, -x, 1 - tail, log1p(-tail))


ZS = [1e-300, 1e-9, 0.01, 0.3, 0.99, 1.5, 3.1, 20.0, 100.0, 1e5, 1e30, 1e150, 1e250]
SHAPES = [1.0625, 1.5, 2.0, 2.5, 3.0, 3.7, 4.0, 10.0, 33.3, 1024.0, 2.0**20]
for scale, shapes in [(0.1 + 0.2, SHAPES), (2.0**-900, [1.5, 3.0, 3.7, 1024.0])]:
    for shape in shapes:
        for z in ZS:
            lower = z in (1e-9, 0.3, 3.1, 1e5)
            x = z * scale
            v = mpf(x) / mpf(scale)
            if x == float("inf"):
                continue
            both("pareto", (shape, scale), x, (1 + v) ** (1 - mpf(shape)) / 2, lower)
            if 2 <= shape <= 1024:
                a = (mpf(shape) - 1) / 2
                y = 1 / (1 + v * v)
                if a * log(1 + v * v) > 20000:
                    continue
                both("student", (shape, scale), x, betainc(a, mpf(1) / 2, 0, y, regularized=True) / 2 if v > 1e-20
                     else mpf(1) / 2 - v * gamma(a + mpf(1) / 2) / gamma(a) / sqrt(pi), lower)

for shape in [2.5, 3.0, 4.0, 10.0]:
    a = (mpf(shape) - 1) / 2
    c = gamma(a + mpf(1) / 2) / gamma(a) / sqrt(pi)
    q = quad(lambda t: c * (1 + t * t) ** (-mpf(shape) / 2), [1.5, 3, 10, 100, 10000, inf])
    assert abs(q - betainc(a, mpf(1) / 2, 0, 1 / (1 + mpf(1.5) ** 2), regularized=True) / 2) < mpf(10) ** -20, shape
for shape in [2.0 + 2.0**-20, 2.5, 3.0, 4.0, 10.0, 65.5, 1024.0]:
    a = (mpf(shape) - 1) / 2
    emit("studentmoments", shape, 2 * gamma(a + mpf(1) / 2) / gamma(a) / sqrt(pi) / (mpf(shape) - 2))

for eps in [2.0**-30, 0.01, 0.5, 1.0, 3.0, 8.0, 40.0, 512.0]:
    for g in [0.0, 1e-30, 0.017986209962091555, 0.3, 0.7310585786300049, 1.0]:
        for sens in [0.3, 2.0**600] if eps == 1 else [0.3]:
            e, gg, d = mpf(eps), mpf(g), mpf(sens)
            q = exp(-e)
            weight = (1 - q) / (2 * (gg + q * (1 - gg)))  # density at 0 times Delta
            for z in [1e-200, 0.01, 0.3, 0.5, 0.99, 1.0, 1.3, 1.7, 2.0, 5.5, 30.0, 700.5, 1e7]:
                x = z * sens
                v = mpf(x) / d
                j = 0 if v < gg else int(mp.floor(v - gg)) + 1
                if j * eps > 20000:
                    continue
                tail = weight * q**j * (gg + j - v) + weight * q ** (j + 1) / (1 - q)
                both("staircase", (eps, sens, g), x, tail, z in (0.01, 1.3, 5.5))
        # moments: the core, then the sum over all steps in closed form of the geometric moments
        core = 2 * weight * gg
        q1, q2 = q / (1 - q), q * (1 + q) / (1 - q) ** 2
        m1 = core * gg / 2 + (1 - core) * (q1 + gg + mpf(1) / 2)
        h = gg + mpf(1) / 2
        m2 = core * gg**2 / 3 + (1 - core) * (q2 + 2 * h * q1 + h * h + mpf(1) / 12)
        emit("stairmoments", eps, g, m2, m1)
