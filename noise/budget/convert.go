package budget

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// For returns what g promises to u, whatever the data: neighbours for the second unit are that many
// steps for the first apart, which cost as in [Guarantee.Group].
//
//	unit                      fewer of it, less distance     1
//	unit; vectors at d        m of it; at t·d, ℓ₂ also ℓ₁    m; ⌈t⌉
//	user, any keys            user, m keys                   1
//	user, m keys              user, m elements               1
//	element, AddRemove        user, m elements               m
//	unit, AddRemove           the same, Replace              2
//	user, AddRemove           UserWithin                     2; Replace 4
//	user(Within), AddRemove   element                        2; Replace 4
//	user                      OwnElement                     2; Replace 1
//	element, Replace          OwnElement                     1
//	key, AddRemove            element, AddRemove             2
//	user, 1 element           element, and the reverse       1
//
// Rules can be chained; the steps multiply. Error: [ErrMismatch] if no rule is known, as from
// Replace to AddRemove, ℓ₁ to ℓ₂, or elements to a user by keys.
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

// pathOf returns how steps of from lead between neighbours for the unit to: the elements of one
// user are added or removed together; and what is replaced leaves, and comes back as another.
func pathOf(from, to Unit) account.Path {
	switch n, _ := from.steps(to); {
	case from.kind == element && from.relation == AddRemove && to.kind == user && to.relation == AddRemove && to.many == 1:
		return account.Together
	case n == 2 && from.relation == AddRemove && to.relation == Replace && from.many == 1 && to.many == 1:
		return account.Swap
	}
	return account.AnyPath
}

// steps returns what g promises to a unit whose neighbours are at most n steps of g's unit apart.
func (g Guarantee) steps(n int, u Unit, by account.Path) (Guarantee, error) {
	r, ok := g.releases().Group(n, by)
	if !ok {
		return Guarantee{}, check.MismatchError("budget", "Guarantee", g, "one with a known rule for groups")
	}
	return promise(u, r, g.on), nil
}

// Group returns the guarantee for m units at once: a user with up to m elements if g is for one
// added or removed, vectors at m times the distance, or any m. Each release becomes (mε, δ·(1 + e^ε
// + … + e^{(m−1)ε}))-DP (Lebeda and Tětek, TODS, Lemma 19), m²ρ-zCDP or mμ-GDP. Errors: [ErrParams]
// unless m is in [1, 2³⁰], [ErrMismatch] if the unit has no groups.
func (g Guarantee) Group(m int) (Guarantee, error) {
	if m < 1 || m > mostMany {
		return Guarantee{}, check.ParamsError("budget", "the size of the group", m, "an integer in [1, 2³⁰]")
	}
	if !g.promised {
		return Guarantee{}, nil
	}
	unit := g.unit.times(m)
	if !unit.Valid() {
		return Guarantee{}, check.MismatchError("budget", "Unit", g.unit, fmt.Sprintf("a group of %d", m))
	}
	return g.steps(m, unit, pathOf(g.unit, unit))
}

// Stable returns what g promises to u, if one u changes the input by at most distance: of a vector,
// in the norm of g's unit; else the number of units added or removed, or replaced (1 for a table
// with one row per user). The caller must enforce this before the data go in; String and JSON say
// so. A number of keys is no such promise in a stream, where a user may have a key many times.
//
// Errors: [ErrParams] unless u is valid and distance at most 2³⁰ times that of g's unit,
// [ErrMismatch] from a UserWithin to another unit.
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
	n, ok := whole(distance, unit)
	if !ok || !(each >= leastDistance && distance <= mostDistance) {
		return Guarantee{}, check.ParamsError("budget", "distance", distance, "a number above 0, at most 2³⁰ times that of the unit")
	}
	g.on = g.on.and(condition{u.kind, g.unit.kind, each})
	return g.steps(n, u, account.AnyPath)
}
