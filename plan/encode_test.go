package plan

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan/internal/means"
	"github.com/stretchr/testify/require"
)

// sampleMean is a Mean with a centre and scales.
func sampleMean() *Mean {
	p := means.Params{
		Rho: 0.5, Dim: 3, Rows: 1000, Max: 50, Resolution: 0.5, Method: means.Adaptive, Margin: 2, Symmetric: true, Relation: budget.Replace,
		Steps: means.Steps{Centre: means.Median, Clip: 0.75, Search: 9, Group: 2}, Shares: means.Shares{Clip: 0.25},
	}
	return &Mean{means.Mean{
		Params: p.Resolved(), Rows: 1000, Scaled: true, Limit: 2.5, Divisor: 990.5, Values: []float64{1, -2, 0}, Errors: []float64{0.1, 0.2, 1e-9},
		Centres: []float64{0.5, 0, -3}, Lower: []float64{-1, -50, -4}, Upper: []float64{50, 0, 0.5}, Scales: []float64{1, 2, 3},
		Spent: means.Spent{Centre: 0.1, Scale: 0.1, Clip: 0.125, Sum: 0.175},
	}}
}

// sampleTwoPass is a Mean around the origin with a private number of rows.
func sampleTwoPass() *Mean {
	p := means.Params{Rho: 1, Dim: 2, NonNegative: true, Method: means.TwoPass, Margin: 1, Relation: budget.AddRemove}
	return &Mean{means.Mean{
		Params: p.Resolved(), Rows: 12.25, Limit: 0x1p-30, Divisor: 12, Values: []float64{0.25, 1e300}, Errors: []float64{1, 2},
		Scales: []float64{0.5, 0.25}, Spent: means.Spent{Divisor: 0.01, Clip: 0.01, Scale: 0.2, Sum: 0.75},
	}}
}

// sampleSparse is a Mean of sparse rows, which Plain clips around 0 also where ranges are given.
func sampleSparse() *Mean {
	p := means.Params{Rho: 1, Dim: 2, Max: 5, Method: means.Plain, Relation: budget.AddRemove}
	return &Mean{means.Mean{
		Params: p.Resolved(), Rows: 12.25, Limit: 5, Divisor: 12, Values: []float64{0.25, 1}, Errors: []float64{1, 2},
		Lower: []float64{0, -1}, Upper: []float64{4, 3}, Spent: means.Spent{Divisor: 0.01, Sum: 0.98},
	}}
}

// samples are the objects of the golden files, by name.
func samples() map[string]*Mean {
	return map[string]*Mean{"adaptive.hex": sampleMean(), "twopass.hex": sampleTwoPass()}
}

func TestCodec(t *testing.T) {
	dptest.Codec[Mean](t, sampleMean(), dptest.DeepEqual)
	dptest.Codec[Mean](t, sampleTwoPass(), dptest.DeepEqual)
	dptest.Codec[Mean](t, sampleSparse(), dptest.DeepEqual)
	data := dptest.OK(sampleMean().MarshalBinary())(t)
	require.Len(t, data, fixedSize+6*8*3)
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	dptest.GoldenDumps(t, samples())
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	dptest.Spoiled(t, sampleMean, sampleMean, map[string]func(*Mean){
		"value":             func(m *Mean) { m.of.Values[1] = math.NaN() },
		"method left open":  func(m *Mean) { m.of.Params.Method = means.Auto },
		"range":             func(m *Mean) { m.of.Upper[0] = 51 },
		"empty range":       func(m *Mean) { m.of.Upper[0] = -1 },
		"no end":            func(m *Mean) { m.of.Lower[2] = math.NaN() },
		"range to −0":       func(m *Mean) { m.of.Upper[1] = math.Copysign(0, -1) },
		"another middle":    func(m *Mean) { m.of.Params.Method, m.of.Params.Steps.Centre = means.Plain, means.Origin },
		"margin":            func(m *Mean) { m.of.Params.Margin = 0.5 },
		"no margin":         func(m *Mean) { m.of.Params.Margin = 0 },
		"infinite value":    func(m *Mean) { m.of.Values[1] = math.Inf(1) },
		"no noise":          func(m *Mean) { m.of.Errors[0] = 0 },
		"negative noise":    func(m *Mean) { m.of.Errors[0] = -1 },
		"centre":            func(m *Mean) { m.of.Centres[0] = math.NaN() },
		"scale":             func(m *Mean) { m.of.Scales[0] = 0 },
		"lost centre":       func(m *Mean) { m.of.Centres = nil },
		"rows":              func(m *Mean) { m.of.Rows = 999 },
		"negative rows":     func(m *Mean) { m.of.Rows = -1 },
		"limit":             func(m *Mean) { m.of.Limit = -1 },
		"infinite limit":    func(m *Mean) { m.of.Limit = math.Inf(1) },
		"divisor":           func(m *Mean) { m.of.Divisor = 0.5 },
		"NaN divisor":       func(m *Mean) { m.of.Divisor = math.NaN() },
		"overspent":         func(m *Mean) { m.of.Spent.Scale = 1 },
		"no sum":            func(m *Mean) { m.of.Spent.Sum = 0 },
		"negative spending": func(m *Mean) { m.of.Spent.Clip = -0.1 },
		"negative zero":     func(m *Mean) { m.of.Spent.Divisor = math.Copysign(0, -1) },
		"params zero":       func(m *Mean) { m.of.Params.Steps.Floor = math.Copysign(0, -1) },
		"no method":         func(m *Mean) { m.of.Params.Method = means.Auto },
		"open centre":       func(m *Mean) { m.of.Params.Steps.Centre = means.AutoCentre },
		"method":            func(m *Mean) { m.of.Params.Method = 9 },
		"rho":               func(m *Mean) { m.of.Params.Rho = math.NaN() },
		"relation":          func(m *Mean) { m.of.Params.Relation = 0 },
		"unit":              func(m *Mean) { m.of.Params.Resolution = 0 },
	})
}

// Plain clips around the middles of ranges, or sparse rows under AddRemove around 0.
func TestDecodeRejectsInvalidCentres(t *testing.T) {
	dptest.Spoiled(t, sampleSparse, sampleSparse, map[string]func(*Mean){
		"around 0 under Replace": func(m *Mean) { m.of.Params.Relation, m.of.Params.Rows, m.of.Rows = budget.Replace, 12, 12 },
		"another middle":         func(m *Mean) { m.of.Centres = []float64{2, 0} },
		"without ranges":         func(m *Mean) { m.of.Centres, m.of.Lower, m.of.Upper = []float64{2, 1}, nil, nil },
	})
	middles := sampleSparse()
	middles.of.Centres = []float64{2, 1}
	dptest.Codec[Mean](t, middles, dptest.DeepEqual)
}

// The zero Mean answers NaN and has no encoding.
func TestZeroMean(t *testing.T) {
	var m Mean
	require.ErrorIs(t, dptest.Err(m.MarshalBinary()), ErrFormat)
	lo, hi := m.NoiseInterval(0, 0.5)
	for _, x := range []float64{m.Estimate(0), m.StdDev(0), m.Centre(0), m.Scale(0), m.Clip(), lo, hi} {
		require.True(t, math.IsNaN(x), "%v", x)
	}
	require.Empty(t, m.Values())
	require.NotEmpty(t, m.String())
	require.True(t, math.IsInf(m.Guarantee().EpsilonAt(0.1), 1))
}

// Readings at the edges of their arguments.
func TestReadings(t *testing.T) {
	m := sampleMean()
	for _, i := range []int{-1, 3, math.MaxInt} {
		require.True(t, math.IsNaN(m.Estimate(i)) && math.IsNaN(m.StdDev(i)) && math.IsNaN(m.Centre(i)) && math.IsNaN(m.Scale(i)))
	}
	for _, confidence := range []float64{-1, 1, math.NaN()} {
		lo, hi := m.NoiseInterval(0, confidence)
		from, to := m.IntervalBounded(0, confidence)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi) && math.IsNaN(from) && math.IsNaN(to))
	}
	for _, i := range []int{-1, 3} {
		lo, _ := m.IntervalBounded(i, 0.9)
		require.True(t, math.IsNaN(lo))
	}
	lo, hi := m.NoiseInterval(0, 0.95)
	require.InDelta(t, 1.96*0.2, hi-lo, 1e-4*2)
	require.Zero(t, sampleTwoPass().Centre(1))
	values := m.Values()
	values[0] = 99
	require.Equal(t, 1.0, m.Estimate(0), "Values is a copy")
	require.Equal(t, Spent{0.1, 0.1, 0.125, 0, 0.175, true, 0.9905}, m.Spent())
}

func TestConcurrentReaders(t *testing.T) {
	dptest.Readers(t, sampleMean())
	m := sampleMean()
	require.Zero(t, testing.AllocsPerRun(100, func() { m.Estimate(1) }))
}

// One Mechanism serves many goroutines, each Release with many workers.
func TestConcurrentReleases(t *testing.T) {
	x, _ := dptest.NormalRows(rand.New(rand.NewPCG(1, 1)), 200, 0, dptest.Powers(40, 1))
	m := dptest.OK(New(Params{Rho: 1, Dim: 40, Max: 1e3, Resolution: 1, Workers: 4, Relation: budget.Replace}))(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			dptest.OK(m.Release(t.Context(), x))(t)
		})
	}
	group.Wait()
}

// The largest numbers that decode have intervals too.
func TestIntervalOfTheLargestNumbers(t *testing.T) {
	m := sampleMean()
	m.of.Errors[0], m.of.Values[0] = math.MaxFloat64, -math.MaxFloat64
	m, _ = dptest.RoundTrip(t, m)
	usable(t, m)
	lo, hi := m.NoiseInterval(0, 0)
	require.Equal(t, [2]float64{-math.MaxFloat64, -math.MaxFloat64}, [2]float64{lo, hi})
	lo, hi = m.NoiseInterval(0, 0.9)
	require.Equal(t, [2]float64{math.Inf(-1), math.Inf(1)}, [2]float64{lo, hi})
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, samples(), useDecoded) }

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	if m := dptest.Decoded[Mean](t, data); m != nil {
		usable(t, m)
	}
}

// usable checks that every method works on what decodes.
func usable(t *testing.T, m *Mean) {
	require.Equal(t, m.Params().Dim, m.Dim())
	require.Equal(t, m.Values(), m.of.Values)
	require.Equal(t, m.StdDevs(), m.of.Errors)
	for i := range min(m.Dim(), 8) {
		for _, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
			lo, hi := m.NoiseInterval(i, confidence)
			require.True(t, lo <= m.Estimate(i) && m.Estimate(i) <= hi, "%v not in [%v, %v]", m.Estimate(i), lo, hi)
		}
		require.Greater(t, m.StdDev(i), 0.0)
		require.False(t, math.IsNaN(m.Centre(i)) || m.Scale(i) < 0)
	}
	require.True(t, m.Rows() >= 0 && m.Clip() > 0 && m.Spent().Gamma > 0)
	require.True(t, m.Spent().Sum > 0 && m.Spent().Sum <= m.Params().Rho*(1+1e-9))
	require.NotContains(t, m.String(), "NaN")
	require.NotZero(t, m.Guarantee())
	if m.Dim() <= 64 {
		for _, x := range m.Shrunk(2) {
			require.False(t, math.IsNaN(x))
		}
	}
}
