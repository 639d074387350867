#!/usr/bin/env python3
"""Reads every encoding of the library with Python's standard library, by FORMAT.md alone.

    python3 decode.py FILE...      prints files as testdata holds them (hex, or a dump) as JSON
    python3 decode.py -check JSON  checks the vectors of internal/vectors: what must be read and what not
"""
import json, math, re, struct, sys


class Bad(ValueError):
    pass


def need(ok, why):
    if not ok:
        raise Bad(why)


class Reader:
    def __init__(self, data):
        self.data, self.at, self.fields = data, 0, []  # fields: (name, type, offset, size)

    def take(self, n, name, kind):
        need(0 <= n <= len(self.data) - self.at, "too short")
        self.fields.append((name, kind, self.at, n))
        self.at += n
        return self.data[self.at - n:self.at]

    def num(self, code, name):  # B, H, I, Q unsigned, q signed, d float
        x = struct.unpack("<" + code, self.take(struct.calcsize(code), name, code))[0]
        need(code != "d" or math.isfinite(x), name + " is no number")
        return x

    def all(self, code, names):
        return {name: self.num(code, name) for name in names.split()}

    def flags(self, names):
        names = names.split()
        bits = self.take(1, "flags", "flags%d" % len(names))[0]
        need(bits >> len(names) == 0, "unknown flags")
        return {name: bits >> i & 1 == 1 for i, name in enumerate(names)}

    def enum(self, name, values):
        x = self.take(1, name, "enum%d" % values)[0]
        need(x < values, "unknown " + name)
        return x

    def count(self, name, most, size):
        n = self.num("I", name)
        need(n <= most and n * size <= len(self.data) - self.at, "more than there can be")
        return n

    def wide(self, name):
        return (self.num("q", name) << 64) + self.num("Q", name)

    def rest(self):
        data, self.at = self.data[self.at:], len(self.data)
        return data

    def key(self, kind):
        if kind == 0:
            return self.take(self.count("length", 2**32, 1), "key", "key").hex()
        return self.take(16, "key", "key").hex() if kind == 3 else self.num("q" if kind == 1 else "Q", "key")

    def keyed(self, kind, n, values):
        out = []
        for _ in range(n):
            row = [self.key(kind)] + [self.num("q", "value") for _ in range(values)]
            need(not out or bytes.fromhex(out[-1][0]) < bytes.fromhex(row[0]) if kind in (0, 3) and out else not out or out[-1][0] < row[0], "order of keys")
            out.append(row)
        return out


def unit(r):
    return {"kind": r.enum("unit", 8), "relation": r.enum("unit's relation", 3), **r.all("I", "max group"), "last": r.num("Q", "unit's last")}


def sketch_bits(r, p):
    words, last = -(-p["Cells"] // 64), -p["Cells"] % 64
    levels = [[r.num("Q", "bits") for _ in range(words)] for _ in range(p["Levels"])]
    need(all(level[-1] >> (64 - last) == 0 for level in levels) if last else True, "bits behind the cells")
    return levels


def table_words(p):  # of an ALP table: see FORMAT.md
    cell = p["Levels"].bit_length() - 1
    in_word, columns = 64 // cell, p["Columns"] * (2 if p["Signed"] else 1)
    cells = math.ceil(p["Bits"] * p["Sparsity"] / cell)
    if p["Independent"]:
        positions = max(-(-cells // columns), 1)
        return -(-positions * columns // in_word)
    words = 8 * -(-columns * 32 // (8 * in_word))
    return words * max(-(-cells // (words * in_word // columns * columns)), 1)


def histogram(r):
    kind = r.enum("key class", 4)
    o = {"input": r.enum("Input", 5), "Mechanism": r.enum("Mechanism", 8), "Sparse": r.enum("Sparse", 8)}
    o |= r.all("I", "Counters MaxElements MaxKeys") | r.all("d", "Epsilon Delta") | r.all("Q", "Dim MaxLength") | r.all("I", "sketches")
    if o["Mechanism"] == 3:
        return o | {"vector": decode(r.rest())}
    o |= r.all("d", "epsilon scale") | r.all("q", "from threshold") | r.all("d", "shift") | r.all("q", "offset") | r.all("d", "own") | r.all("q", "lost")
    return o | {"values": r.keyed(kind, r.count("keys", 2**28, 12), 1)}


def vector(r):
    kind = r.enum("key class", 4)
    o = {"Mechanism": r.enum("Mechanism", 8), "Relation": r.enum("Relation", 3)} | r.flags("Integers Signed Listed Beside") | r.all("d", "Epsilon Delta")
    o |= r.all("Q", "Dim") | r.all("d", "Sensitivity MaxValue FalseKeys") | r.all("I", "MaxKeys Stored") | r.all("d", "step scale shared") | r.all("q", "from threshold")
    o |= {"beside": [r.num("d", "noise of the number"), r.num("q", "number")]} if o["Beside"] else {}
    return o | {"values": r.keyed(kind, r.count("keys", 2**32, 12), 1)}


def projection(r):
    o = r.flags("Integers Signed TwoVectors Linear Independent") | {"Structure": r.enum("Structure", 4)} | r.all("H", "Levels Columns") | r.all("Q", "Dim Sparsity")
    o["Seed"] = r.take(16, "Seed", "bytes").hex()
    o |= r.all("d", "Epsilon Delta Sensitivity Max Base Alpha Bits Split Turn FalseKeys Norm SparsityShare")
    need(o["Levels"] in [1 << i for i in range(1, 9)] and o["Columns"] >= 1 and 0 < o["Bits"] * o["Sparsity"] < 2**40, "a table of another size")
    o["table"] = [r.num("Q", "table") for _ in range(table_words(o))]
    return o if o["Structure"] == 3 else o | {"list": decode(r.rest())}


def kor(r):
    o = r.flags("stream counted") | r.all("d", "Epsilon CountShare") | r.all("I", "Cells Levels") | {"Seed": r.take(16, "Seed", "bytes").hex(), "count": r.num("q", "count")}
    o["parts"] = [{"id": r.take(16, "identity", "bytes").hex(), "epsilon": r.num("d", "ε"), "k": r.num("Q", "k"), "flips": r.num("I", "times")}
                  for _ in range(r.count("releases", 2**20, 36))]
    ids = [p["id"] for p in o["parts"]]
    need(ids == sorted(set(ids)) and 1 <= o["Levels"] <= 64 and o["Cells"] >= 1, "releases")
    return o | {"bits": sketch_bits(r, o)}


def jl(r):
    o = {name: r.enum(name, n) for name, n in (("Transform", 4), ("Norm", 2), ("Noise", 4))} | r.flags("Integers Input") | r.all("Q", "Dim") | r.all("I", "Sparsity")
    o |= {"Seed": r.take(16, "Seed", "bytes").hex()} | r.all("d", "Density Epsilon Delta Rho Sensitivity SquaredLength step")
    o["terms"] = [r.all("d", "ε δ ρ") | {"id": r.take(16, "identity", "bytes").hex(), "kind": r.enum("kind", 4)} | r.flags("input") | r.all("d", "scale")
                  for _ in range(r.count("terms", 2**20, 50))]
    need(o["terms"], "no noise")
    return o | {"values": [r.num("q", "row") for _ in range(r.count("Rows", 2**31, 8))]}


def elliptical(r):
    o = {"Relation": r.enum("Relation", 3), "Shape": r.enum("Shape", 6)} | r.flags("Count ellipsoid") | r.all("d", "Rho Epsilon Delta Power")
    d = r.count("d", 2**26, 8)
    n = d * (d + 1) // 2 if o["ellipsoid"] else 2 * d
    o["ends"] = [r.num("d", "end") for _ in range(n)]
    o["Weights"] = [r.num("d", "weight") for _ in range(d if o["Shape"] == 3 else 0)]
    box = o["Shape"] == 5
    o["groups"] = [r.all("B", "bits") | r.all("Q", "g") | r.all("d", "scale") for _ in range(r.count("groups", 2**26, 17) if box else 0)]
    return o | {"values": [[r.num("d", "step"), r.num("I", "group") if box else r.num("d", "scale"), r.wide("value")] for _ in range(d + o["Count"])]}


def mean(r):
    o = {"Method": r.enum("Method", 6), "Relation": r.enum("Relation", 3)}
    o |= r.flags("NonNegative undivided unshrunk regularized scaled centre scales Symmetric") | r.flags("ranges")
    o |= {name: r.enum(name, n) for name, n in (("steps centre", 3), ("scaling", 3), ("spread", 5), ("base", 6))} | r.all("I", "group search") | r.all("Q", "Rows")
    o |= r.all("d", "Rho Max Unit P Failure Margin clip floor share1 share2 share3 share4 rows limit divisor spent1 spent2 spent3 spent4 spent5")
    o["Dim"] = dim = r.count("Dim", 2**24, 16)
    return o | {"lists": [[r.num("d", "number") for _ in range(dim)] for _ in range(2 + o["centre"] + o["scales"] + 2 * o["ranges"])]}


def mean_quantiles(r):
    o = r.all("d", "Rho Max Unit") | r.all("Q", "Rows") | {"Relation": r.enum("Relation", 3), "Base": r.enum("Base", 6)} | r.all("I", "Search")
    levels = r.num("H", "levels")
    o["levels"] = [r.num("d", "level") for _ in range(levels)]
    need(1 <= levels <= 64 and o["levels"] == sorted(set(o["levels"])), "levels")
    o["Dim"] = r.count("Dim", 2**24, 4)
    o["values"] = [[r.num("I", "quantile") for _ in range(levels)] for _ in range(o["Dim"])]
    need(all(v == sorted(v) for v in o["values"]), "quantiles not in order")
    return o


def arete(r):
    o = {"Law": r.enum("Law", 7), "Objective": r.enum("Objective", 2), "Relation": r.enum("Relation", 3)} | r.flags("Integers sum") | r.all("d", "Epsilon Sensitivity Delta Rho")
    o |= r.all("I", "Parties") | r.all("Q", "steps")
    return o | {"law": [r.num("Q", "number of the law") for _ in range(5)]} | r.all("I", "present needed") | r.all("q", "value")


def approx(r):
    return {"unit": unit(r), "Noise": r.enum("Noise", 4)} | r.all("I", "Queries") | r.all("d", "Epsilon Sensitivity Error Moment Limit scale step") | r.all("q", "value")


def advised(r):
    o = {"unit": unit(r), "noise": r.enum("Noise", 4)} | r.all("I", "Runs rounds") | r.all("d", "Epsilon Sensitivity Min Max Moment Failure Accuracy advice error scale step")
    return o | r.all("q", "value")


def laws(r):
    need(r.num("Q", "escapes") in range(2**40 + 1) or r.data[r.at - 8:r.at] == b"\xff" * 8, "too many releases")
    out = [r.take(29, "law", "law").hex() for _ in range(r.count("laws", 2048, 29))]
    need(out == sorted(set(out)), "laws not in order")
    return out


def ledger(r):
    o = r.all("d", "Epsilon Delta") | {"unit": unit(r), "rule": r.enum("rule", 4)} | r.all("d", "escapes") | r.all("Q", "releases")
    o["sums"] = [(r.num("i", "exponent"), r.take(25, "mantissa", "mantissa").hex()) for _ in range(9)]
    need(all(m >= "8" or (e, int(m, 16)) == (0, 0) for e, m in o["sums"]), "a sum that is none")
    o["laws"], names = laws(r), r.count("names", 2**31, 6)
    o["names"] = [(r.take(r.num("B", "length"), "name", "name").hex(), decode(r.take(r.count("length", 2**32, 1), "guarantee", "nested"))) for _ in range(names)]
    need(all(a[0] < b[0] for a, b in zip(o["names"], o["names"][1:])), "order of names")
    return o


def guarantee(r):
    return {"unit": unit(r), "sums": [r.num("d", "sum") for _ in range(9)], "laws": laws(r)}


def distinct_params(r):
    return r.all("d", "Epsilon CountShare") | r.all("I", "Cells Levels") | {"Seed": r.take(16, "Seed", "bytes").hex()}


def distinct(r):
    o = distinct_params(r) | {"id": r.take(16, "identity", "bytes").hex()} | r.all("q", "ones")
    need(int(o["id"], 16) and 1 <= o["Levels"] <= 64 and o["Cells"] >= 16, "no sketch")
    return o | {"bits": sketch_bits(r, o) if o["CountShare"] < 1 else []}


def column(r):
    o = r.all("d", "Epsilon Rho Min Max") | r.all("Q", "Rows") | {"Relation": r.enum("Relation", 3)} | r.all("H", "Moments") | {"Only": r.enum("Only", 3)} | r.all("q", "rows")
    need((len(r.data) - r.at) % 16 == 0 and 1 <= (len(r.data) - r.at) // 16 <= 3, "coordinates")
    return o | {"values": [r.wide("value") for _ in range((len(r.data) - r.at) // 16)]}


def column_quantiles(r):
    o = r.all("d", "Epsilon Rho Min Max Unit") | {"Relation": r.enum("Relation", 3)}
    o["levels"] = [(r.num("d", "level"), r.num("I", "quantile")) for _ in range(r.num("H", "levels"))]
    need(1 <= len(o["levels"]) <= 32 and all(a[0] < b[0] and a[1] <= b[1] for a, b in zip(o["levels"], o["levels"][1:])), "levels not in order")
    return o


def groups(r):
    kind = r.enum("key class", 4)
    o = {"Relation": r.enum("Relation", 3)} | r.flags("KeysOnly Others Listed") | r.all("d", "Epsilon Delta CountShare Min Max") | r.all("H", "Passes") | r.all("I", "MaxKeys Clip")
    o |= r.all("q", "threshold shortfall others")
    values = (not o["KeysOnly"] and not o["Listed"] and o["Passes"] != 2) + (not o["KeysOnly"]) + (o["Min"] != 0 or o["Max"] != 0)
    return o | {"values": r.keyed(kind, r.count("keys", 2**31, 4), values)}


def series(r):
    kind = r.enum("key class", 4)
    o = r.all("d", "Epsilon Delta") | {name: [r.num("I", name) for _ in range(8)] for name in ("Spans", "Discovery")}
    o |= r.all("I", "Counters Dim MaxKnown Retire MaxElements") | r.all("Q", "step")
    ends = [[s for s in o[name] if s and (o["step"] + 1) % s == 0] for name in ("Spans", "Discovery")]
    o["known"] = r.keyed(kind, r.count("known", 2**24, 12), 1 + len(ends[0]))
    o["found"] = [r.keyed(kind, r.count("shown", 2**32, 12), 1) if not o["Counters"] else decode(r.take(r.count("length", 2**32, 1), "sketch", "nested")) for _ in ends[1]]
    return o


# by kind: name, version, layout
KINDS = {1: ("misragries.Histogram", 4, histogram), 2: ("threshold.Vector", 1, vector), 3: ("alp.Projection", 1, projection), 4: ("kor.Sketch", 1, kor), 5: ("jl.Sketch", 1, jl),
         6: ("elliptical.Sum", 2, elliptical), 7: ("plan.Mean", 1, mean), 8: ("arete.Value", 1, arete), 9: ("noise/approx.Value", 1, approx), 10: ("noise/approx.Advised", 1, advised),
         11: ("noise/budget.Guarantee", 1, guarantee), 12: ("kor/distinct.Sketch", 1, distinct), 15: ("elliptical/column.Summary", 1, column),
         13: ("kor/distinct.Running", 1, lambda r: distinct_params(r) | r.all("I", "slots") | r.all("q", "ones")),
         14: ("kor/distinct.Windows", 1, lambda r: distinct_params(r) | r.all("I", "day") | {"classes": [r.num("q", "class") for _ in range(3)]}),
         16: ("threshold/groupby.Groups", 1, groups), 17: ("elliptical/column.Quantiles", 1, column_quantiles), 18: ("misragries/series.Slice", 1, series), 20: ("plan.Quantiles", 1, mean_quantiles),
         21: ("noise/budget.Ledger", 1, ledger)}


def decode(data, fields=None):
    r = Reader(data)
    need(r.take(4, "magic", "magic") == b"dpsk", "magic")
    kind = r.num("B", "kind")
    need(kind in KINDS, "unknown kind")
    name, version, layout = KINDS[kind]
    need(r.num("B", "version") == version, "another version")
    o = {"type": name} | layout(r)
    need(r.at == len(data), "bytes behind the end")
    if fields is not None:
        fields += r.fields
    return o


def read(path):
    """The bytes of a golden file: hexadecimal digits, or a dump with offsets and text."""
    text = ""
    for line in open(path, encoding="utf-8").read().splitlines():
        line, dump, _ = line.partition("  |")
        text += line.partition("  ")[2] if dump else "" if re.fullmatch(r"[0-9a-f]{8}", line) and text else line
    return bytes.fromhex(text.replace(" ", ""))


def check(path):
    cases = json.load(open(path, encoding="utf-8"))["cases"]
    for c in cases:
        try:
            got = decode(bytes.fromhex(c["hex"]))
        except Bad as e:
            got = None
            need(c["result"] == "invalid", "%s: %s, but it is valid" % (c["id"], e))
        need(got is None or c["result"] == "valid", c["id"] + ": read, but it is invalid")
        need(got is None or json.loads(json.dumps(got)) == c["decoded"], c["id"] + ": read as something else")
    print("%d vectors, %d of them invalid" % (len(cases), sum(c["result"] == "invalid" for c in cases)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["-check"]:
        check(sys.argv[2])
    else:
        print(json.dumps([dict(file=path, **decode(read(path))) for path in sys.argv[1:]]))
