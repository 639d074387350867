package noise

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/exact"
)

// DiscreteLaplace is the two-sided geometric distribution, Pr[X = k] = tanh(1/(2b))·e^{−|k|/b}. Its
// variance is a little below 2b².
type DiscreteLaplace struct {
	integer[discreteLaplaceFormulas]
}

// NewDiscreteLaplace returns the distribution of scale b.
func NewDiscreteLaplace(scale float64) (DiscreteLaplace, error) {
	return made(discreteLaplace(scale), checkDiscrete("scale", scale))
}

// discreteLaplace is the only way to make one: shift is ln(2/(1+q)) to within 2⁻⁴⁹, q = e^{−1/b},
// of which SampleInt makes use.
func discreteLaplace(scale float64) DiscreteLaplace {
	return DiscreteLaplace{integer[discreteLaplaceFormulas]{discreteLaplaceFormulas{scale, -math.Log1p(math.Expm1(-1/scale) / 2)}}}
}

// Scale returns b.
func (d DiscreteLaplace) Scale() float64 { return d.formulas.scale }

// SampleInt draws X.
func (d DiscreteLaplace) SampleInt(src *Source) int64 {
	// the quick path (see laplace.go): quickFloor in one piece
	if src.state == nil || !(d.formulas.valid() && d.formulas.scale < 0x1p20) {
		return d.exactInt(src)
	}
	st := *src.state
	offset := bufferBytes - uint(st.left)
	if offset > bufferBytes-8 {
		return d.exactInt(src)
	}
	word := st.buf[offset : offset+8 : offset+8]
	w := binary.NativeEndian.Uint64(word)
	if w < leastQuick {
		return d.exactInt(src)
	}
	t, err := d.formulas.scale*(quickLog(w&^3)+d.formulas.shift), d.formulas.scale*quickMargin
	k := int64(t - err)
	if k != int64(t+err) {
		return d.exactInt(src)
	}
	st.left -= 8
	binary.NativeEndian.PutUint64(word, 0)
	return withSign(k, w)
}

// exactInt is SampleInt without the quick path.
func (d DiscreteLaplace) exactInt(src *Source) int64 {
	if !d.formulas.valid() {
		return unbuiltInt(src)
	}
	if d.formulas.scale < 0x1p20 {
		return twoSided(src, d.formulas.scale, d.formulas.shift)
	}
	for {
		// 0 comes with either sign: keep it half the time.
		if k, coins := geometric(src, d.formulas.scale); k != 0 || coins&2 != 0 {
			return withSign(k, coins)
		}
	}
}

// Sample draws X, NaN unless b ≤ 2⁴⁶·max(step, 1).
func (d DiscreteLaplace) Sample(src *Source, step float64) float64 {
	if !integerGrid(d.formulas.scale, step) {
		return math.NaN()
	}
	return roundInt(d.SampleInt(src), step)
}

func (d DiscreteLaplace) draws(step float64) bool { return integerGrid(d.formulas.scale, step) }

// twoSided draws from the discrete Laplace distribution of scale b < 2²⁰ without rejection,
// exactly.
//
// With q = e^{−1/b}, Pr[|K| ≥ n] = 2qⁿ/(1+q) for n ≥ 1, and for n = 0 that is at least 1. So |K| is
// the largest n ≥ 0 with U < 2qⁿ/(1+q), which is ⌊b·(−ln U + shift)⌋, shift = ln(2/(1+q)) ≥ 0, and
// its sign is a fair coin, which does nothing to 0.
func twoSided(src *Source, b, shift float64) int64 {
	w := src.Uint64() // U without the last two digits; the last is the coin
	if b < negligible {
		return 0
	}
	if k, decided := quickFloor(w, b, shift); decided {
		return withSign(k, w)
	}
	if k, decided := floorLog(w, b, shift); decided {
		return withSign(k, w)
	}
	return withSign(twoSidedExact(src, newLazy(w>>2, 62), b), w)
}

// twoSidedExact returns the largest n ≥ 0 with U < 2qⁿ/(1+q).
func twoSidedExact(src *Source, uniform *lazy, b float64) int64 {
	return exact.LeastInt(1, func(n int64) bool { return !uniform.belowTwoSided(src, n, b) }) - 1
}

// belowTwoSided decides U·(1+q) < 2qⁿ.
func (l *lazy) belowTwoSided(src *Source, n int64, b float64) bool {
	return settle(src, func() (bool, bool) { return l.compareTwoSided(n, b) }, l)
}

// compareTwoSided compares U·(1+q) with 2qⁿ.
func (l *lazy) compareTwoSided(n int64, b float64) (below, decided bool) {
	const guard = 64
	prec := l.bits + guard
	one, q, power := exact.One(prec), exact.ExpNeg(ratio(1, b), prec), exact.ExpNeg(ratio(n, b), prec)
	// In units of 2^−(prec + bits).
	least := new(big.Int).Add(one, q.Lo)
	if least.Mul(least, l.n).Cmp(new(big.Int).Lsh(power.Hi, l.bits+1)) >= 0 {
		return false, true
	}
	most := new(big.Int).Add(l.n, big.NewInt(1))
	most.Mul(most, one.Add(one, q.Hi))
	return true, most.Cmp(new(big.Int).Lsh(power.Lo, l.bits+1)) <= 0
}

// discreteLaplaceFormulas are those of a DiscreteLaplace.
type discreteLaplaceFormulas struct{ scale, shift float64 }

func (d discreteLaplaceFormulas) valid() bool { return d.scale > 0 }

// decay returns q = e^{−1/b}, the ratio of neighbouring masses.
func (d discreteLaplaceFormulas) decay() float64 { return expNeg(divide(1, d.scale)) }

// atLeast returns Pr[X ≥ k] = e^{−k/b}/(1+q) for an integer k ≥ 1.
func (d discreteLaplaceFormulas) atLeast(k float64) float64 {
	return expNeg(divide(k, d.scale)) / (1 + d.decay())
}

// over returns Pr[X > j] = e^{−j/b}·q/(1+q) for an integer j ≥ 0.
func (d discreteLaplaceFormulas) over(j float64) float64 {
	q := d.decay()
	return expNeg(divide(j, d.scale)) * (q / (1 + q))
}

func (d discreteLaplaceFormulas) atMost(j float64) float64 {
	if j < 0 {
		return d.atLeast(-j)
	}
	return 1 - d.over(j)
}

func (d discreteLaplaceFormulas) above(j float64) float64 {
	if j < 0 {
		return 1 - d.atLeast(-j)
	}
	return d.over(j)
}

func (d discreteLaplaceFormulas) logAbove(j float64) float64 {
	if j < 0 {
		return math.Log1p(-d.atLeast(-j))
	}
	return -(j+1)/d.scale - math.Log1p(d.decay())
}

func (d discreteLaplaceFormulas) quantile(p float64) float64 {
	// With n = −k, Pr[X ≤ k] = e^{−n/b}/(1+q) for n ≥ 1: a guess that is off by rounding only.
	tail := d.scale * (exact.Log(min(p, 1-p)) + math.Log1p(d.decay()))
	if p <= 0.5 {
		return settleQuantile(math.Ceil(min(tail, 0)), p, d)
	}
	return settleQuantile(math.Ceil(max(-tail-1, 0)), p, d)
}

func (d discreteLaplaceFormulas) mean() float64 { return 0 }

func (d discreteLaplaceFormulas) variance() float64 {
	h := 1 / math.Sinh(0.5/d.scale)
	return h * h / 2
}

func (d discreteLaplaceFormulas) meanAbs() float64 { return 1 / math.Sinh(1/d.scale) }

func (d discreteLaplaceFormulas) mass(j float64) float64 {
	return expNeg(divide(math.Abs(j), d.scale)) * math.Tanh(0.5/d.scale)
}

func (d discreteLaplaceFormulas) logMass(j float64) float64 {
	return -math.Abs(j)/d.scale + math.Log(math.Tanh(0.5/d.scale))
}

// SampleTail draws X and returns it if X ≥ least, else 0 and false, cheaply where Pr[X ≥ least] is
// small.
func (d DiscreteLaplace) SampleTail(src *Source, least int64) (x int64, ok bool) {
	// For least ≥ 1, Pr[X ≥ least] = e^{−least/b}/(1+q), q = e^{−1/b}; given that, X − least is
	// geometric. Both factors are decided exactly.
	if least <= 0 || float64(least) < 1.5*d.formulas.scale || !d.formulas.valid() {
		// likely, or not built
		if x = d.SampleInt(src); x < least {
			return 0, false
		}
		return x, true
	}
	w := src.Uint64()
	if beyondExp(w, float64(least), d.formulas.scale) || !d.reaches(src, w, least) {
		return 0, false
	}
	excess, _ := geometric(src, d.formulas.scale)
	if excess > math.MaxInt64-least { // where the mass left is below e^{−8192}
		return math.MaxInt64, true
	}
	return least + excess, true
}

// beyondExp reports U ≥ e^{−n/b} for U in [w, w+1)/2⁶⁴ where the leading zeros of w tell: with z of
// them, w ≠ 0, U ≥ 2^−(z+1), and that is at least e^{−n/b} if (z+1)·ln 2 ≤ n/b. aboveLn2 exceeds ln
// 2 by a relative 7e-5, which covers the roundings, of n and of two products.
func beyondExp(w uint64, n, b float64) bool {
	const aboveLn2 = 0.6932
	return aboveLn2*float64(bits.LeadingZeros64(w)+1)*b <= n && w != 0
}

// reaches returns true with probability Pr[X ≥ least], least ≥ 1, where w is the first word that it
// draws.
func (d DiscreteLaplace) reaches(src *Source, w uint64, least int64) bool {
	below, decided := compareExp64(float64(w>>11)*0x1p-53, float64(least)/d.formulas.scale)
	if !decided {
		below = newLazy(w, 64).belowExp(src, ratio(least, d.formulas.scale))
	}
	return below && bernoulliHalf(src, d.formulas.scale)
}

// bernoulliHalf returns true with probability exactly 1/(1+q), q = e^{−1/b}: p = ½ + ½·(1−q)·p.
func bernoulliHalf(src *Source, b float64) bool {
	for src.Uint64()&1 == 0 {
		if bernoulliExp(src, 1/b, func() *big.Rat { return ratio(1, b) }) {
			return false
		}
	}
	return true
}

// CountTail returns the number of X ≥ least among draws independent X, exactly, in time
// proportional to 1 + that number (of X < least if least ≤ 0). Each X ≥ least ≥ 1 is independent:
// least plus a [Geometric] draw of the same scale.
func (d DiscreteLaplace) CountTail(src *Source, draws uint64, least int64) uint64 {
	switch {
	case least <= -math.MaxInt64: // no int64 draw is less
		return draws
	case !d.formulas.valid():
		return unbuiltCount(src, draws, 1<<63-uint64(least), 0)
	case least <= 0: // Pr[X ≥ −n] = 1 − Pr[X ≥ n+1]
		return draws - d.CountTail(src, draws, 1-least)
	case draws == 0:
		return 0
	}
	// The draws are split into blocks in each of which blockMean are expected, and the count of a
	// block is the inverse of its cumulative mass at a uniform U: in float64 unless U is within
	// blockMargin of a step, then by intervals of integers.
	c := block{d: d, least: least, p: d.formulas.atLeast(float64(least))}
	return c.count(src, draws)
}

// CountTails is [DiscreteLaplace.CountTail] for |X| ≥ least.
func (d DiscreteLaplace) CountTails(src *Source, draws uint64, least int64) uint64 {
	switch {
	case least <= 0:
		return draws
	case draws == 0:
		return 0
	case !d.formulas.valid():
		// 2⁶³ − least + 1 negative ones, 2⁶³ − least positive
		return unbuiltCount(src, draws, 1-2*uint64(least), 0)
	}
	c := block{d: d, least: least, p: 2 * d.formulas.atLeast(float64(least)), tails: 1}
	if c.p <= 0.5 {
		return c.count(src, draws)
	}
	// at least half of all draws, so a loop over them is no longer than the count
	count := uint64(0)
	for range draws {
		if x := d.SampleInt(src); x >= least || x <= -least {
			count++
		}
	}
	return count
}

// CountLayer is [DiscreteLaplace.CountTail] among draws known to be less than below (math.MaxInt64:
// no bound); a least below 1 counts as 1. Each X in a layer is independent: least plus a
// [Geometric] draw of the same scale modulo below − least.
func (d DiscreteLaplace) CountLayer(src *Source, draws uint64, least, below int64) uint64 {
	// p = (G(least) − G(below))/(1 − G(below)), G(n) = Pr[X ≥ n]. Pr ∝ q^j for j below below −
	// least, and the sum of q^{j+i·(below−least)} over all i ≥ 0 is proportional to q^j.
	least = max(least, 1)
	switch {
	case below == math.MaxInt64:
		return d.CountTail(src, draws, least)
	case draws == 0 || least >= below:
		return 0
	case !d.formulas.valid():
		return unbuiltCount(src, draws, uint64(below-least), 1<<63+uint64(below))
	}
	c := block{d: d, least: least, below: below, p: d.layerProb(least, below)}
	return c.count(src, draws)
}

// count draws a binomial count, block by block. p is at most ½.
func (c *block) count(src *Source, draws uint64) uint64 {
	size := draws
	if most := blockMean / c.p; most < float64(draws) {
		size = uint64(most)
	}
	count := uint64(0)
	c.tabulate(size)
	for range draws / size {
		count += c.sample(src)
	}
	if rest := draws % size; rest > 0 {
		c.tabulate(rest)
		count += c.sample(src)
	}
	return count
}

// blockMean is the largest expected count of a block. The mass of 0 is then at least 2⁻⁶⁴, that of
// 64 draws with p = ½.
//
// blockMargin bounds the error of the float64 side of the comparison of U with a cumulative mass
// F(n), n < blockReach. Let p̃ = p·(1+e) be the float64 value of p, x = least/b, λ = size·p ≤
// blockMean, u = 2⁻⁵³.
//
//   - least as a float64 moves x by u·x at most; the exponentials, sum and quotient of atLeast add
//     6.5u. So |e| ≤ (x+7)·u. As dF(n)/dp = −size·Pr[Bin(size−1, p) = n], F moves by at most λ·|e|.
//     λ ≤ min(32, 2⁶⁴·e^{−x}), so λ·(x+7) < 32·49 at x = ln(2⁶⁴/32) < 41 and it falls from there:
//     2⁻⁴²·0.77. (Where p̃ is denormal or 0, x > 708 and λ < 2⁻⁹⁰⁰.)
//   - (1−p̃)^size = e^{−y}, y ≤ 64·ln 2 < 44.4: Log1p to 2u, size and the product each to u, the
//     exponential to 2u: 180u = 2⁻⁴²·0.09.
//   - Each further mass has 7 roundings, those of the quotient p̃/(1−p̃) among them, so mass n has
//     7nu; summed with the masses as weights, 7·32u. The sums have u each, at most 128u: together
//     352u = 2⁻⁴²·0.18.
//   - U is within u of its leading 53 digits, and the two comparisons round by u: 4u.
//
// Both tails double p and p̃, and move x by ln 2 < 1 at the same λ. In all below 2⁻⁴²·1.1, against
// 2⁻⁴⁰. With λ ≤ 32, F(127) > 1 − e^{−81} by Chernoff's bound, so the table always ends within
// reach.
const (
	blockMean   = 32
	blockMargin = 0x1p-40
	blockReach  = 128
)

// block is the binomial distribution of the number of X ≥ least among size draws; of |X| ≥ least,
// if tails is 1; of draws that are known to be less than below, if that is not 0.
type block struct {
	d     DiscreteLaplace
	least int64
	below int64
	tails uint // log₂ of how many tails count
	// their mass, Pr[X ≥ least] as atLeast has it times 1 or 2, or as layerProb has it
	p    float64
	size uint64
	// about the mean, and the first n whose cumulative mass is all but 1
	start, last int
	cumulative  [blockReach]float64 // F(n) = Pr[count ≤ n] up to last, within blockMargin
}

// tabulate sets size and F.
func (c *block) tabulate(size uint64) {
	mass := math.Exp(float64(size) * math.Log1p(-c.p))
	odds := c.p / (1 - c.p)
	n, sum := 0, mass
	c.cumulative[0] = sum
	for sum < 1-blockMargin && n < blockReach-1 {
		mass *= float64(size-uint64(n)) / float64(n+1) * odds
		n++
		sum += mass
		c.cumulative[n] = sum
	}
	c.size, c.last = size, n
	c.start = min(int(c.p*float64(size)), n)
}

// sample draws the count.
func (c *block) sample(src *Source) uint64 {
	w := src.Uint64()
	if n, decided := c.invert(w); decided {
		return n
	}
	return c.invertExact(src, newLazy(w, 64))
}

// invert returns the least n with U < F(n), for U in [w, w+1)/2⁶⁴, if float64 decides it.
func (c *block) invert(w uint64) (n uint64, decided bool) {
	u := float64(w>>11) * 0x1p-53
	guess := c.start
	for guess > 0 && c.cumulative[guess-1] >= u-blockMargin {
		guess--
	}
	for guess < c.last && c.cumulative[guess] < u-blockMargin {
		guess++
	}
	// U > F(n−1) for all it is known, and U < F(n) remains to be seen.
	return uint64(guess), u+blockMargin < c.cumulative[guess]
}

// invertExact returns the least n with U < F(n), refining U as far as that needs.
func (c *block) invertExact(src *Source, uniform *lazy) uint64 {
	return settle(src, func() (uint64, bool) { return c.invertBounds(uniform) }, uniform)
}

// invertBounds is invertExact for what is known of U.
//
// All reals are between integers lo and hi in units of 2^−prec, products and quotients of the lower
// ends rounded down and of the upper ends up, so nothing is assumed of the width; 64 bits more than
// the guard pay for the factors up to size.
func (c *block) invertBounds(uniform *lazy) (n uint64, decided bool) {
	const guard = 64 + 64
	prec := uniform.bits + guard
	p := c.massBounds(prec)
	rest := exact.Unit(prec).Sub(p)
	odds := p.Quo(rest, prec)
	mass := rest.Pow(c.size, prec)
	cumulative := mass

	least := new(big.Int).Lsh(uniform.n, guard)
	most := new(big.Int).Add(least, exact.One(guard))
	for ; n < c.size; n++ {
		if most.Cmp(cumulative.Lo) <= 0 {
			return n, true
		}
		if least.Cmp(cumulative.Hi) < 0 {
			return 0, false
		}
		mass = mass.Mul(odds, prec).Scale(c.size-n, n+1)
		cumulative = cumulative.Add(mass)
	}
	return n, true // F(size) = 1
}

// massBounds returns what p is a float64 of.
func (c *block) massBounds(prec uint) exact.Interval {
	if c.below != 0 {
		return c.d.layerProbBounds(c.least, c.below, prec)
	}
	p := c.d.atLeastBounds(c.least, prec)
	p.Lo.Lsh(p.Lo, c.tails)
	p.Hi.Lsh(p.Hi, c.tails)
	return p
}

// atLeastBounds returns Pr[X ≥ least] = e^{−least/b}/(1+q) for least ≥ 1.
func (d DiscreteLaplace) atLeastBounds(least int64, prec uint) exact.Interval {
	q := exact.ExpNeg(ratio(1, d.formulas.scale), prec)
	return exact.ExpNeg(ratio(least, d.formulas.scale), prec).Quo(exact.Unit(prec).Add(q), prec)
}

// layerProb returns p = Pr[X ≥ least | X < below] for 1 ≤ least < below.
//
// (g − h)/(1 − h) ≤ g for 0 ≤ h ≤ g ≤ 1, so p ≤ G(least) ≤ G(1) = q/(1+q) < ½, as the blocks of
// CountTail want it. Their proof at [blockMargin] holds with (x+21)·u in the place of (x+7)·u for
// the error of p̃ = G(least)·(1 − q^r)/(1 − G(below)), r = below − least, as computed here:
//
//   - G(least) has (x+7)·u, x = least/b.
//   - y = r/b has two roundings, which move 1 − e^{−y} by a relative 2u·y/(e^y−1) ≤ 2u, and Expm1
//     adds 2u.
//   - G(below), y = below/b ≥ 2/b, is off by (y+7)·u·e^{−y}/(1+e^{−y/2}) at most, which is largest
//     at y = 0: 3.5u. 1 − G(below) > ½, so that is 7u, and u of the difference.
//   - The product and the quotient have u each.
//
// λ ≤ size·G(least) as before, so λ·(x+21) < 32·62: F moves by 2⁻⁴²·0.97, and all together stays
// below 2⁻⁴²·1.3, against 2⁻⁴⁰. (Where G(least), or p̃ for an r/b ≥ 2⁻⁵⁰, is denormal or 0, x > 670
// and λ < 2⁻⁹⁰⁰.)
func (d DiscreteLaplace) layerProb(least, below int64) float64 {
	inside := -math.Expm1(-float64(below-least) / d.formulas.scale)
	return d.formulas.atLeast(float64(least)) * inside / (1 - d.formulas.atLeast(float64(below)))
}

// layerProbBounds returns what layerProb is a float64 of.
func (d DiscreteLaplace) layerProbBounds(least, below int64, prec uint) exact.Interval {
	from, beyond := d.atLeastBounds(least, prec), d.atLeastBounds(below, prec)
	return from.Sub(beyond).Quo(exact.Unit(prec).Sub(beyond), prec)
}
