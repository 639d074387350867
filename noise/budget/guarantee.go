package budget

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/loss"
)

// Guarantee is what a release promises about every pair of neighbouring inputs, and for whom, its
// [Unit]. The promise is pure, approximate, zero-concentrated or Gaussian differential privacy, or
// a composition of any number of these. A Guarantee is public and immutable. Compare two by
// [Guarantee.Equal].
//
// The zero Guarantee promises nothing: its ε is +Inf and its δ is 1. So does a Guarantee made from
// invalid numbers.
//
// It stands for the composition of any number of releases, each (εᵢ, δᵢ)-DP, ρᵢ-zCDP or μᵢ-GDP,
// adaptively chosen, and keeps five sums, each rounded up: Σε, Σδ, Σρ, Σμ² and Σε·tanh(ε/2). A
// release may also have a dominating pair: two laws that are at least as easy to tell apart as its
// outputs on any two neighbours. The pair of its noise composes to less than (ε, δ) does (see
// constructors such as [Laplace], and [Guarantee.WithPair]). So there are two complete descriptions
// of the same releases: by the numbers that were asked for, and by the pairs. The bounds hold for
// both:
//
//   - (A) basic composition: the releases of the first kind together are (Σε, Σδ)-DP, those of the
//     second Σρ-zCDP, hence (ε′, δ′)-DP for all pairs that the conversion of a ρ allows; and both
//     are (Σε + ε′, Σδ + δ′)-DP.
//
//   - (B) an (ε, δ)-DP release is δ-approximately ε·tanh(ε/2)-zCDP: its two output laws have common
//     parts of weight 1 − δ that are ε-indistinguishable in both directions (Kairouz, Oh,
//     Viswanath, ICML 2015), and those have Rényi divergences of at most that times the order: the
//     least ρ possible, where Bun and Steinke (TCC 2016, Proposition 1.4) have ½ε² (proof in
//     internal/loss/loss_proof.md). Approximate zCDP adds up (their section 8), so the whole is
//     Σδ-approximately (Σρ + Σε·tanh(ε/2))-zCDP, hence (ε′, Σδ + (1−Σδ)·δ′)-DP.
//
//   - (C) with no zCDP among the releases the whole is (ε, δ)-DP with ε = Σε, δ = Σδ. Whatever is
//     (ε, δ)-DP is a random function of one bit, revealed with probability δ and else sent by
//     randomized response at ε (Kairouz, Oh, Viswanath), so for every ε′ ≤ ε it is (ε′, δ +
//     (1−δ)·(e^ε − e^ε′)/(1 + e^ε))-DP.
//
//   - (D) μᵢ-GDP releases together are √(Σμᵢ²)-GDP (Dong, Roth, Su, Gaussian Differential Privacy,
//     JRSS-B 2022, Corollary 3.3), and μ-GDP is what Gaussian noise of σ = 1/μ gives at sensitivity
//     1: with nothing else but δ the exact profile of that noise bounds the whole. Beside other
//     releases μ-GDP counts as ½μ²-zCDP, which Gaussian noise is.
//
//   - (E) an (ε, δ)-DP release is bounded by randomized response at ε beside a mass of δ at
//     infinite loss, and others by their pairs, so the losses of all together are bounded by the
//     convolution of those of the pairs, with the exact profile of √(Σμᵢ²), or the conversion of
//     Σρ, for the others. It is computed on a lattice, every mass rounded up: never below the
//     truth, and for equal releases within .3 % of it, exact up to a thousand of them by ε.
//     Releases of samples are within 6 %, which many of a small one need (20,000 of a thousandth);
//     at δ below 1e-28 they may be far above the truth (package internal/loss).
//
// [Guarantee.EpsilonAt] and [Guarantee.DeltaAt] take the least of these bounds; each is sound, so
// the least is. All five hold if a release is chosen after seeing the ones before, as long as its
// guarantee is not.
type Guarantee struct {
	unit     Unit
	promised bool // false: no promise, and the sums are 0
	sums          // what the releases were asked for
	pair     pair // what bounds their laws
	// on is what the caller promised about the data, "" for nothing
	on conditions
}

// sums are what a composition keeps.
type sums struct {
	epsilon   float64 // Σε
	responses float64 // Σε·tanh(ε/2)
	delta     float64 // Σδ
	rho       float64 // Σρ
	muSquares float64 // Σμ²
}

// PureDP returns ε-differential privacy for the unit u. With an invalid unit, or unless epsilon ≥
// 0, it promises nothing.
func PureDP(epsilon float64, u Unit) Guarantee { return ApproxDP(epsilon, 0, u) }

// ApproxDP returns (ε, δ)-differential privacy for the unit u. With an invalid unit, or unless
// epsilon ≥ 0 and delta is in [0, 1), it promises nothing.
func ApproxDP(epsilon, delta float64, u Unit) Guarantee {
	if !finite(epsilon) || !(delta >= 0 && delta < 1) {
		return Guarantee{}
	}
	s := sums{epsilon: epsilon + 0, responses: responseRho(epsilon), delta: delta + 0}
	p := pairOf(s)
	p.kinds = oneKind(response(epsilon))
	return promise(u, s, p)
}

// ZCDP returns ρ-zero-concentrated differential privacy (Bun and Steinke) for the unit u. With an
// invalid unit, or unless rho ≥ 0, it promises nothing.
func ZCDP(rho float64, u Unit) Guarantee {
	if !finite(rho) {
		return Guarantee{}
	}
	s := sums{rho: rho + 0}
	return promise(u, s, pairOf(s))
}

// GDP returns μ-Gaussian differential privacy (Dong, Roth, Su) for the unit u: the guarantee of
// noise N(0, σ²) at an ℓ₂ sensitivity of μ·σ. With an invalid unit, or unless mu ≥ 0, it promises
// nothing.
func GDP(mu float64, u Unit) Guarantee {
	if !finite(mu) {
		return Guarantee{}
	}
	s := sums{muSquares: exact.ProductUp(mu, mu)}
	return promise(u, s, pairOf(s))
}

// finite reports whether x is a number ≥ 0 other than +Inf.
func finite(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }

// promise returns the Guarantee with these sums, or one that promises nothing if they are too large
// for one or u is no unit. Where what is known of the laws has become too much, such as escapes
// that add up to more than 1, the sums alone bound them.
func promise(u Unit, s sums, p pair) Guarantee {
	if !u.Valid() || !(s.delta < 1) || !finite(s.epsilon) || !finite(s.rho) || !finite(s.muSquares) {
		return Guarantee{}
	}
	if !p.valid() {
		p = pairOf(s)
	}
	if !p.valid() {
		return Guarantee{}
	}
	return Guarantee{unit: u, promised: true, sums: s, pair: p}
}

// Compose returns the guarantee of making all these releases on the same input. Each may be chosen
// after seeing the ones before. If one promises nothing, so does the composition.
//
// The error wraps [ErrMismatch] if the units differ, and [ErrParams] without arguments. The sums
// are rounded up, so grouping the arguments differently may change the last digits.
func Compose(gs ...Guarantee) (Guarantee, error) {
	if len(gs) == 0 {
		return Guarantee{}, check.ParamsError("budget", "number of guarantees", 0, "at least 1")
	}
	unit, void, known := Unit{}, false, true
	var total [allSums]float64
	var entries []lossKind
	var escapes beside
	var on conditions
	for _, g := range gs {
		if !g.promised {
			void = true
			continue
		}
		if unit.Valid() && g.unit != unit {
			return Guarantee{}, check.MismatchError("budget", "Unit", unit, g.unit)
		}
		unit, on = g.unit, on.and(g.on.list()...)
		known = known && !g.pair.unknown()
		entries = append(entries, g.pair.kinds.list()...)
		escapes = escapes.plus(g.pair.beside)
		for i, x := range g.list() {
			total[i] = exact.SumUp(total[i], x)
		}
	}
	if void {
		return Guarantee{}, nil
	}
	of := kinds("")
	if known {
		of = makeKinds(entries)
	}
	return guaranteeOf(unit, total, escapes, of).under(on), nil
}

// Times returns the guarantee of n releases that each have the guarantee g. With n below 1 it
// promises nothing.
func (g Guarantee) Times(n int) Guarantee {
	if !g.promised || n < 1 {
		return Guarantee{}
	}
	m, total := stepsUp(n), g.list()
	for i, x := range total {
		total[i] = exact.ProductUp(m, x)
	}
	return guaranteeOf(g.unit, total, g.pair.beside.times(uint64(n)), g.pair.kinds.times(uint64(n))).under(g.on)
}

// under returns g where more must be true of the data, as the caller promises.
func (g Guarantee) under(on conditions) Guarantee {
	if g.promised {
		g.on = g.on.and(on.list()...)
	}
	return g
}

// stepsUp returns n as a float64 that is not below it.
func stepsUp[T int | int64](n T) float64 {
	x := float64(n)
	if x >= 0x1p53 { // perhaps rounded
		x = math.Nextafter(x, math.Inf(1))
	}
	return x
}

// Unit returns whom the guarantee protects, or the zero Unit if it promises nothing.
func (g Guarantee) Unit() Unit { return g.unit }

// Promises reports whether g promises anything.
func (g Guarantee) Promises() bool { return g.promised }

// Equal reports whether both promise the same to the same unit.
func (g Guarantee) Equal(other Guarantee) bool { return g == other }

// Epsilon returns Σε of the pure and approximate releases, or +Inf if g promises nothing. It
// excludes releases by ρ and μ: see [Guarantee.EpsilonAt].
func (g Guarantee) Epsilon() float64 { return g.orInf(g.epsilon) }

// Delta returns Σδ, or 1 if g promises nothing.
func (g Guarantee) Delta() float64 {
	if !g.promised {
		return 1
	}
	return g.delta
}

// Rho returns Σρ of the zCDP releases, or +Inf if g promises nothing.
func (g Guarantee) Rho() float64 { return g.orInf(g.rho) }

// Mu returns √(Σμ²) of the GDP releases in float64 precision (exactly for one release), or +Inf if
// g promises nothing.
func (g Guarantee) Mu() float64 { return g.orInf(sqrtUp(g.muSquares)) }

func (g Guarantee) orInf(x float64) float64 {
	if !g.promised {
		return math.Inf(1)
	}
	return x
}

// sqrtUp returns the least float64 whose square, rounded up, is at least x, for x ≥ 0; so the μ of
// one release comes back as it was.
func sqrtUp(x float64) float64 {
	s := math.Sqrt(x)
	for range 2 { // math.Sqrt is within half a unit in the last place
		if exact.ProductUp(s, s) < x {
			s = math.Nextafter(s, math.Inf(1))
		}
	}
	if t := math.Nextafter(s, 0); s > 0 && exact.ProductUp(t, t) >= x && x > 0x1p-900 {
		return t
	}
	return s
}

// String says what is promised and to whom, such as "ε = 1, δ = 1e-6 for one user (at most 20
// keys), added or removed" or "ρ = 0.5 (zCDP) for one row, replaced". For a composition it shows
// the sums. It adds "(hardly any protection)" if ε is above 20 or δ above .01 (for ρ and μ, ε at δ
// = 1e-6): for experiments, packages accept ε up to 1024 and any δ below 1. What
// [Guarantee.Stable] made says ", if each user has at most 20 elements, as the caller promises".
func (g Guarantee) String() string {
	if !g.promised {
		return "no privacy promised"
	}
	text := g.sums.String()
	if g.hardlyAny() {
		text += " (hardly any protection)"
	}
	return text + " for " + g.unit.String() + g.on.suffix()
}

// hardlyAny reports whether the sums are those of a release from which nearly everything about the
// unit can be told.
func (s sums) hardlyAny() bool {
	const most, mostDelta = 20, 0.01
	return s.epsilon > most || s.delta > mostDelta || s.rho > 0 && loss.ConcentratedEpsilon(s.rho, negLogUp(1e-6)) > most ||
		s.muSquares > 0 && gaussianEpsilon(s.muSquares, 1e-6) > most
}

// String lists the sums that are not 0.
func (s sums) String() string {
	text := ""
	add := func(part string) {
		if text != "" {
			text += ", "
		}
		text += part
	}
	if s.epsilon > 0 || s.delta > 0 || s.rho == 0 && s.muSquares == 0 {
		add("ε = " + number(s.epsilon))
	}
	if s.delta > 0 {
		add("δ = " + number(s.delta))
	}
	if s.rho > 0 {
		add("ρ = " + number(s.rho) + " (zCDP)")
	}
	if s.muSquares > 0 {
		add("μ = " + number(sqrtUp(s.muSquares)) + " (GDP)")
	}
	return text
}

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
