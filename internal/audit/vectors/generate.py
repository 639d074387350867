#!/usr/bin/env python3
"""Writes the test vectors of this directory, with nothing but Python's standard library.

    python3 generate.py           rewrites laws, calibrations, compositions, sums and encodings.json
    python3 generate.py -check    fails unless they are, byte for byte, what it would write; names
                                  of files after it check those alone

It shares no code with the library: numbers come from the definitions, by decimal arithmetic of 60
digits; a probability is the sum or the tail that its definition says, a calibration the root of an
exact δ, found by bisection. Encodings come from the golden files of the library, read and changed in
one field by internal/wire/decode.py, which is written by internal/wire/FORMAT.md.
"""
import glob, json, math, os, struct, sys
from decimal import Decimal as D, getcontext
from functools import lru_cache
from itertools import product
from math import comb

getcontext().prec = 60
getcontext().Emin, getcontext().Emax = -10**6, 10**6
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "internal", "wire"))
import decode  # noqa: E402

PI = D("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798")


@lru_cache(maxsize=None)
def exp(x):
    return x.exp()


def erfc(x):
    """The complementary error function: a series near 0, a continued fraction in the tail."""
    if x < 0:
        return 2 - erfc(-x)
    if x < 4:
        total, term, n = D(0), x, 0
        while abs(term) > D(10) ** -70:
            total += term / (2 * n + 1)
            n += 1
            term *= -x * x / n
        return 1 - 2 / PI.sqrt() * total
    # Lentz's method for e^{−x²}/√π · 1/(x + ½/(x + 1/(x + 3/2/(x + …))))
    f, n = D(0), 400
    for i in range(n, 0, -1):
        f = D(i) / 2 / (x + f)
    return (-x * x).exp() / PI.sqrt() / (x + f)


def above(z):
    """Pr[N(0, 1) > z]."""
    return erfc(z / D(2).sqrt()) / 2


def gaussian_delta(mu, eps):
    """The exact δ of N(0, 1) against N(μ, 1): Balle and Wang (2018), theorem 8."""
    return above(eps / mu - mu / 2) - exp(eps) * above(eps / mu + mu / 2)


def bisect(f, lo, hi):
    """The root of a falling function, to 40 digits."""
    while (hi - lo) / hi > D(10) ** -40:
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if f(mid) > 0 else (lo, mid)
    return hi


def text(x):
    return format(x, ".40e") if x else "0"


class File:
    def __init__(self, about):
        self.about, self.cases = about, []

    def add(self, what, args, value, direction="near", within=1e-13, log=False):
        if log:
            value = value.ln()
        self.cases.append({"id": "%s %d" % (what, len(self.cases)), "what": what, "args": args, "value": text(value), "direction": direction, "within": within})


def laws():
    f = File("laws of noise: masses, tails and logarithms of tails")
    for b in (0.05, 0.3, 1.0, 7.25, 1000.0):
        s = D(b)
        q = exp(-1 / s)
        for x in (0, 1, 2, 7, 40, 2000):
            if x / b < 5e5:
                f.add("noise.DiscreteLaplace.LogProb", {"scale": b, "x": x}, (1 - q) / (1 + q) * exp(-x / s), log=True)
                f.add("noise.DiscreteLaplace.LogSurvival", {"scale": b, "x": x}, q ** (x + 1) / (1 + q), log=True)
                f.add("noise.Geometric.LogSurvival", {"scale": b, "x": x}, q ** (x + 1), log=True)
            if x / b < 600:
                f.add("noise.DiscreteLaplace.Prob", {"scale": b, "x": x}, (1 - q) / (1 + q) * exp(-x / s))
                f.add("noise.Geometric.Prob", {"scale": b, "x": x}, (1 - q) * q**x)
        f.add("noise.DiscreteLaplace.Variance", {"scale": b}, 2 * q / (1 - q) ** 2)
        for x in (0.0, 0.1, 1.0, 12.5, 300.0):
            f.add("noise.Laplace.LogSurvival", {"scale": b, "x": x * b}, exp(-D(x * b) / s) / 2, log=True)
    for sigma in (0.3, 1.0, 2.5, 20.0):
        s = D(sigma)
        reach = int(14 * sigma) + 45
        mass = [exp(-D(k * k) / (2 * s * s)) for k in range(reach)]
        total = mass[0] + 2 * sum(mass[1:])
        for k in (0, 1, 2, 5, 30):
            if k < 8 * sigma + 2:
                f.add("noise.DiscreteGaussian.Prob", {"sigma": sigma, "x": k}, mass[k] / total)
                f.add("noise.DiscreteGaussian.LogSurvival", {"sigma": sigma, "x": k}, sum(mass[k + 1:]) / total, within=1e-12, log=True)
        f.add("noise.DiscreteGaussian.Variance", {"sigma": sigma}, 2 * sum(k * k * m for k, m in enumerate(mass)) / total)
        for x in (0.0, 0.5, 1.0, 3.0, 8.0, 11.5, 37.0):
            f.add("noise.Gaussian.LogSurvival", {"sigma": sigma, "x": x * sigma}, above(D(x * sigma) / s), log=True)
            f.add("noise.Gaussian.LogSurvival", {"sigma": sigma, "x": -x * sigma}, 1 - above(D(x * sigma) / s), within=2e-13, log=True)
    for eps in (0.01, 0.5, 1.0, 4.0, 20.0):
        f.add("noise.RandomizedResponse.K", {"epsilon": eps}, -((-D(2) ** 64 / (1 + exp(D(eps)))) // 1), direction="up", within=1e-9)
        f.add("kor.FlipProb", {"epsilon": eps}, 1 / (1 + exp(D(eps))), direction="up", within=1e-9)
    return f


def kept_zeros(k, eps, tau):
    """δ of misragries' KeptZeros by its definition: the sum over the shared noise η."""
    q = exp(-D(eps))
    p = lambda x: (1 - q) / (1 + q) * q ** abs(x)
    up = lambda t: q**t / (1 + q) if t > 0 else 1 - q ** (1 - t) / (1 + q)  # Pr[L ≥ t]
    n = int(160 / eps) + tau
    if k == 1:
        return sum(p(x) * up(tau - 1 - x) for x in range(-n, n))
    return sum(p(x) * (up(tau - 1 - x) + up(tau - x) - up(tau - 1 - x) * up(tau - x)) for x in range(-n, n))


def calibrations():
    f = File("calibrations: scales, thresholds and δ, also of 1e-30 and 1e-300")
    for eps in (0.01, 0.3, 1.0, 8.0):
        for size in (1.0, 3.0, 0.1):
            f.add("noise.LaplaceScale", {"epsilon": eps, "sensitivity": size}, D(size) / D(eps), direction="up", within=1e-14)
    for rho in (1e-6, 0.1, 0.5, 8.0):
        f.add("noise.GaussianSigmaZCDP", {"rho": rho, "sensitivity": 2.0}, 2 / (2 * D(rho)).sqrt(), direction="up", within=1e-14)
    for eps in (0.1, 1.0, 4.0, 20.0):
        for delta in (0.01, 1e-6, 1e-12, 1e-30, 1e-300):
            mu = 1 / bisect(lambda s: gaussian_delta(1 / s, D(eps)) - D(delta), D("0.001"), D(2000))
            f.add("noise.GaussianSigma", {"epsilon": eps, "delta": delta, "sensitivity": 3.0}, 3 / mu, direction="up", within=1e-10)
        for sigma in (0.3, 1.0, 5.0):
            f.add("noise.GaussianLogDelta", {"sigma": sigma, "epsilon": eps, "sensitivity": 1.0}, gaussian_delta(1 / D(sigma), D(eps)), direction="up", within=1e-9, log=True)
    for k in (1, 2, 64):
        for eps in (0.5, 1.0, 3.0):
            for tau in (1, 8, 40):
                f.add("misragries.Delta", {"counters": k, "epsilon": eps, "threshold": tau}, kept_zeros(k, eps, tau), within=1e-11)
            for delta in (1e-3, 1e-6, 1e-30):
                lo, hi = 1, 2000
                while lo < hi:
                    mid = (lo + hi) // 2
                    lo, hi = (lo, mid) if kept_zeros(k, eps, mid) <= D(delta) else (mid + 1, hi)
                f.add("misragries.Threshold", {"counters": k, "epsilon": eps, "delta": delta}, D(lo), within=0)
    for keys in (1, 3, 20):
        for eps in (0.5, 2.0):
            for delta in (1e-6, 1e-30):
                # u ≤ m keys escape by ±1 steps: 1 − (1 − p)^m ≤ δ, p = Pr[1 + L ≥ T], L of scale m/ε
                q, t = exp(-D(eps) / keys), 1
                each = 1 - ((1 - D(delta)).ln() / keys).exp()
                while q ** (t - 1) / (1 + q) > each:
                    t += 1
                f.add("threshold.Laplace.Threshold", {"keys": keys, "epsilon": eps, "delta": delta}, D(t), within=0)
    return f


def misra_gries(stream, k):
    """The counters and the number of decrements."""
    c, d = {}, 0
    for x in stream:
        if x in c or len(c) < k:
            c[x] = c.get(x, 0) + 1
        else:
            c, d = {y: n - 1 for y, n in c.items() if n > 1}, d + 1
    return c, d


def trimmed_sum(k, j, beta, o, cap, b, start, tau, length):
    """The exact δ of one trimmed sketch: of all streams and all that lack one element of them, both ways.

    W and the keys are told, W = j·D + n, n = max(0, N + o + the j smallest min(c, T)), T = cap + N', and
    a key of v = max(0, j·c − n) by the kernel of scale b, start and tau."""
    eps = 1 / beta + j / b
    law = lambda scale, x: math.tanh(0.5 / scale) * math.exp(-abs(x) / scale)
    tail = lambda scale, x: math.exp(-x / scale) / (1 + math.exp(-1 / scale)) if x > 0 else 1 - tail(scale, 1 - x)
    far = int(40 * max(beta, 1 / eps)) + o + cap

    def shifts(c):
        """n: its probability."""
        sums, pr = {}, dict.fromkeys(range(far), 0)
        for t in range(cap - far, cap + far):
            a = sum(sorted(min(x, t) for x in list(c.values()) + [0] * (k - len(c)))[:j])
            sums[a] = sums.get(a, 0) + law(1 / eps, t - cap)
        for a, p in sums.items():
            pr[0] += p * tail(beta, a + o)
            for n in range(1, far):
                pr[n] += p * law(beta, n - a - o)
        return pr

    @lru_cache(maxsize=None)
    def shown(v, w):
        """The probabilities of all that is shown of v, and of w; the largest as one."""
        top = max(v, w, start, tau)
        g = lambda x: min(1, math.expm1(x / b) / math.expm1(start / b))
        of = [[g(x) * law(b, y - max(x, start)) for y in range(tau, top)] + [g(x) * tail(b, top - max(x, start))] for x in (v, w)]
        return list(zip(*of)) + [(1 - sum(of[0]), 1 - sum(of[1]))]

    worst, streams = 0, (s for n in range(1, length + 1) for s in product(range(k + 1), repeat=n))
    pairs = {str(x): x for s in streams for i in range(len(s)) for x in [(misra_gries(s, k), misra_gries(s[:i] + s[i + 1:], k))]}
    for longer, shorter in pairs.values():
        for (c, d), (c2, d2) in ((longer, shorter), (shorter, longer)):
            total, other = 0, shifts(c2)
            for n, p in shifts(c).items():
                m = n + j * (d - d2)
                outcomes = [(p, other.get(m, 0))]
                for key in {**c, **c2}:
                    law_of = shown(max(0, j * c.get(key, 0) - n), max(0, j * c2.get(key, 0) - m))
                    outcomes = [(x * y, x2 * y2) for x, x2 in outcomes for y, y2 in law_of]
                total += sum(max(0, x - math.exp(eps) * y) for x, y in outcomes)
            worst = max(worst, total)
    return D("%.9e" % worst)


def sums():
    f = File("δ of sums of trimmed sketches, from all short streams; misragries/internal/thresholds has the test")
    names = ("counters", "least", "shift", "offset", "cap", "scale", "from", "threshold")
    for args, within in (((1, 1, 4.0, 9, 9, 1.0, 3, 5), 3e-4), ((2, 1, 2.0, 3, 2, 1.0, 2, 6), 0.5), ((2, 2, 0.8, 3, 9, 3.0, 4, 40), 1e-5)):
        f.add("misragries.TrimmedSum.Delta", dict(zip(names, args)), trimmed_sum(*args, length=4), direction="up", within=within)
    return f


def randomized_responses(list_, eps):
    """The exact δ of the composition of ε₁, …: all outcomes of as many randomized responses."""
    outcomes = {D(0): D(1)}  # privacy loss → probability
    for e in list_:
        p, after = 1 / (1 + exp(-D(e))), {}
        for loss, mass in outcomes.items():
            for step, part in ((D(e), p), (-D(e), 1 - p)):
                after[loss + step] = after.get(loss + step, D(0)) + mass * part
        outcomes = after
    return sum(mass * (1 - exp(D(eps) - loss)) for loss, mass in outcomes.items() if loss > eps)


def compositions():
    f = File("compositions and profiles: δ at an ε, certified upwards")
    for eps, times, at in ((0.1, 10, 0.5), (0.1, 100, 2.0), (1.0, 3, 2.0), (0.5, 20, 4.0), (0.01, 1000, 0.5), (2.0, 2, 0.0)):
        e = D(eps)
        exact = sum(comb(times, i) * (exp((times - i) * e) - exp(D(at) + i * e)) for i in range(times + 1) if (times - 2 * i) * e > D(at)) / (1 + exp(e)) ** times
        f.add("budget.PureDP.Times.DeltaAt", {"epsilon": eps, "times": times, "at": at}, exact, direction="up", within=0.01)
    for each, at in (([0.125, 0.25, 0.5], 0.5), ([1.0, 0.5, 0.25, 0.125], 1.0), ([0.5, 2.0], 1.75)):
        f.add("budget.PureDP.Compose.DeltaAt", {"epsilons": each, "at": at}, randomized_responses(each, at), direction="up", within=0.01)
    for mu, times, at in ((0.1, 1, 0.2), (1.0, 1, 1.0), (0.25, 16, 1.0), (0.05, 400, 3.0), (1.0, 1, 10.0), (0.5, 1, 6.0)):
        f.add("budget.GDP.Times.DeltaAt", {"mu": mu, "times": times, "at": at}, gaussian_delta(D(mu) * D(times).sqrt(), D(at)), direction="up", within=0.01)
    for eps, at in ((1.0, 0.5), (1.0, 0.0), (4.0, 1.0), (0.01, 0.005)):
        f.add("budget.Laplace.DeltaAt", {"epsilon": eps, "at": at}, 1 - exp((D(at) - D(eps)) / 2), direction="up", within=0.01)
    # Of ρ-zCDP nothing better than Gaussian noise of that ρ can be said, nor worse than theorem 1.11 of
    # Canonne, Kamath and Steinke: inf over α of e^{(α−1)(αρ−ε)}/(α−1)·(1−1/α)^α.
    for rho, at in ((0.01, 0.5), (0.1, 2.0), (1.0, 4.0), (0.5, 10.0)):
        f.add("budget.ZCDP.DeltaAt", {"rho": rho, "at": at, "bound": 0}, gaussian_delta((2 * D(rho)).sqrt(), D(at)), direction="above", within=0)
        r, e = D(rho), D(at)
        log = lambda a: (a - 1) * (a * r - e) - (a - 1).ln() + a * (1 - 1 / a).ln()
        lo, hi = D("1.0001"), D(10000)
        for _ in range(300):
            a, b = lo + (hi - lo) / 3, hi - (hi - lo) / 3
            lo, hi = (lo, b) if log(a) < log(b) else (a, hi)
        f.add("budget.ZCDP.DeltaAt", {"rho": rho, "at": at, "bound": 1}, log(lo).exp(), direction="below", within=1e-6)
    return f


EDITS = {  # of a field, by its type: what makes it invalid
    "magic": [b"DPSK"], "d": [struct.pack("<d", float("nan")), struct.pack("<d", float("inf"))],
}


def encodings():
    cases = []

    def add(name, data, why=None):
        c = {"id": name, "result": "invalid" if why else "valid", "hex": data.hex()}
        if why:
            c["why"] = why
            try:
                decode.decode(data)
            except decode.Bad:
                pass
            else:
                raise SystemExit("%s: %s, but it is read" % (name, why))
        else:
            c["decoded"] = json.loads(json.dumps(decode.decode(data)))
        c["type"] = decode.KINDS[base[4], base[5]]
        cases.append(c)

    done = set()
    for path in sorted(glob.glob(os.path.join(ROOT, "**", "testdata", "*.hex"), recursive=True)):
        name = os.path.relpath(path, ROOT).replace(os.sep, "/")
        base = decode.read(path)
        if base[:4] != b"dpsk":
            continue  # not an encoding
        try:
            add(name, base)
        except decode.Bad as e:
            raise SystemExit("%s: decode.py: %s (a new layout? FORMAT.md says how to read it)" % (name, e))
        fields = []
        decode.decode(base, fields)
        shape = frozenset(field[:2] for field in fields)
        if (base[4], shape) in done:
            continue  # the invalid ones of another file of this layout are enough
        done.add((base[4], shape))
        for version in range(256):
            if version != base[5] and (version <= base[5] + 1 or version == 255):
                add("%s version %d" % (name, version), base[:5] + bytes([version]) + base[6:], "another version")
        add(name + " kind 0", base[:4] + b"\0" + base[5:], "no kind")
        add(name + " kind 128", base[:4] + b"\x80" + base[5:], "private state")
        add(name + " a byte more", base + b"\0", "bytes behind the end")
        add(name + " a byte less", base[:-1], "too short")
        add(name + " header only", base[:6], "too short")
        add(name + " nothing", b"", "too short")
        seen = set()
        for what, kind, at, size in fields:
            if (what, kind) in seen:
                continue
            seen.add((what, kind))
            put = lambda new: base[:at] + new + base[at + size:]
            for new in EDITS.get(kind, []):
                add("%s %s %s" % (name, what, new.hex()), put(new), "no number" if kind == "d" else "another magic")
            if kind.startswith("enum") and what != "flags":
                add("%s %s %d" % (name, what, int(kind[4:])), put(bytes([int(kind[4:])])), "unknown " + what)
                add("%s %s 255" % (name, what), put(b"\xff"), "unknown " + what)
            if what == "flags" and kind != "enum256":
                add("%s unknown flag at %d" % (name, at), put(bytes([base[at] | 0x80])), "unknown flags")
            if kind == "length" or what in ("Dim", "dim") and base[4] in (6, 7, 20):
                add("%s %s too many" % (name, what), put(b"\xff" * size), "more than there can be")
        keys = [x for x in fields if x[0] == "key" and x[1] != "length"]
        if len(keys) > 1 and keys[0][3] == keys[1][3]:
            (_, _, a, n), (_, _, b, _) = keys[:2]
            add(name + " keys not in order", base[:a] + base[b:b + n] + base[a + n:b] + base[a:a + n] + base[b + n:], "order of keys")
            add(name + " a key twice", base[:b] + base[a:a + n] + base[b + n:], "order of keys")
        padding = [x for x in fields if x[0].startswith("cells ")]
        o = decode.decode(base)
        if padding and o["Cells"] % 64:
            at = padding[-(-o["Cells"] // 64) - 1][2]
            add(name + " a bit behind the cells", base[:at + 7] + bytes([base[at + 7] | 0x80]) + base[at + 8:], "bits behind the cells")
    return cases


def valid(x, schema, root, at="$"):
    """As much of JSON Schema as the schemas here use."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    kinds = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int}
    assert "type" not in schema or isinstance(x, kinds[schema["type"]]), at
    assert "enum" not in schema or x in schema["enum"], at
    if isinstance(x, dict):
        assert all(name in x for name in schema.get("required", [])), at
        for name, value in x.items():
            sub = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
            assert sub is not False, at + "." + name
            valid(value, sub, root, at + "." + name)
    if isinstance(x, list):
        for i, value in enumerate(x):
            valid(value, schema.get("items", {}), root, "%s[%d]" % (at, i))


def main():
    with open(os.path.join(HERE, "numbers.schema.json"), encoding="utf-8") as f:
        numbers = json.load(f)
    with open(os.path.join(HERE, "encodings.schema.json"), encoding="utf-8") as f:
        schema = json.load(f)
    check, only = "-check" in sys.argv, [x for x in sys.argv[1:] if x != "-check"]
    for name, make in (("laws", laws), ("calibrations", calibrations), ("compositions", compositions), ("sums", sums), ("encodings", encodings)):
        if only and name not in only:
            continue
        if name == "encodings":
            all_ = {"about": "encodings that must be read, and such that must not", "generator": "generate.py", "cases": make()}
            valid(all_, schema, schema)
        else:
            made = make()
            all_ = {"about": made.about, "generator": "generate.py", "cases": made.cases}
            valid(all_, numbers, numbers)
        lines = ",\n".join(json.dumps(c, ensure_ascii=False, separators=(", ", ": ")) for c in all_["cases"])
        out = '{"about": %s, "generator": "generate.py", "cases": [\n%s\n]}\n' % (json.dumps(all_["about"], ensure_ascii=False), lines)
        path = os.path.join(HERE, name + ".json")
        if check:
            with open(path, encoding="utf-8", newline="") as f:
                if f.read().replace("\r\n", "\n") != out:
                    raise SystemExit(path + " is not what generate.py writes")
        else:
            with open(path, "w", encoding="utf-8", newline="\n") as f:
                f.write(out)
        print("%s: %d cases" % (name, len(all_["cases"])))


main()
