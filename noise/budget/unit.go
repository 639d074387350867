package budget

import (
	"math"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Unit is what one of two neighbouring inputs has and the other lacks, or has with other data. It
// is public and comparable.
type Unit struct {
	kind     kind
	relation Relation // 0 for vectors
	max      int      // of a user, 0 for any number
	period   int      // of a user: how many successive steps count, 0 for all
	elements bool     // of a user with a max: of elements, not of distinct keys
	many     int      // how many of them may differ; 0 for vectors
	distance float64  // of vectors
}

type kind uint8

const (
	element kind = iota + 1
	user
	key
	row
	party
	l1
	l2
	own // an element, replaced by another of the same user
)

// mostMany bounds the number of units of a group and what one user has; distances lie in
// [leastDistance, mostDistance], where quotients and products do not leave float64.
const (
	mostMany      = 1 << 30
	leastDistance = 0x1p-900
	mostDistance  = 0x1p900
)

// Element is one element of a stream: one event, view or purchase.
func Element(r Relation) Unit { return discrete(element, 0, r) }

// OwnElement is one element of a stream, replaced by another of the same user.
func OwnElement() Unit { return discrete(own, 0, Replace) }

// User is one user with at most max distinct keys, 0 for any number.
func User(max int, r Relation) Unit { return discrete(user, max, r) }

// UserElements is one user with at most max elements in the whole input, 1 to 2³⁰.
func UserElements(max int, r Relation) Unit {
	u := discrete(user, max, r)
	u.elements = max > 0 && u.Valid()
	if !u.elements {
		return Unit{}
	}
	return u
}

// UserWithin is one user in any 1 to 2³⁰ consecutive steps of a stream whose steps are public, with
// at most max elements there, 0 for any number. Over more steps a user is a group.
func UserWithin(steps, max int, r Relation) Unit {
	u := discrete(user, max, r)
	if steps < 1 || steps > mostMany || !u.Valid() {
		return Unit{}
	}
	u.period = steps
	return u
}

// Key is one key with all its occurrences.
func Key(r Relation) Unit { return discrete(key, 0, r) }

// Row is one row of a table, one record, one number.
func Row(r Relation) Unit { return discrete(row, 0, r) }

// Party is one party with all that it holds.
func Party(r Relation) Unit { return discrete(party, 0, r) }

// L1 is a vector x whose neighbours x′ have ‖x − x′‖₁ ≤ distance, in the units of the data, in
// [2⁻⁹⁰⁰, 2⁹⁰⁰], and an integer for vectors of integers.
func L1(distance float64) Unit { return vector(l1, distance) }

// L2 is [L1] by the norm ‖x − x′‖₂.
func L2(distance float64) Unit { return vector(l2, distance) }

func discrete(k kind, most int, r Relation) Unit {
	if most < 0 || most > mostMany || !r.Valid() || k == own && r != Replace {
		return Unit{}
	}
	return Unit{kind: k, relation: r, max: most, many: 1}
}

func vector(k kind, distance float64) Unit {
	if !(distance >= leastDistance && distance <= mostDistance) {
		return Unit{}
	}
	return Unit{kind: k, distance: distance}
}

// Valid reports whether u was made from valid numbers, and is not zero.
func (u Unit) Valid() bool { return u.kind != 0 }

// Relation returns how neighbours differ in a unit, 0 for vectors.
func (u Unit) Relation() Relation { return u.relation }

// Max returns the most keys or elements of one user, 0 for any number.
func (u Unit) Max() int { return u.max }

// counts reports whether the most that a user has are elements, not keys.
func (u Unit) counts() bool { return u.elements || u.period > 0 }

// vectorial reports whether neighbours are vectors at a distance.
func (u Unit) vectorial() bool { return u.kind == l1 || u.kind == l2 }

// times returns the unit of m of them: of any group of m, or of vectors at m times the distance.
func (u Unit) times(m int) Unit {
	switch {
	case !u.Valid() || m < 1 || m > mostMany:
		return Unit{}
	case m == 1:
		return u
	case u.vectorial():
		d := u.distance * float64(m)
		if math.FMA(u.distance, float64(m), -d) < 0 {
			d = math.Nextafter(d, 0) // less is promised, never more
		}
		return vector(u.kind, d)
	case m > mostMany/u.many:
		return Unit{}
	case u.kind == element && u.relation == AddRemove:
		return Unit{kind: user, relation: u.relation, max: m * u.many, elements: true, many: 1}
	}
	u.many *= m
	return u
}

// steps returns a number n such that any two inputs that are neighbours for the unit to are joined
// by a path of n steps or less, each between neighbours for u; and false if no such number is
// known. The rules are the rows of the table at [Guarantee.For]:
//
//	fewer of a unit, a lesser distance, a user with less   they are among the neighbours
//	m of a unit, a user with m elements                    one after the other
//	vectors at t times the distance    along the straight line, in ⌈t⌉ parts, or unit by unit
//	ℓ₂ to ℓ₁                           ‖x‖₂ ≤ ‖x‖₁; the reverse costs √d, and d is not known here
//	added or removed to replaced       the old one is removed, then the new one added
//	a user to an element or a period   removed, then added with the other elements; these may
//	                                   be of two users or periods: each leaves and comes back
//	a key to one element               removed, then added with one more or less
//
// Under Replace the numbers of units and of each user's elements are public, and no user is without
// elements. From elements there is none to users by keys, who may have a key any number of times;
// nor from a user with a most number to some steps, as of all steps it may be more.
func (u Unit) steps(to Unit) (n int, ok bool) {
	switch {
	case !u.Valid() || !to.Valid():
		return 0, false
	case u == to:
		return 1, true
	case u.vectorial() != to.vectorial(), u.kind == l1 && to.kind == l2:
		return 0, false
	case u.vectorial():
		return whole(to.distance, u.distance)
	case u.relation == Replace && to.relation == AddRemove:
		return 0, false // the number of units is public
	}
	replaced := 1 // steps for each of the units that differ
	if u.relation != to.relation {
		replaced = 2 // removed, then added
	}
	many, each := to.many, u.many
	switch {
	case u.kind == element && to.kind == user:
		if u.relation == Replace || to.max == 0 || !to.counts() || to.max > mostMany/many {
			// under Replace the number of elements is public, and users may have different numbers;
			// and of so many keys a user may have any number of elements
			return 0, false
		}
		many *= to.max
	case u.kind == element && to.kind == own:
	case u.kind == user && (to.kind == element || to.kind == own):
		if replaced, ok = u.owners(to); !ok {
			return 0, false
		}
	case u.kind == key && to.kind == element && u.relation == AddRemove && to.relation == AddRemove:
		replaced = 2
	case u.kind == user && to.kind == user:
		switch {
		case u.elements && !to.counts():
			return 0, false
		case u.max != 0 && (to.max == 0 || to.max > u.max):
			return 0, false
		case u.period == to.period:
		case u.period != 0 || u.relation == Replace || u.max != 0:
			// others of his elements may lie anywhere; users may have different steps; and with
			// those in other steps a user may have more than u.max
			return 0, false
		default:
			replaced *= 2 // each user leaves, and comes back with his other periods
		}
	case u.kind != to.kind:
		return 0, false
	}
	return ((many-1)/each + 1) * replaced, true
}

// owners returns how many steps between neighbours for u, a user, change one element, and false if
// no rule is known. A user with one element is that element. Any other leaves, and comes back with
// one element more or less; a replaced element may be of two users, or of two periods.
func (u Unit) owners(to Unit) (n int, ok bool) {
	single := u.max == 1 && u.counts()
	n = 2
	if single {
		n = 1
	}
	switch {
	case to.relation == AddRemove:
		return n, true // and u is added or removed as well
	case u.relation == AddRemove && to.kind == own && u.period == 0:
		return 2, true
	case u.relation == AddRemove:
		return 2 * n, true
	}
	// A replaced user has as many elements as he wants but none, as the number of users is public.
	return 1, u.period == 0 && (to.kind == own || single)
}

// whole returns the least whole number that is at least a/b, or false if it is too large.
func whole(a, b float64) (int, bool) {
	quotient := math.Ceil(exact.QuotientUp(a, b))
	if !(quotient <= mostMany) {
		return 0, false
	}
	return max(int(quotient), 1), true
}

// check returns an error that wraps [ErrParams] unless u is a unit.
func (u Unit) check() error {
	if !u.Valid() {
		return check.ParamsError("budget", "Unit", u, "one made by Element, OwnElement, User, Key, Row, Party, L1 or L2 from valid numbers")
	}
	return nil
}

var nouns = []string{element: "element", user: "user", key: "key", row: "row", party: "party", l1: "vector", l2: "vector", own: "element"}

// String says who is protected.
func (u Unit) String() string {
	one, several, change := "", "", ", added or removed"
	if u.relation == Replace {
		change = ", replaced"
	}
	switch u.kind {
	case 0:
		return "no unit"
	case l1:
		return "vectors at ℓ₁ distance " + number(u.distance)
	case l2:
		return "vectors at ℓ₂ distance " + number(u.distance)
	case own:
		change += " by another of the same user"
	case key:
		one, several = " with all its occurrences", " with all their occurrences"
	case user:
		if u.period > 0 {
			one = " within any " + strconv.Itoa(u.period) + " steps"
		}
		if several = one; u.max > 0 {
			what := "key"
			if u.counts() {
				what = "element"
			}
			most := " (at most " + plural(strconv.Itoa(u.max), what, u.max == 1)
			one, several = one+most+")", several+most+" each)"
		}
	}
	if u.many > 1 {
		return plural(strconv.Itoa(u.many), nouns[u.kind], false) + several + change
	}
	return "one " + nouns[u.kind] + one + change
}

// plural returns such as "1 key", "20 keys" or "3 parties".
func plural(number, noun string, one bool) string {
	switch {
	case one:
		return number + " " + noun
	case noun == "party":
		return number + " parties"
	}
	return number + " " + noun + "s"
}

// number prints x as briefly as it can be read back: 1e-6, not 1e-06.
func number(x float64) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if i := strings.IndexByte(text, 'e'); i >= 0 && i+2 < len(text) && text[i+2] == '0' {
		text = text[:i+2] + text[i+3:]
	}
	return strings.Replace(text, "e+", "e", 1)
}

// Relation says how neighbouring inputs differ.
type Relation uint8

const (
	// AddRemove: one input is the other with one unit more.
	AddRemove Relation = iota + 1
	// Replace: both inputs have the same number of units, which is public, and differ in one.
	Replace
)

var relationNames = []string{AddRemove: "AddRemove", Replace: "Replace"}

// Valid reports whether r is a constant.
func (r Relation) Valid() bool { return r == AddRemove || r == Replace }

// String names the constant.
func (r Relation) String() string { return check.EnumName(r, relationNames, "Relation") }
