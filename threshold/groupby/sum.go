package groupby

import (
	"math"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// axis is how values are summed: in integer steps, so that no order matters, and then placed
// within [Min, Max].
type axis struct {
	least, most, middle, half float64 // [Min, Max], its centre and half its width
	step                      float64 // a power of 2, about 2⁻⁴⁰ of the larger end of the range
}

// mostSteps is where one value is cut off, at 2¹⁰ times the larger end or more. The values of a
// user in a key are added up in 64 bits that wrap around, so their sum depends on no order, and on
// no other user's rows. It is exact if it is below 2²² times the larger end: of 2¹² values that are
// cut off, or of 2²² within the range. Beyond, it is some number, which counts within [Min, Max].
const mostSteps = 1 << 51

// axis returns the axis of Min and Max.
func (p Params) axis() axis {
	_, exponent := math.Frexp(max(math.Abs(p.Min), math.Abs(p.Max)))
	return axis{p.Min, p.Max, p.Min/2 + p.Max/2, p.Max/2 - p.Min/2, math.Ldexp(1, exponent-41)}
}

// steps returns a value in steps, rounded; 0 for NaN.
func (a *axis) steps(value float64) int64 {
	if value != value {
		return 0
	}
	return int64(math.RoundToEven(min(max(value/a.step, -mostSteps), mostSteps)))
}

// row returns a row's value in steps. If the average of rows counts, each value is clamped to [Min,
// Max], so the sum of up to 2²² rows is exact.
func (a *axis) row(value float64, average bool) int64 {
	if average {
		value = min(max(value, a.least), a.most)
	}
	return a.steps(value)
}

// average returns a sum of steps over a number of rows, rounded. It is an integer operation on a
// user's own rows: no order of theirs, and nobody else's, matters.
func average(sum, rows int64) int64 {
	quotient, rest := sum/rows, sum%rows
	switch {
	case rest >= rows-rest:
		return quotient + 1
	case -rest >= rows+rest:
		return quotient - 1
	}
	return quotient
}

// averages replaces the sums of a user's values in each key by averages: rows has the numbers of
// values.
func (p *Params) averages(sums, rows []int64) {
	for n, rows := range rows {
		if !p.Values {
			sums[n] = average(sums[n], rows)
			continue
		}
		sums[2*n], sums[2*n+1] = ranges.Split(ranges.Join(sums[2*n], sums[2*n+1]) / float64(rows))
	}
}

// scaled returns x·z rounded towards 0, where z in [−1, 1] is the place of a sum of steps in [Min,
// Max] from its middle. The absolute value is at most x, whatever float64 rounds: x is an integer.
func (a *axis) scaled(x, steps int64) int64 {
	z := (min(max(float64(steps)*a.step, a.least), a.most) - a.middle) / a.half
	return int64(float64(x) * min(max(z, -1), 1))
}

// learn releases the values of the groups by a range that it learns, from what each user has in
// which groups, with noise of ratio 1/value.
func (g *Groups[K]) learn(users ranges.Users, value float64, noise func(scale float64) func() int64) {
	counts := make([]float64, len(g.groups))
	for i, e := range g.groups {
		counts[i] = g.noisy(e)
	}
	sums := ranges.Release(users, counts, value, g.params.TailIndex, noise)
	g.radius, g.lost, g.mostLost = sums.Radius, sums.Lost, sums.Most
	for i := range g.groups {
		g.groups[i].scale, g.groups[i].value = sums.Scales[i], sums.Values[i]
	}
}

// affine is where the values of a group can be: from middle − half to middle + half.
type affine struct {
	middle, half, sum float64 // sum is that of all z, noisy
	step              float64 // by which a z may be rounded
}

// affine returns the affine of a group.
func (g *Groups[K]) affine(e group[K]) affine {
	if g.params.Values {
		return affine{e.scale, e.scale * g.radius, float64(e.value) / ranges.Unit, 1. / ranges.Unit}
	}
	a := g.params.axis() // each user's z is rounded by a step, and so was the value before
	return affine{a.middle, a.half, float64(e.value) / unit, 1./unit + a.step/a.half}
}

// value returns the value at z, within the range where one is given.
func (g *Groups[K]) value(at affine, z float64) float64 {
	x := at.middle + z*at.half
	if g.params.Values {
		return x
	}
	return min(max(x, g.params.Min), g.params.Max)
}

// blind reports whether a range was to be learned, and was not.
func (g *Groups[K]) blind() bool { return g.params.Values && g.radius == 0 }

// Sum returns the estimated sum of the users' values in the key, each clamped to [Min, Max] or,
// with Values, clipped ([Groups.Radius]), with a third of [Groups.Lost] added back where that is
// more than noise.
func (g *Groups[K]) Sum(key K) float64 {
	e, found := g.find(key)
	if !found {
		return math.NaN()
	}
	return g.sum(e)
}

// sum returns the noisy sum of a group: what is summed is z, the place of a value in [−1, 1].
func (g *Groups[K]) sum(e group[K]) float64 {
	if !g.params.values() || g.blind() {
		return math.NaN()
	}
	at := g.affine(e)
	return at.middle*g.count(e) + at.half*(at.sum+g.addedBack(e))
}

// addedBack returns what a sum of z gets back of what was clipped: a third of the key's part of it,
// where that is more than noise. A third is nearer to the truth than nothing wherever the key lost
// a sixth of its part. More would be too much where users have many keys: they lose less than ‖z‖
// says.
func (g *Groups[K]) addedBack(e group[K]) float64 {
	if !g.params.Values || g.mostLost.StdDev == 0 || !(g.lost > g.mostLost.StdDev) {
		return 0
	}
	return g.lost / 3 / g.radius * max(g.count(e), 1) / g.all
}

// Mean returns the estimated mean of what [Groups.Sum] sums; NaN also if the count is not above 0.
func (g *Groups[K]) Mean(key K) float64 {
	e, found := g.find(key)
	if !found || !g.params.values() || g.blind() {
		return math.NaN()
	}
	n, at := g.count(e), g.affine(e)
	if !(n > 0) {
		return math.NaN()
	}
	return g.value(at, min(max(at.sum/n, -1), 1)+g.addedBack(e)/n)
}

// Radius returns the R to which Values are clipped. With z = v/scale − 1 for each value v, a user's
// vector of all z is clipped to ‖z‖₂ ≤ R, each |z| at one t.
func (g *Groups[K]) Radius() float64 {
	if !g.valid() || !g.params.Values {
		return math.NaN()
	}
	return g.radius
}

// Scale returns the unit of the key's Values: about their geometric mean, or that of all keys if it
// has too few users.
func (g *Groups[K]) Scale(key K) float64 {
	e, found := g.find(key)
	if !found || !g.params.Values {
		return math.NaN()
	}
	return e.scale
}

// Lost returns a rough estimate of how far clipping moved the key's Values, in total: its
// proportional part of the loss of all keys.
func (g *Groups[K]) Lost(key K) float64 {
	e, found := g.find(key)
	if !found || !g.params.Values || g.blind() {
		return math.NaN()
	}
	return e.scale * g.lost * max(g.count(e), 1) / g.all
}

// addUp sets g.all, after all other fields are set.
func (g *Groups[K]) addUp() {
	for _, e := range g.groups {
		if g.params.Values {
			g.all += max(g.count(e), 1)
		}
	}
}

// clippedPart is by how much a key's part of what clipping takes exceeds its part of the users at
// most, as intervals assume.
const clippedPart = 2

// clippedOf bounds what clipping took from Σz of a group, or gave to it, in units of the radius.
func (g *Groups[K]) clippedOf(e group[K]) ranges.Bound {
	switch {
	case !g.params.Values:
		return ranges.Bound{}
	case g.mostLost.StdDev == 0:
		return ranges.Bound{Mean: math.Inf(1)}
	}
	part := clippedPart * min((max(g.count(e), 1)+g.noises.count)/g.all, 1) / g.radius
	return ranges.Bound{Mean: part * g.mostLost.Mean, StdDev: part * g.mostLost.StdDev}
}

// SumInterval returns bounds on the true sum of the users' values in the key: with Min and Max of
// clamped values; with Values of all as they are, if two things hold that no release can see.
// Beyond the largest sizes that can be seen, users become fewer at least like a Pareto tail of
// index TailIndex, where a user's size is ‖v/scale − 1‖₂ over all keys; and of all that was clipped
// the key has at most twice its part of the users.
//
// Where the sizes thin out too slowly, both ends are infinite. If the key is not shown, or no range
// was learned, an end is infinite where values may lie.
func (g *Groups[K]) SumInterval(key K, confidence float64) (lo, hi float64) {
	if !g.counted() || !g.params.values() || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	least, most := min(g.params.Min, 0), max(g.params.Max, 0)
	e, found := g.find(key)
	if !found || g.blind() {
		if g.params.Values || least < 0 {
			least = math.Inf(-1)
		}
		if g.params.Values || most > 0 {
			most = math.Inf(1)
		}
		return least, most
	}
	alpha := 1 - confidence
	rounded, tail := g.rounded(e, alpha)
	at := g.affine(e)
	middle, half, clipped := at.middle, at.half, g.clippedOf(e)
	if g.params.Values { // users who are missing in the count are not missing in the sum of z
		least, most = 0, middle
	}
	// What is missing is between least and most times the shortfall, which has noise of its own.
	x, short := middle*g.noisy(e)+half*at.sum, float64(g.shortfall)/unit
	c := half*(rounded+clipped.Mean) + math.Abs(middle)*(g.noises.mix+1)/unit
	lo = x + least*short - tail(middle*g.noises.count, half*g.noises.value, least*g.noises.shortfall, half*clipped.StdDev) - c + least/unit - max(middle, 0)*g.roundedUp(alpha)
	hi = x + most*short + tail(middle*g.noises.count, half*g.noises.value, most*g.noises.shortfall, half*clipped.StdDev) + c + most/unit + max(-middle, 0)*g.roundedUp(alpha)
	return min(lo, g.sum(e)), max(hi, g.sum(e))
}

// MeanInterval returns bounds on the mean, as [Groups.SumInterval] on the sum: Min and Max for a
// key that is not shown; with Values infinite, and also if no range was learned or what was clipped
// has no bound.
func (g *Groups[K]) MeanInterval(key K, confidence float64) (lo, hi float64) {
	if !g.counted() || !g.params.values() || !check.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	e, found := g.find(key)
	switch {
	case g.params.Values && (!found || g.blind() || g.mostLost.StdDev == 0):
		return math.Inf(-1), math.Inf(1)
	case !found:
		return g.params.Min, g.params.Max
	}
	alpha := 1 - confidence
	rounded, tail := g.rounded(e, alpha)
	at, clipped := g.affine(e), g.clippedOf(e)
	short := float64(g.shortfall) / unit
	// highest returns the largest m that Σz may be in units of the number of users (Fieller): Σz −
	// m·n is within its noise of 0 for the true m, whatever that is. What is missing of it is at
	// most 1 − m times the shortfall, or with Values, where only the count misses it, −m times. As
	// a function of m this is convex, so it has one root where its ends have different signs.
	highest := func(sum float64) float64 {
		above := func(m float64) bool {
			missing := 1 - m
			if g.params.Values {
				missing = max(-m, 0)
			}
			x := sum - m*g.noisy(e) + missing*(short+1/unit) + max(m, 0)*g.roundedUp(alpha) + math.Abs(m)*(g.noises.mix+1)/unit + rounded + clipped.Mean
			return x+tail(g.noises.value, m*g.noises.count, missing*g.noises.shortfall, clipped.StdDev) >= 0
		}
		low, high := -1., 1.
		for g.params.Values && above(high) { // values as they are may lie beyond the radius
			if low, high = high, 2*high; high > 0x1p60 {
				return math.Inf(1)
			}
		}
		if above(high) {
			return high
		}
		for g.params.Values && low > -0x1p60 && !above(low) {
			low *= 2
		}
		return exact.LeastFloat(low, high, func(m float64) bool { return !above(m) })
	}
	lo, hi = g.value(at, -highest(-at.sum)), g.value(at, highest(at.sum))
	if mean := g.Mean(key); mean == mean {
		lo, hi = min(lo, mean), max(hi, mean)
	}
	return min(lo, hi), max(lo, hi)
}

// rounded returns by how much Σz of a group may be rounded, and what linear combinations of noises
// with given deviations exceed with probability at most alpha/2, less what it takes to know the
// number of users. The bound on that is about the noise whether or not it shows the key, so it
// holds for every key in particular.
func (g *Groups[K]) rounded(e group[K], alpha float64) (rounded float64, tail func(sds ...float64) float64) {
	few := alpha * 0x1p-10
	users := max(g.noisy(e)+g.reach(g.noises.count, few/2)+(g.noises.mix+1)/unit, 0)
	return (users + g.short(few/2) + 1) * g.affine(e).step, g.tail((alpha - 2*few) / 2)
}
