#!/usr/bin/env python3
"""Reads every encoding of the library with Python's standard library, by FORMAT.md alone.

    python3 decode.py FILE...      prints files as testdata holds them (hex, or a dump) as JSON
    python3 decode.py -check JSON  checks vectors: what must be read and what must be rejected

It knows the rules of that page and takes kinds, versions and layouts from its tables, so what the
page says is what is tested.
"""
import json, math, os, re, struct, sys

PAGE = open(os.path.join(os.path.dirname(__file__), "FORMAT.md"), encoding="utf-8").read()

# kind and version → object: "| 1 | misragries.Histogram | 4 |"
KINDS = {(int(kind), int(version)): name for kind, name, version in
         re.findall(r"^\| (\d+) \| ([\w/.]+)[^|]*\| (\d+) \|", PAGE, re.M)}

# object or part → its fields as (type, names, condition): "name: type names if condition; …"
LAYOUTS = {name: [re.fullmatch(r"(\S+) (.*?)(?: if (.*))?", field).groups()
                  for field in re.split(r";\s+", " ".join(fields.split()))]
           for name, fields in re.findall(r"^    ([\w/.]+): (.*(?:\n      .*)*)", PAGE, re.M)}


def ascending(items):
    keys = [x[0] if isinstance(x, list) else x for x in items]  # of rows
    return all(a < b for a, b in zip(keys, keys[1:]))


HELPERS = {  # what expressions may call
    "ascending": ascending, "bits": int.bit_length, "ceil": math.ceil,
    "ones": lambda words: sum(bin(word).count("1") for word in words),
    "ended": lambda spans, t: sum(s > 0 and (t + 1) % s == 0 for s in spans),
}


class Bad(ValueError):
    """An encoding that must be rejected."""


def need(ok, why):
    if not ok:
        raise Bad(why)


class Reader:
    def __init__(self, data, fields):  # fields: (name, type, offset, size) of all that was read
        self.data, self.at, self.seen, self.fields = data, 0, {}, fields

    def value(self, expression):
        return eval(expression, {"left": len(self.data) - self.at, **HELPERS, **self.seen})

    def take(self, size, name, type):
        need(size <= len(self.data) - self.at, "too short")
        self.fields.append((name, type, self.at, size))
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, code, name, type):
        x, = struct.unpack("<" + code, self.take(struct.calcsize("<" + code), name, type))
        need(code != "d" or math.isfinite(x), name + " is no number")
        return x

    def length(self, size, name):
        """A length that stands in front, as B, H or I, or an expression."""
        in_front = size in ("B", "H", "I")
        n = self.number(size, name, "length") if in_front else self.value(size)
        need(n <= len(self.data) - self.at, "more than there can be")
        return n

    def one(self, type, name):
        """A field, or an item of a list."""
        if "+" in type or "*" in type:  # a row: a list of several
            parts = [part.partition("*") for part in type.split("+")]
            types = [t for t, _, n in parts for _ in range(self.length(n or "1", name))]
            return [self.one(t, "%s %d" % (name, i)) for i, t in enumerate(types)]
        if type == "key":
            return self.one(("bytesI", "q", "Q", "bytes16")[self.seen["class"]], "key")
        if type == "wide":
            return (self.one("q", name) << 64) + self.one("Q", name)
        if type in LAYOUTS:
            return self.layout(type)
        what, size = re.fullmatch("(enum|bytes|object|)(.+)", type).groups()
        if what in ("", "enum"):
            x = self.number("B" if what else type, name, type)
            need(not what or x < int(size), "unknown " + name)
            return x
        data = self.take(self.length(size, name), name, type)
        return data.hex() if what == "bytes" else decode(data)

    def layout(self, name):
        read = {}
        for type, names, condition in LAYOUTS[name]:
            if condition and not self.value(condition):
                continue
            if type == "need":
                need(self.value(names), names)
            elif type == "let":
                self.seen[names.split()[0]] = self.value(names.split(" = ")[1])
            elif type == "with":
                read |= self.layout(names)
            elif type == "flags":
                names = names.split()
                bits = self.one("enum%d" % 2 ** len(names), "flags")
                read |= {name: bits >> i & 1 == 1 for i, name in enumerate(names)}
            else:
                for name in names.split():
                    name, is_list, size = name.rstrip("]").partition("[")
                    n = self.length(size, name) if is_list else 1
                    items = [self.one(type, name) for _ in range(n)]
                    read[name] = items if is_list else items[0]
            self.seen |= read
        return read


def decode(data, fields=None):
    r = Reader(data, [] if fields is None else fields)
    need(r.take(4, "magic", "magic") == b"dpsk", "magic")
    kind = r.number("B", "kind", "B")
    r.seen["version"] = r.number("B", "version", "B")
    name = KINDS.get((kind, r.seen["version"]))
    need(name, "unknown kind or version")
    read = {"type": name, **r.layout(name)}
    need(r.at == len(data), "bytes behind the end")
    return read


def read(path):
    """The bytes of a golden file: hexadecimal digits, or a dump with offsets and text."""
    text = open(path, encoding="utf-8").read()
    if "|" in text:
        text = re.sub(r"^\w{8}(  |\n)|\|.*", "", text, flags=re.M)
    return bytes.fromhex(text)


def check(path):
    cases = json.load(open(path, encoding="utf-8"))["cases"]
    for c in cases:
        try:
            got, why = json.loads(json.dumps(decode(bytes.fromhex(c["hex"])))), ""
        except Bad as e:
            got, why = None, str(e)
        if got != c.get("decoded"):
            sys.exit("%s: must be %s: %s %s" % (c["id"], c["result"], got, why))
    print("%d vectors, %d of them invalid" % (len(cases), sum("why" in c for c in cases)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["-check"]:
        check(sys.argv[2])
    else:
        print(json.dumps([dict(file=path, **decode(read(path))) for path in sys.argv[1:]]))
