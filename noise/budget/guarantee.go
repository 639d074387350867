package budget

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/loss"
	"github.com/dpsketch/dpsketch/noise/budget/internal/account"
)

// Guarantee is what releases together promise to their [Unit]. It is public and immutable. The zero
// Guarantee, and one of invalid numbers (NaN) or Unit, promises nothing: its ε, ρ and μ are +Inf,
// its δ is 1.
//
// EpsilonAt and DeltaAt take the least of five bounds, rounded up, which hold if releases, but not
// their guarantees, are chosen after seeing the ones before: within .3 % of the truth for equal
// releases, 6 % for samples.
type Guarantee struct {
	unit     Unit
	promised bool // false: no promise, and all else is 0
	on       conditions
	asked    account.Sums
	pair     account.PairSums
	kinds    string // the bytes of account.Kinds, so that a Guarantee stays comparable
}

// promise returns the Guarantee of the releases, or none if they are not valid or u is no unit.
func promise(u Unit, r account.Releases, on conditions) Guarantee {
	if !u.Valid() || !r.Valid() {
		return Guarantee{}
	}
	var few [4 * account.KindSize]byte
	return Guarantee{u, true, on, r.Asked, r.Pair.PairSums, string(r.Pair.Kinds.Append(few[:0]))}
}

// releases returns what is known of the releases.
func (g Guarantee) releases() account.Releases {
	if !g.promised {
		return account.None()
	}
	return account.Releases{Asked: g.asked, Pair: account.Pair{PairSums: g.pair, Kinds: account.ReadKinds(g.kinds)}}
}

// PureDP returns ε-differential privacy, epsilon ≥ 0.
func PureDP(epsilon float64, u Unit) Guarantee { return ApproxDP(epsilon, 0, u) }

// ApproxDP returns (ε, δ)-differential privacy, epsilon ≥ 0, delta in [0, 1).
func ApproxDP(epsilon, delta float64, u Unit) Guarantee {
	return promise(u, account.ApproxDP(epsilon, delta), "")
}

// ZCDP returns ρ-zero-concentrated differential privacy, rho ≥ 0.
func ZCDP(rho float64, u Unit) Guarantee { return promise(u, account.ZCDP(rho), "") }

// GDP returns μ-Gaussian differential privacy, mu ≥ 0: noise N(0, σ²) at ℓ₂ sensitivity μ·σ.
func GDP(mu float64, u Unit) Guarantee { return promise(u, account.GDP(mu), "") }

// Laplace is for Laplace noise of scales bᵢ on real coordinates that move by dᵢ, Σ|dᵢ|/bᵢ ≤ ε: ε-DP
// that composes better than [PureDP].
func Laplace(epsilon float64, u Unit) Guarantee { return promise(u, account.Laplace(epsilon), "") }

// DiscreteLaplace is for noise of mass ∝ exp(−|x|/scale), scale > 0, on integers that together move
// by at most ε·scale: ε-DP.
func DiscreteLaplace(epsilon, scale float64, u Unit) Guarantee {
	return promise(u, account.DiscreteLaplace(epsilon, scale), "")
}

// Gaussian is for normal noise calibrated to (ε, δ): [GDP] with the largest μ that is (ε, δ)-DP.
func Gaussian(epsilon, delta float64, u Unit) Guarantee {
	return promise(u, account.Gaussian(epsilon, delta), "")
}

// DiscreteGaussian is for noise of mass ∝ exp(−x²/2σ²), sigma in [2⁻⁵⁰⁰, 2⁵⁰⁰], on one integer that
// moves by at most steps ≥ 1: steps²/2σ²-zCDP, and better for σ and steps up to 1,024.
func DiscreteGaussian(sigma float64, steps int64, u Unit) Guarantee {
	return promise(u, account.DiscreteGaussian(sigma, steps), "")
}

// WithEscape is for a release that reveals everything with probability escape, in [0, 1), and
// otherwise has g. [Guarantee.Group] needs one release by ε, or any number by μ.
func (g Guarantee) WithEscape(escape float64) Guarantee {
	return promise(g.unit, g.releases().WithEscape(escape), g.on)
}

// WithPair is for a release with both guarantees, for one unit, such as ApproxDP and the [GDP] of
// its noise. It prints and adds up as g, and composes also by better.
func (g Guarantee) WithPair(better Guarantee) Guarantee {
	if !g.promised || !better.promised || g.unit != better.unit {
		return Guarantee{}
	}
	g.pair, g.kinds, g.on = better.pair, better.kinds, g.on.and(better.on.list()...)
	return g
}

// WithKeys is for package groupby, whose keys nobody listed: g, (ε, δ)-DP, that composes by k.
// Rules, groups, samples and conversions use g alone.
func (g Guarantee) WithKeys(k loss.Keys) Guarantee {
	return promise(g.unit, g.releases().WithKeys(k), g.on)
}

// Subsampled returns the guarantee of a release on a secret random sample of the records that has g
// for the sample: (ln(1 + γ(e^ε − 1)), γδ)-DP, γ = fraction in (0, 1] (Balle, Barthe, Gaboardi,
// NeurIPS 2018).
//
//	AddRemove   a Poisson sample: each record with probability γ (noise.BernoulliAtMost)
//	Replace     m of n records without replacement, m/n = γ, m and n public
//
// All releases in g use one sample, each call a new one.
//
// A Poisson sample of one release by ε, with Laplace or discrete Gaussian noise, or of any number
// by μ, composes by its exact distribution; above μ = 65, and at δ below 2⁻¹⁰⁰ a sample, the bound
// is much larger.
//
// Errors: [ErrParams] for another fraction, and for other ρ or μ (use ApproxDP(g.EpsilonAt(δ), δ,
// u)); [ErrMismatch] for vectors and groups.
func (g Guarantee) Subsampled(fraction float64) (Guarantee, error) {
	switch {
	case !(fraction > 0 && fraction <= 1):
		return Guarantee{}, check.ParamsError("budget", "fraction", fraction, "a number in (0, 1]")
	case !g.promised:
		return Guarantee{}, nil
	case g.unit.vectorial() || g.unit.many > 1:
		return Guarantee{}, check.MismatchError("budget", "Unit", g.unit, "one element, user, key, row or party, of which a sample can be drawn")
	case fraction == 1:
		return g, nil
	}
	sample, known := g.releases().Sample(fraction, g.unit.relation == AddRemove)
	if (g.asked.Rho > 0 || g.asked.MuSquares > 0) && (!known || g.asked.Epsilon > 0) {
		want := "ε and δ, or one kind of noise by ρ or μ without others: begin with ApproxDP(g.EpsilonAt(δ), δ, u)"
		if g.unit.relation == Replace {
			want = "ε and δ, as samples without replacement have no rule by ρ or μ: begin with ApproxDP(g.EpsilonAt(δ), δ, u)"
		}
		return Guarantee{}, check.ParamsError("budget", "Guarantee", g, want)
	}
	return promise(g.unit, sample, g.on), nil
}

// Compose returns the guarantee of all on one input; each may be chosen after seeing the ones
// before. Errors: [ErrMismatch] if the units differ, [ErrParams] without arguments.
func Compose(gs ...Guarantee) (Guarantee, error) {
	if len(gs) == 0 {
		return Guarantee{}, check.ParamsError("budget", "number of guarantees", 0, "at least 1")
	}
	unit, void := Unit{}, false
	var on conditions
	var sum account.Sum
	for _, g := range gs {
		if !g.promised {
			void = true
			continue
		}
		if unit.Valid() && g.unit != unit {
			return Guarantee{}, check.MismatchError("budget", "Unit", unit, g.unit)
		}
		unit, on = g.unit, on.and(g.on.list()...)
		sum.Add(g.asked, g.pair, g.kinds)
	}
	if void {
		return Guarantee{}, nil
	}
	return promise(unit, sum.Releases(), on), nil
}

// Times returns the guarantee of n releases like g, no promise below 1.
func (g Guarantee) Times(n int) Guarantee {
	if !g.promised || n < 1 {
		return Guarantee{}
	}
	return promise(g.unit, g.releases().Times(n), g.on)
}

// EpsilonAt returns the least ε shown at delta: +Inf if there is none or unless delta ≥ 0, 0 if
// delta ≥ 1. A delta below Σδ by at most a relative 2⁻⁵⁰ counts as Σδ.
func (g Guarantee) EpsilonAt(delta float64) float64 {
	switch {
	case g.promised:
		return g.releases().EpsilonAt(delta)
	case delta >= 1:
		return 0
	}
	return math.Inf(1)
}

// DeltaAt returns the least δ shown at epsilon: 1 if there is none or unless epsilon ≥ 0.
func (g Guarantee) DeltaAt(epsilon float64) float64 {
	if !g.promised || !(epsilon >= 0) {
		return 1
	}
	return g.releases().DeltaAt(epsilon)
}

// Unit returns whom g protects.
func (g Guarantee) Unit() Unit { return g.unit }

// Promises reports whether g promises anything.
func (g Guarantee) Promises() bool { return g.promised }

// Equal reports whether both promise the same.
func (g Guarantee) Equal(other Guarantee) bool { return g == other }

// Epsilon returns Σε of the pure and approximate releases.
func (g Guarantee) Epsilon() float64 { return g.orInf(g.asked.Epsilon) }

// Delta returns Σδ.
func (g Guarantee) Delta() float64 {
	if !g.promised {
		return 1
	}
	return g.asked.Delta
}

// Rho returns Σρ of the zCDP releases.
func (g Guarantee) Rho() float64 { return g.orInf(g.asked.Rho) }

// Mu returns √(Σμ²) of the GDP releases, exactly for one.
func (g Guarantee) Mu() float64 { return g.orInf(account.MuOf(g.asked.MuSquares)) }

func (g Guarantee) orInf(x float64) float64 {
	if !g.promised {
		return math.Inf(1)
	}
	return x
}

// String says what is promised to whom, such as "ε = 1, δ = 1e-6 for one user, added or removed",
// and "(hardly any protection)" above ε = 20 or δ = .01.
func (g Guarantee) String() string {
	if !g.promised {
		return "no privacy promised"
	}
	var parts []string
	s := g.asked
	if s.Epsilon > 0 || s.Delta > 0 || s.Rho == 0 && s.MuSquares == 0 {
		parts = append(parts, "ε = "+number(s.Epsilon))
	}
	if s.Delta > 0 {
		parts = append(parts, "δ = "+number(s.Delta))
	}
	if s.Rho > 0 {
		parts = append(parts, "ρ = "+number(s.Rho)+" (zCDP)")
	}
	if s.MuSquares > 0 {
		parts = append(parts, "μ = "+number(g.Mu())+" (GDP)")
	}
	text := strings.Join(parts, ", ")
	if s.HardlyAny() {
		text += " (hardly any protection)"
	}
	if text += " for " + g.unit.String(); g.on != "" {
		text += ", if " + g.on.String() + ", as the caller promises"
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

func (c condition) String() string {
	subject, number, has := "each "+nouns[c.to], number(c.distance), " has at most "
	switch c.from {
	case l1:
		return subject + " moves the vector by at most " + number + " in ℓ₁"
	case l2:
		return subject + " moves the vector by at most " + number + " in ℓ₂"
	case user:
		has = " counts as at most "
	}
	return subject + has + plural(number, nouns[c.from], c.distance == 1)
}
