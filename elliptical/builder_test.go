package elliptical

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/cryptotest"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// peek returns what a Builder holds.
func peek(b *Builder) *state {
	s := private.Enter(b.secret)
	private.Leave(b.secret)
	return s
}

// small returns the integers as int64, which they fit into in the tests that ask.
func small(t testing.TB, totals []exact.Int128) []int64 {
	all := make([]int64, len(totals))
	for i, x := range totals {
		if all[i] = int64(x.Lo); x != exact.Int128Of(all[i]) {
			t.Fatalf("%v has more than 64 bits", x)
		}
	}
	return all
}

// hostile returns a value of the kind that breaks sums: ends of the interval, near halves of the
// grid, huge, tiny, NaN, infinite.
func hostile(rng *rand.Rand, c coordinate, low, width float64) float64 {
	switch rng.IntN(9) {
	case 0:
		return low
	case 1:
		return low + width
	case 2:
		return (float64(c.low+rng.Int64N(c.high-c.low+1)) + 0.5) * c.step
	case 3:
		return math.Nextafter((float64(c.low+rng.Int64N(c.high-c.low+1))+0.5)*c.step, math.Inf(-1))
	case 4:
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, -5e-324}[rng.IntN(7)]
	case 5:
		return math.Copysign(0, -1)
	}
	return low + width*rng.Float64()
}

// propertySettings are Params at full size and with odd grids.
func propertySettings() []Params {
	return []Params{
		{Min: VectorOf(-2, -0.5, -0.05), Max: VectorOf(2, 0.5, 0.05), Rho: 1},
		{Min: VectorOf(-0.05, -5e-10, -5e+19), Max: VectorOf(0.05, 5e-10, 5e+19), Rho: 1e-6, Weights: VectorOf(0.1, 1e-9, 1e20)},
		{Min: VectorOf(0.05, -0.3, 100000), Max: VectorOf(0.15, 0.4, 100003), Epsilon: 1},
		{Min: VectorOf(-0.05, -0.35, -1.5), Max: VectorOf(0.05, 0.35, 1.5), Relation: budget.AddRemove, Epsilon: 1, Delta: 1e-9},
		{Min: VectorOf(0.05, -0.3, 100000), Max: VectorOf(0.15, 0.4, 100003), Relation: budget.AddRemove, Rho: 1},
		{Min: VectorOf(-0.3, -0.6, -100000), Max: VectorOf(-0.2, 0.1, -99997), Relation: budget.AddRemove, Rho: 1},
		{Min: VectorOf(0.05, -0.3, 100000), Max: VectorOf(0.15, 0.4, 100003), Relation: budget.AddRemove, Rho: 1, Count: true},
		{Min: VectorOf(0.05, -0.3, -1), Max: VectorOf(0.15, 0.4, 2), Relation: budget.AddRemove, Epsilon: 1e-6, Count: true},
		{Min: VectorOf(0.05, -0.3, 100000), Max: VectorOf(0.15, 0.4, 100003), Relation: budget.Replace, Rho: 1},
		{Min: VectorOf(-0.05, -0.3, -100000), Max: VectorOf(0.15, -0.1, -99997), Relation: budget.Replace, Epsilon: 1},
	}
}

// build returns the totals of the rows, each added dense or sparse.
func build(t *testing.T, m *Mechanism, rows [][]float64, sparse bool) []int64 {
	b := m.builder()
	for _, row := range rows {
		if sparse {
			b.AddSparse([]int{2, -1, 1, 0, 2, 3, 1}, []float64{row[2], 9, row[1], row[0], 0, 5, math.NaN()})
		} else {
			b.Add(row)
		}
	}
	return small(t, peek(b).totals())
}

// requireWithin checks that totals of neighbours differ by what the calibration counts on.
func requireWithin(t *testing.T, m *Mechanism, a, b []int64) {
	for i, c := range m.noise.coordinates {
		d := a[i] - b[i]
		require.LessOrEqual(t, max(d, -d), c.change(m.params.replace()), "coordinate %d of %v", i, m.params)
	}
}

// The sensitivity on the grid, on adversarial rows: whatever rows there are, one more or another
// one changes totals by what is calibrated for, dense and sparse alike.
func TestSensitivityOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4)) // test data
	for _, p := range propertySettings() {
		m := dptest.OK(New(p))(t)
		row := func() []float64 {
			r := make([]float64, 3)
			for i := range r {
				r[i] = hostile(rng, m.noise.coordinates[i], m.params.Min.At(i), m.params.interval(i).width())
			}
			return r
		}
		for range 400 {
			rows := [][]float64{row(), row(), row()}
			other := [][]float64{rows[0], rows[1], row()}
			if m.params.Relation == budget.AddRemove {
				other = rows[:2]
			}
			dense, sparse := build(t, m, rows, false), build(t, m, rows, true)
			requireWithin(t, m, dense, build(t, m, other, false))
			requireWithin(t, m, sparse, build(t, m, other, true))
			for _, row := range rows {
				for i, x := range row {
					if x != x {
						row[i] = 0 // what no entry of a sparse row is
					}
				}
			}
			require.Equal(t, build(t, m, rows, false), sparse, "sparse rows")
		}
	}
}

// A value that is NaN is missing: the mean of those that are there is what Add says, however the
// number of rows is known.
func TestMeanOfTheValuesThatAreThere(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	p := Params{Min: VectorOf(18, 0), Max: VectorOf(100, 1), Rho: 1000}
	count, replaced := p, p
	count.Count, replaced.Relation = true, budget.Replace
	for _, p := range []Params{p, count, replaced} {
		b := dptest.OK(NewBuilder(p))(t)
		for j := range 5000 {
			b.Add([]float64{math.NaN(), 0})
			b.Add([]float64{30 + float64(j%21), 1}) // 40 on average
		}
		s, mean := dptest.OK(b.Release())(t), 0.0
		switch {
		case p.Count:
			mean = 59 + (s.Mean(0)-59)/s.Mean(1)
		case p.Relation == budget.Replace:
			mean = 59 + (s.Estimate(0)/10000-59)/(s.Estimate(1)/10000)
		default:
			mean = s.Estimate(0) / s.Estimate(1)
		}
		require.InDelta(t, 40, mean, 0.3, "%v", p)
	}
}

// Values of one index in a sparse row are added before anything is clamped, wherever they stand and
// in whatever order, however many there are, and NaN is no entry. (The first once counted alone.)
func TestRepeatedIndicesAreAdded(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	rng := rand.New(rand.NewPCG(7, 8)) // test data
	for _, p := range append(propertySettings(), Params{NormBound: 3, Dim: 3, Rho: 1}, Params{Ellipsoid: VectorOf(4, 1, 3, 0.5, 0, 2), Rho: 1}) {
		m := dptest.OK(New(p))(t)
		for range 100 {
			one, parts, shuffled := m.builder(), m.builder(), m.builder()
			for range 3 {
				var indices []int
				var values []float64
				all := make([][]float64, 3)
				for range rng.IntN(12) {
					i := rng.IntN(5) - 1
					x := []float64{rng.NormFloat64(), 1e5 * rng.NormFloat64(), nan, 0, 1e300, -1e300, inf}[rng.IntN(7)]
					if indices, values = append(indices, i), append(values, x); x == x && i >= 0 && i < 3 {
						all[i] = append(all[i], x)
					}
				}
				parts.AddSparse(indices, values)
				rng.Shuffle(len(indices), func(i, j int) {
					indices[i], indices[j], values[i], values[j] = indices[j], indices[i], values[j], values[i]
				})
				shuffled.AddSparse(indices, values)
				indices, values = indices[:0], values[:0]
				for i, list := range all {
					slices.Sort(list)
					sum := 0.0
					for _, x := range list {
						sum += x
					}
					indices, values = append(indices, i), append(values, sum)
				}
				one.AddSparse(indices, values)
			}
			require.Equal(t, peek(one).totals(), peek(parts).totals(), "%v", p)
			require.Equal(t, peek(one).totals(), peek(shuffled).totals(), "%v", p)
		}
	}
	b := dptest.OK(New(Params{Min: VectorOf(-1, -1), Max: VectorOf(1, 1), Rho: 1}))(t).builder()
	b.AddSparse([]int{0, 0, 0, 1, 1}, []float64{5, -5, 0.25, 7, 7})
	totals, step := peek(b).totals(), peek(b).mechanism.noise.coordinates[0].step
	require.Equal(t, []float64{0.25, 1}, []float64{totals[0].Float64() * step, totals[1].Float64() * step})
}

// Sums are exact for any number of rows, dense and sparse, in Builders that are merged, and where
// they move to 128 bits, before which they fit into 64.
func TestSumsAreExact(t *testing.T) {
	require.LessOrEqual(t, float64(flushRows)*0x1p40, 0x1p62)
	rng := rand.New(rand.NewPCG(5, 6)) // test data
	for _, p := range propertySettings() {
		m := dptest.OK(New(p))(t)
		sums, rows := make([]*big.Int, 3), int64(0)
		for i := range sums {
			sums[i] = new(big.Int)
		}
		var b *Builder
		for part := range 3 {
			next := dptest.OK(NewBuilder(p))(t)
			s := peek(next)
			// rows that came before, and filled the sums
			s.recent, s.rows = flushRows-rng.IntN(6), 1<<60
			rows += s.rows
			for i := range s.sums {
				c := m.noise.coordinates[i]
				require.Less(t, max(c.high, -c.low), int64(1<<38))
				s.sums[i] = (rng.Int64N(2)*2 - 1) << 60
				sums[i].Add(sums[i], big.NewInt(s.sums[i]))
			}
			for range 20 {
				row := make([]float64, 3)
				for i, c := range m.noise.coordinates[:3] {
					row[i] = hostile(rng, c, m.params.Min.At(i), m.params.interval(i).width())
				}
				rows++
				dense := rng.IntN(2) == 0
				if dense {
					next.Add(row)
				} else {
					next.AddSparse([]int{1, 7, 1}, row)
					for i, x := range row {
						if x != x {
							row[i] = 0
						}
					}
					row[0], row[1], row[2] = 0, row[0]+row[2], 0
				}
				for i, c := range m.noise.coordinates[:3] {
					entry := c.entry(row[i])
					if dense && row[i] != row[i] {
						lane := c.lane()
						entry = int64(lane.outside(row[i], s.middle))
					}
					sums[i].Add(sums[i], big.NewInt(entry))
				}
			}
			require.LessOrEqual(t, s.recent, 20)
			if part == 0 {
				b = next
			} else {
				require.NoError(t, b.Merge(next))
			}
		}
		for i, got := range peek(b).totals()[:3] {
			want := sums[i].Sub(sums[i], new(big.Int).Mul(big.NewInt(rows), big.NewInt(m.noise.coordinates[i].centre)))
			require.Zero(t, want.Cmp(got.Big()))
		}
	}
}

// An entry is the integer next to the value, within the interval, on all paths. NaN is the middle,
// which is the centre with Count, or adds nothing.
func TestEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20)) // test data
	for _, p := range propertySettings() {
		m := dptest.OK(New(p))(t)
		for i, c := range m.noise.coordinates[:3] {
			for range dptest.Full(20_000, 500) {
				x := hostile(rng, c, m.params.Min.At(i), m.params.interval(i).width())
				want := int64(math.RoundToEven(min(max(x/c.step, float64(c.low)), float64(c.high))))
				switch {
				case x == x:
					require.Equal(t, want, c.entry(x))
				case p.Count:
					want = c.centre
				case m.params.Relation == budget.Replace:
					want = int64(math.Floor(float64(c.low+c.high) / 2))
				default:
					want = 0
				}
				sum := []int64{5}
				addLanes(sum, []lane{c.lane()}, []float64{x}, peek(m.builder()).middle)
				require.Equal(t, want+5, sum[0])
			}
		}
	}
}

// Ready sums: neighbours as the relation has them, at halves of the grid too, stay within the
// calibrated change. With halves rounded away from 0, as math.Round does, they would not.
func TestSensitivityOfReadySums(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8)) // test data
	broken := false
	for range dptest.Full(20_000, 5000) {
		c := coordinate{step: 0x1p-3, low: -4, high: 4}
		x := (float64(rng.IntN(81)-40) / 2) * c.step // multiples of half a step
		y := x + float64(c.high-c.low)*c.step*rng.Float64()
		if rng.IntN(2) == 0 {
			y = x + float64(c.high-c.low)*c.step
		}
		d := small(t, []exact.Int128{c.steps(y).Minus(c.steps(x))})[0]
		require.LessOrEqual(t, max(d, -d), c.change(true))
		broken = broken || math.Abs(math.Round(y/c.step)-math.Round(x/c.step)) > float64(c.high-c.low)
	}
	require.True(t, broken, "the control must break")
	c := coordinate{step: 1}
	require.Equal(t, exact.Int128Of(0), c.steps(math.Nextafter(0.5, 0)))
	require.Equal(t, exact.Int128Of(0), c.steps(-0.5))
	require.Equal(t, exact.Int128Of(0), c.steps(-5e-324))
	require.Equal(t, 0x1p110, c.steps(math.Inf(1)).Float64())
	require.Equal(t, -0x1p110, c.steps(math.Inf(-1)).Float64())
	require.Equal(t, exact.Int128Of(0), c.steps(math.NaN()))
	require.Equal(t, exact.Int128Of(1<<51+1), c.steps(0x1p51+0.5))
	require.Equal(t, exact.Int128Of(1<<52+1), c.steps(0x1p52+1))
	require.Equal(t, exact.Int128Of(1<<53+2), c.steps(0x1p53+2))
}

// Ready sums with a count that are near and beyond saturation, in an interval far from 0: were a
// sum to saturate before n·centre is taken away, a row more would move the deviations by the
// centre. The result is the exact one, clamped.
func TestDeviationIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18)) // test data
	most, _ := big.NewFloat(maxTotal).Int(nil)
	clamp := func(x *big.Int) string {
		if x.CmpAbs(most) > 0 {
			return new(big.Int).Mul(most, big.NewInt(int64(x.Sign()))).String()
		}
		return x.String()
	}
	came := 0
	for range dptest.Full(20_000, 5000) {
		c := coordinate{step: 0x1p-3, low: 1<<36 - 4, high: 1<<36 + 4, centre: 1 << 36}
		if rng.IntN(2) == 0 {
			c.low, c.high, c.centre = -c.high, -c.low, -c.centre
		}
		n := rng.Int64N(1 << (1 + rng.IntN(53)))
		near := new(big.Int).Mul(big.NewInt(n), big.NewInt(c.centre)) // of a sum of n rows
		near.Add(near, new(big.Int).Lsh(big.NewInt(rng.Int64()-1<<62), uint(rng.IntN(40))))
		y, _ := new(big.Float).SetInt(near).Float64()
		if rng.IntN(8) == 0 {
			y = math.Ldexp(rng.NormFloat64(), 85+rng.IntN(400))
		}
		x := math.Floor(y) * c.step
		truth, _ := big.NewFloat(x / c.step).Int(nil)
		truth.Sub(truth, new(big.Int).Mul(big.NewInt(n), big.NewInt(c.centre)))
		require.Equal(t, clamp(truth), c.deviation(x, n).Big().String())
		if math.Abs(c.deviation(x, n).Float64()) == maxTotal {
			came++
		}
	}
	require.Greater(t, came, dptest.Full(1000, 250), "sums that saturate")
	far := coordinate{step: 1, low: 1 << 36, high: 1<<36 + 2, centre: 1<<36 + 1}
	for _, n := range []int64{0, 1, maxRows} {
		require.Equal(t, maxTotal, far.deviation(math.Inf(1), n).Float64())
		require.Equal(t, -maxTotal, far.deviation(math.Inf(-1), n).Float64())
		require.Equal(t, maxTotal, far.deviation(math.MaxFloat64, n).Float64())
		require.Equal(t, exact.Product128(-n, far.centre), far.deviation(math.NaN(), n))
	}
	m := dptest.OK(New(Params{Min: VectorOf(1000), Max: VectorOf(1001), Rho: 1, Relation: budget.AddRemove, Count: true}))(t)
	s := dptest.OK(m.Release([]float64{0x1p80, 0x1p20}))(t)
	require.InDelta(t, maxTotal, s.steps[0].Float64(), 0x1p60, "2⁸⁰ is too far from 1000·2²⁰")
	lo, hi := s.Interval(0, 0.9)
	require.True(t, lo < math.Inf(1) && lo > 0x1p60 && math.IsInf(hi, 1), "open where the sum saturates")
	s = dptest.OK(m.Release([]float64{-0x1p80, 0x1p20}))(t)
	lo, hi = s.Interval(0, 0.9)
	require.True(t, math.IsInf(lo, -1) && hi < -0x1p60)
	s = dptest.OK(m.Release([]float64{1000 * maxRows, 2 * maxRows}))(t)
	lo, hi = s.SimultaneousInterval(0, 0.9)
	require.True(t, math.IsInf(lo, -1) && math.IsInf(hi, 1), "open where the count saturates")
	for _, rows := range []float64{-1e9, math.NaN(), math.Inf(-1)} { // no numbers of rows
		s = dptest.OK(m.Release([]float64{0, rows}))(t)
		require.InDelta(t, 0, s.Count(), 1e5)
		require.InDelta(t, 0, s.steps[0].Float64()*m.noise.coordinates[0].step, 1e5)
	}
}

// The number of rows in steps of its grid never moves by more than one row's, also beyond 2⁵³,
// where float64 skips integers.
func TestCountIsExact(t *testing.T) {
	for _, step := range []float64{0x1p-20, 1, 0x1p4} {
		l := gridNoise{dim: 0, coordinates: []coordinate{{step: step}}}
		for _, from := range []int64{0, 5, 7, 8, 1<<41 - 1, maxRows - 3, maxRows, maxRows + 1, math.MaxInt64 - 1} {
			d := int64(l.countSteps(from + 1).Minus(l.countSteps(from)).Float64())
			require.True(t, 0 <= d && d <= int64(math.Ceil(1/step)), "%v steps from %v", d, from)
		}
	}
}

func TestReleasedBuilder(t *testing.T) {
	p := Params{Min: VectorOf(-0.5), Max: VectorOf(0.5), Rho: 1}
	other := p
	other.Rho = 2
	fresh := func() *Builder { return dptest.OK(NewBuilder(p))(t) }
	secret := dptest.OK(NewBuilder(Params{Min: VectorOf(-500000000, -0.5), Max: VectorOf(500000000, 0.5), Rho: 1}))(t)
	secret.Add([]float64{98_765_432, 0.25})
	dptest.Redacted(t, secret, "98765432", "9.8765432e+07")
	dptest.Builder(t, fresh, func(b *Builder) { b.Add([]float64{1}); b.AddSparse([]int{0}, []float64{1}) }, dptest.OK(NewBuilder(other))(t))
	require.Equal(t, Params{Rho: 1, Relation: budget.AddRemove}.guarantee(), fresh().Guarantee())
	require.Equal(t, budget.Guarantee{}, new(Builder).Guarantee())
}

func TestReleaseErrors(t *testing.T) {
	m := dptest.OK(New(Params{Min: VectorOf(-0.5, -1), Max: VectorOf(0.5, 1), Rho: 1}))(t)
	for _, n := range []int{0, 1, 3} {
		require.ErrorIs(t, dptest.Err(m.Release(make([]float64, n))), ErrMismatch)
	}
	require.ErrorIs(t, dptest.Err(new(Mechanism).Release(nil)), ErrParams)
	s := dptest.OK(m.Release([]float64{math.NaN(), math.Inf(1)}))(t)
	require.Less(t, math.Abs(s.Estimate(0)), 100.0)
	require.Greater(t, s.Estimate(1), 1e6)
}

// refuted returns the greatest ε that releases of the two inputs refute, with confidence 1 − 1e-10.
// The event is whether the release is nearer to a than to b, in the metric of the noise and beyond
// a margin: the likelihood ratio test.
func refuted(t *testing.T, m *Mechanism, a, b []int64, margin, delta float64) float64 {
	const n = 40_000
	hits := func(input []int64) (count int64) {
		var src noise.Source
		for range n {
			score := 0.0
			for i, c := range m.noise.coordinates {
				x, u := float64(input[i]+m.noise.sample(&src, c)-b[i])*c.step/c.scale, float64(a[i]-b[i])*c.step/c.scale
				if m.noise.kind == laplace {
					score += math.Abs(x) - math.Abs(x-u)
				} else {
					score += u * (x - u/2)
				}
			}
			if score >= margin {
				count++
			}
		}
		return count
	}
	dptest.Alarm(t, 1e-10)
	return dptest.EpsilonLowerBound(hits(a), n, hits(b), n, delta, 1-1e-10)
}

// Audit: rows at opposite corners of the box. No more than the claimed ε can be seen, and with half
// the noise more can, by a margin. For zCDP the claim is ε at δ = 1e-2. At ε = 1 with half the
// Laplace noise the likelihood ratio test at 1.8 shows about ε = 1.8; with half the Gaussian noise
// the test at margin 2 shows 1.33 to 2 times the claim. The bound's standard deviation is about
// .04, so that the control has more than 7 of them to spare.
func TestAudit(t *testing.T) {
	dptest.NotShort(t, "many releases")
	for _, p := range []Params{
		{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Epsilon: 1, Shape: Independent, Relation: budget.Replace},
		{Min: VectorOf(-2, -0.5, -0.5, -0.05), Max: VectorOf(2, 0.5, 0.5, 0.05), Epsilon: 1, Delta: 1e-2, Relation: budget.Replace},
		{Min: VectorOf(-2, -0.5, -0.25), Max: VectorOf(2, 0.5, 0.25), Rho: 0.1, Relation: budget.Replace},
		{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Epsilon: 1, Relation: budget.AddRemove, Shape: Independent},
		{Min: VectorOf(0, 0), Max: VectorOf(4, 1), Epsilon: 1, Delta: 1e-2, Relation: budget.AddRemove, Count: true},
	} {
		m := dptest.OK(New(p))(t)
		d := m.noise.dim
		high, low := make([]float64, d), make([]float64, d)
		for i := range d {
			high[i], low[i] = 1e9, -1e9
		}
		a := rowTotals(t, m, high)
		b := rowTotals(t, m, low)
		if p.Relation == budget.AddRemove {
			b = rowTotals(t, m)
		}
		half := &Mechanism{calibration{m.params, m.noise.halved()}}
		delta, claim, margin := 1e-2, m.Guarantee().EpsilonAt(1e-2), 2.0
		if m.noise.kind == laplace {
			delta, claim, margin = 0, 1, 1.8
		}
		require.LessOrEqual(t, refuted(t, m, a, b, margin/2, delta), claim, "%v", m)
		control := refuted(t, half, a, b, margin, delta)
		t.Logf("%v: half the noise shows ε ≥ %.3g, claimed %.3g", m, control, claim)
		require.Greater(t, control, claim, "half the noise: %v", m)
	}
}

// rowTotals returns the totals of the rows.
func rowTotals(t *testing.T, m *Mechanism, rows ...[]float64) []int64 {
	b := dptest.OK(NewBuilder(m.params))(t)
	for _, row := range rows {
		b.Add(row)
	}
	return small(t, peek(b).totals())
}

func TestAddDoesNotAllocate(t *testing.T) {
	b := dptest.OK(NewBuilder(Params{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Rho: 1}))(t)
	row, indices := []float64{1, 0.25}, []int{1, 0}
	require.Zero(t, testing.AllocsPerRun(100, func() { b.Add(row) }))
	require.Zero(t, testing.AllocsPerRun(100, func() { b.AddSparse(indices, row) }))
	s := dptest.OK(b.Release())(t)
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = s.Estimate(1) + s.StdDev(0) }))
}
