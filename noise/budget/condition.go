package budget

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// conditions is what a caller of [Guarantee.Stable] has promised about the data, for all releases
// behind a Guarantee: entries of conditionSize bytes, sorted, and each pair of kinds once. A
// string, so that a Guarantee stays comparable.
type conditions string

// condition is one of them: each unit of the kind to changes at most distance units of the kind
// from, or moves a vector by at most that.
type condition struct {
	to, from kind
	distance float64
}

const (
	conditionSize  = 1 + 1 + 8
	mostConditions = int(own) * int(own)
)

func (c condition) valid() bool {
	return c.to >= element && c.to <= own && c.from >= element && c.from <= own && c.distance >= leastDistance && c.distance <= mostDistance
}

// same reports whether both are about the same kinds.
func (c condition) same(d condition) bool { return c.to == d.to && c.from == d.from }

// list returns the entries.
func (c conditions) list() []condition {
	list := make([]condition, len(c)/conditionSize)
	for i := range list {
		b := []byte(c[i*conditionSize : (i+1)*conditionSize])
		list[i] = condition{kind(b[0]), kind(b[1]), math.Float64frombits(binary.BigEndian.Uint64(b[2:]))}
	}
	return list
}

// and returns the conditions under which all hold. Of two about the same kinds the smaller distance
// implies both, also if they are about different data.
func (c conditions) and(others ...condition) conditions {
	if len(others) == 0 {
		return c
	}
	list := append(c.list(), others...)
	slices.SortFunc(list, func(a, b condition) int { return slices.Compare(a.key(), b.key()) })
	list = slices.CompactFunc(list, condition.same) // the first is the smallest
	data := make([]byte, 0, len(list)*conditionSize)
	for _, x := range list {
		data = append(data, x.key()...)
	}
	return conditions(data)
}

// key returns the entry's bytes, which are in the order of the kinds and then of the distance.
func (c condition) key() []byte {
	return binary.BigEndian.AppendUint64([]byte{byte(c.to), byte(c.from)}, math.Float64bits(c.distance))
}

// String says what must be true of the data, such as "each user has at most 20 elements".
func (c conditions) String() string {
	var parts []string
	for _, x := range c.list() {
		parts = append(parts, x.String())
	}
	return strings.Join(parts, " and ")
}

// suffix returns what a text about a guarantee ends with.
func (c conditions) suffix() string {
	if c == "" {
		return ""
	}
	return ", if " + c.String() + ", as the caller promises"
}

func (c condition) String() string {
	nouns := []string{element: "element", user: "user", key: "key", row: "row", party: "party", l1: "vector", l2: "vector", own: "element"}
	subject, number := "each "+nouns[c.to], number(c.distance)
	switch {
	case c.from == l1:
		return subject + " moves the vector by at most " + number + " in ℓ₁"
	case c.from == l2:
		return subject + " moves the vector by at most " + number + " in ℓ₂"
	case c.from == user:
		plural := "s"
		if c.distance == 1 {
			plural = ""
		}
		return subject + " counts as at most " + number + " user" + plural
	case c.distance == 1:
		return subject + " has at most 1 " + nouns[c.from]
	case c.from == party:
		return subject + " has at most " + number + " parties"
	}
	return subject + " has at most " + number + " " + nouns[c.from] + "s"
}
