package budget

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
)

// For returns what g promises to the unit u, by a rule that holds for all data. In each row of the
// table, neighbours for the unit "to" are joined by a path of that many steps between neighbours
// for the unit "from". [Guarantee.Group] says what a path costs:
//
//	from                             to                              steps  because
//	a unit                           fewer of it, a lesser distance  1      (a)
//	a user with any number of keys,  a user with at most m of them   1      (a)
//	  or with at most M ≥ m
//	a unit                           m of it                         m      (b)
//	vectors at ℓ₁ or ℓ₂ distance d   the same at t·d                 ⌈t⌉    (c)
//	vectors at ℓ₂ distance d         at ℓ₁ distance t·d              ⌈t⌉    ‖x‖₂ ≤ ‖x‖₁
//	an element, added or removed     a user with at most m elements, m      (b)
//	                                   of all or in some steps
//	a user with at most m keys       one with at most m elements     1      (a)
//	a unit, added or removed         the unit, replaced              2      (d)
//	a user with any number of keys,  what they have in some steps,   2      (e)
//	  added or removed                 added or removed
//	                                 the same, replaced              4      (e) twice
//	a user, added or removed         one element, added or removed   2      (e)
//	                                 an element, replaced by another 2      (e)
//	                                   of the same user
//	                                 an element, replaced            4      (e) twice
//	a user in some steps, added or   one element, added or removed   2      (e)
//	  removed                        one element, replaced           4      (e) twice
//	a user, replaced                 an element, replaced by another 1      the user is replaced
//	                                   of the same user
//	an element, replaced             the same by one of its user     1      (a)
//	a key, added or removed          one element of it, added or     2      (f)
//	                                   removed
//	a user with at most 1 element    an element, and the reverse     1      they are the same
//
//	(a) they are among the neighbours
//	(b) one after the other
//	(c) along the straight line, cut into ⌈t⌉ parts; for integers and ℓ₁, unit by unit
//	(d) the old one is removed, then the new one added
//	(e) the user is removed, then added with the other elements; the elements that are exchanged
//	    may be of two users, or of one user at two times, each of whom leaves and comes back
//	(f) it is removed, then added with one more or less
//
// Rules can be chained; the steps multiply. The error wraps [ErrMismatch] if no rule is known:
// from Replace to AddRemove (under Replace the number of units is public), from a replaced user to
// an element of any user or to what a user has in some steps (without a last element there is no
// user), from one element to many under Replace (the number of a user's elements is public then),
// from elements to a user with at most m keys (who may have one of them any number of times), from
// a user with a most number to what a user has in some steps (of all steps it may be more), from
// ℓ₁ to ℓ₂ (which costs √d, and d is not known here), from a key, a row or a party to a user. If
// you know more about the data, use [Guarantee.Stable].
func (g Guarantee) For(u Unit) (Guarantee, error) {
	if err := u.check(); err != nil {
		return Guarantee{}, err
	}
	if !g.promised {
		return Guarantee{}, nil
	}
	n, ok := g.unit.steps(u)
	if !ok {
		return Guarantee{}, check.MismatchError("budget", "Unit", g.unit, u)
	}
	return g.steps(n, u, pathOf(g.unit, u))
}

// path says what steps lead from a neighbour to another.
type path uint8

const (
	anyPath  path = iota // any
	together             // all add, or all remove
	swap                 // one removes, the other adds
)

// pathOf returns which it is between neighbours for the unit to, in steps of from: the elements of
// one user are added or removed together; and what is replaced leaves, and comes back as another.
func pathOf(from, to Unit) path {
	switch n, _ := from.steps(to); {
	case from.kind == element && from.relation == AddRemove && to.kind == user && to.relation == AddRemove && to.many == 1:
		return together
	case n == 2 && from.relation == AddRemove && to.relation == Replace && from.many == 1 && to.many == 1:
		return swap
	}
	return anyPath
}

// steps is along with an error that wraps [ErrMismatch].
func (g Guarantee) steps(n int, u Unit, by path) (Guarantee, error) {
	of, ok := g.along(n, u, by)
	if !ok {
		return Guarantee{}, check.MismatchError("budget", "Guarantee", g, "one with a known rule for groups")
	}
	return of, nil
}

// Stable returns what g promises to the unit u, for a caller who promises by how much one u can
// change the input of the release. distance is the largest change: of a vector, in the norm of g's
// unit and the units of the data; else the number of elements, keys, rows or parties that are added
// or removed, or replaced. It is 1 for a table with one row per user, and 20 for a vector to which
// each user adds at most 1, up to 20 times. The caller must enforce this before the data go in; it
// is not checked. So the result says in String and JSON "if each user has at most 20 elements, as
// the caller promises", and so does every composition with it, also [Ledger.Spent].
//
// A count of keys that each user has in a stream is no such promise: a user has a key as often as
// that user comes. A guarantee for what a user does within some steps ([UserWithin]) says nothing
// of that user's whole data, whatever the caller knows, and is only converted to one for as many
// steps.
//
// The error wraps [ErrParams] unless u is valid and distance is at most 2³⁰ times that of g's unit,
// and [ErrMismatch] if g is for a user within some steps and u is not.
func (g Guarantee) Stable(u Unit, distance float64) (Guarantee, error) {
	if err := u.check(); err != nil {
		return Guarantee{}, err
	}
	if !g.promised {
		return Guarantee{}, nil
	}
	if g.unit.period != 0 && g.unit.period != u.period {
		return Guarantee{}, check.MismatchError("budget", "Unit", g.unit, fmt.Sprintf("%v: other steps of a user are not protected", u))
	}
	unit := float64(g.unit.many)
	if g.unit.vectorial() {
		unit = g.unit.distance
	}
	each := distance // of a group, what one of it may have so that all have no more
	if many := float64(u.many); many > 1 {
		if each = distance / many; math.FMA(each, many, -distance) > 0 {
			each = math.Nextafter(each, 0)
		}
	}
	if !(each >= leastDistance && distance <= mostDistance) {
		return Guarantee{}, check.ParamsError("budget", "distance", distance, "a number above 0, at most 2³⁰ times that of the unit")
	}
	n, ok := whole(distance, unit)
	if !ok {
		return Guarantee{}, check.ParamsError("budget", "distance", distance, "a number above 0, at most 2³⁰ times that of the unit")
	}
	of, err := g.steps(n, u, anyPath)
	return of.under(conditions("").and(condition{u.kind, g.unit.kind, each})), err
}
