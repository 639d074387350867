#!/usr/bin/env python3
"""Writes reference.txt: values of the noise laws to 25 digits, by mpmath with 80 digits.

Each line: law parameter argument value... Inputs are the exact values of the float64 printed.
  laplace, gaussian, discretelaplace, discretegaussian: parameter x survival logsurvival
  geometric: parameter x survival logsurvival cdf
  moments: parameter variance meanabs, of the discrete Gaussian
  quantile: p z, of the standard normal law
  delta: sigma epsilon sensitivity ln(delta), of the Gaussian mechanism
"""
from mpmath import mp, mpf, exp, log, log1p, erfc, sqrt, pi, floor, nstr, findroot

mp.dps = 80
out = open(__file__.replace(".py", ".txt"), "w")


def emit(law, *args):
    out.write(" ".join([law] + [repr(a) if isinstance(a, float) else nstr(a, 25) for a in args]) + "\n")


def tails(law, scale, x, upper, lower):
    """upper and lower are Pr[X > x] and Pr[X <= x]; the log is taken from the smaller one."""
    emit(law, scale, x, upper, log(upper) if upper < lower else log1p(-lower))


def Q(t):
    if t > 10**6:  # asymptotic series, error below (1/t)^24
        s, term = mpf(1), mpf(1)
        for n in range(1, 12):
            term *= -(2 * n - 1) / t**2
            s += term
        return exp(-t * t / 2) / (t * sqrt(2 * pi)) * s
    return erfc(t / sqrt(mpf(2))) / 2


XS = [0.0, 1e-300, 1e-9, 0.3, 0.5, 1.0, 1.5, 2.0, 2.9, 3.0, 3.1, 5.0, 7.3, 10.0, 20.0, 37.0, 38.4, 100.0, 690.0, 1e5, 1e6]
for scale in [2.0**-900, 0.01, 1.0, 0.1 + 0.2, 7.3, 1e10, 2.0**900]:
    for m in XS:
        for x in (m * scale, -m * scale):
            b, v = mpf(scale), mpf(x)
            t = exp(-abs(v) / b) / 2
            tails("laplace", scale, x, *((t, 1 - t) if x >= 0 else (1 - t, t)))
            z = abs(v) / b
            if z <= 1e5 + 1:
                t = Q(z)
                tails("gaussian", scale, x, *((t, 1 - t) if x >= 0 else (1 - t, t)))


def laplace_tail(b, k):  # Pr[X >= k], k >= 1
    q = exp(-1 / b)
    return q**k / (1 + q)


def gauss_terms(s, a):  # sum over k >= a of exp(-k^2/2s^2)
    if s <= 200:
        total, k = mpf(0), a
        while True:
            t = exp(-mpf(k) ** 2 / (2 * s * s))
            total += t
            k += 1
            if k > 0 and (t < total * mpf(10) ** -40 or t == 0):
                return total
    # Euler-Maclaurin at midpoints, to 12 terms
    m = mpf(a) - mpf(1) / 2
    z = m / s
    total = s * sqrt(2 * pi) * Q(z)
    f = exp(-z * z / 2)
    he = [mpf(1), z]
    for n in range(1, 24):
        he.append(z * he[n] - n * he[n - 1])
    for n in range(1, 13):
        c = mp.bernpoly(2 * n, mpf(1) / 2) / mp.factorial(2 * n)
        total += c * he[2 * n - 1] * s ** (1 - 2 * n) * f
    return total


def normalizer(s):
    if s < 1:
        return 1 + 2 * gauss_terms(s, 1)
    return s * sqrt(2 * pi) * (1 + 2 * sum(exp(-2 * pi**2 * s**2 * m**2) for m in range(1, 8)))


KS = [0, 0.999, 1.5, 5.9, 12.0, 20.0, 37.0, 60.0, 200.0]
for scale in [2.0**-900, 0.01, 0.1, 0.3, 0.7, 0.99, 1.0, 1.7, 5.0, 15.99, 16.0, 17.0, 50.0, 123.4, 199.0, 1000.0, 1e6, 1e10, 2.0**50]:
    for m in KS:
        for x in (m * scale, m * scale + 1, -m * scale - 0.5, 1.0, -1.0, -2.0):
            s, j = mpf(scale), int(floor(mpf(x)))
            if j >= 0:
                t = laplace_tail(s, j + 1)
                tails("discretelaplace", scale, x, t, 1 - t)
            else:
                t = laplace_tail(s, -j)
                tails("discretelaplace", scale, x, 1 - t, t)
            if scale < 2.0**-500 or (scale <= 200 and m > 60):
                continue
            n = normalizer(s)
            if j >= 0:
                t = gauss_terms(s, j + 1) / n
                if t == 0:
                    continue
                tails("discretegaussian", scale, x, t, 1 - t)
            else:
                t = gauss_terms(s, -j) / n
                tails("discretegaussian", scale, x, 1 - t, t)
for scale in [2.0**-900, 0.01, 0.1, 0.7, 1.0, 5.0, 123.4, 1e6, 1e10, 2.0**50]:
    for m in KS:
        for x in (m * scale, m * scale + 1):
            n = (floor(mpf(x)) + 1) / mpf(scale)
            emit("geometric", scale, x, exp(-n), -n, -mp.expm1(-n))
for scale in [0.05, 0.3, 0.7, 0.99, 1.0, 1.01, 1.7, 5.0, 15.99, 16.0, 16.01, 50.0, 123.4, 1000.0, 3000.0]:
    s = mpf(scale)
    v = a = mpf(0)
    n, k = mpf(1), 1
    mp.dps = 40
    while True:
        t = exp(-mpf(k) ** 2 / (2 * s * s))
        n, a, v = n + 2 * t, a + 2 * k * t, v + 2 * k * k * t
        if k > s and k * k * t < mpf(10) ** -32 * v:
            break
        k += 1
    mp.dps = 80
    emit("moments", scale, v / n, a / n)

for p in [1e-300, 1e-100, 1e-30, 1e-10, 1e-3, 0.02425, 0.1, 0.2, 0.25, 0.26, 0.4, 0.499, 0.49999999999, 0.7, 0.9, 0.999, 1 - 2.0**-53, 5e-324, 2.3e-308]:
    q = mpf(min(p, 1 - p))
    t = -mpf(2) if q > mpf("1e-10") else -sqrt(-2 * log(q))
    z = findroot(lambda t: log(Q(-t)) - log(q), t)
    emit("quantile", p, z if p <= 0.5 else -z)


def logdelta(sigma, eps, sens):
    mp.dps = 60
    mu = mpf(sens) / mpf(sigma)
    e = mpf(eps)
    t1, t2 = e / mu - mu / 2, e / mu + mu / 2
    mp.dps = 80 + int(t1 * t1 / 2 * (t1 > 0)) + 2 * int(abs(log(mu, 10)))
    mu = mpf(sens) / mpf(sigma)
    t1, t2 = e / mu - mu / 2, e / mu + mu / 2
    d = log(Q(t1) - exp(e) * Q(t2))
    mp.dps = 80
    return d


for sigma, eps, sens in [
    (4.2246, 1.0, 1.0), (1.0, 1.0, 1.0), (10.0, 0.0, 1.0), (10.0, 1e-9, 1.0), (1e6, 1e-9, 1.0), (5.0, 0.5, 1.0),
    (50.0, 0.5, 1.0), (0.5, 20.0, 1.0), (0.05, 1.0, 1.0), (0.07, 100.0, 1.0), (0.03, 1000.0, 1.0), (0.00225, 1e5, 1.0),
    (0.00215, 1e5, 1.0), (36.0, 1.0, 1.0), (1e3, 1.0, 31.6), (1e9, 1e-9, 1.0), (3.0, 0.1, 0.1), (0.9, 0.1, 1.0),
    (1.1, 0.1, 1.0), (0.12, 0.1, 1.0), (1.0, 0.5, 1.0), (1e12, 0.0, 1.0), (2.0, -0.3, 1.0), (20.0, -1e-3, 1.0), (0.5, -3.0, 1.0),
    (8.0, -0.1, 0.3), (0.1, -50.0, 1.0),
]:
    emit("delta", sigma, eps, sens, logdelta(sigma, eps, sens))
