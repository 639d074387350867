package column

import (
	"encoding"
	"hash/crc32"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/elliptical/column/internal/tail"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// sample returns a Summary that no noise has touched.
func sample(p Params, values ...float64) *Summary {
	p = p.normal()
	l, err := p.law(half)
	if err != nil {
		panic(err)
	}
	var t totals
	g := p.grid(half)
	for _, x := range values {
		t.add(g.place(x))
	}
	s := &Summary{params: p, law: l}
	for i := range l.at {
		s.values = append(s.values, exact.Int128OfBig(l.exact(&t, i)))
	}
	if p.Relation == budget.Replace {
		s.rows = t.rows
	}
	return s
}

func samplePure() *Summary {
	return sample(Params{Epsilon: 1, Max: 100}, 20, 30, 40, 50, 60)
}

func sampleReplace() *Summary {
	return sample(Params{Rho: 0.5, Min: -1, Max: 2, Relation: budget.Replace, Rows: 3}, -1, 0, 1)
}

// sampleLearned returns a Summary of a learned range that no noise has touched.
func sampleLearned(p Params) *Summary {
	p = p.normal().summary()
	axis, rows := p.widest(), kept{}
	for i := range 1000 {
		rows.add(float64(i%7)-2, p.bound())
	}
	rows.add(40, p.bound())
	l := p.at(int(axis.Cell(1)))
	l.count(&rows)
	if p.gaussian() {
		l.countAside()
	}
	sum := l.split(p, half)
	l.chosen = tail.Range{End: [2]int{76, 78}, Top: [2]int{77, 83}}
	s, t := &Summary{params: p, law: sum, found: l}, rows.total(l.grid(half))
	for i := range sum.at {
		s.values = append(s.values, exact.Int128OfBig(sum.exact(&t, i)))
	}
	return s
}

// samples are the objects of the golden files, by name.
func samples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{
		"pure.hex": samplePure(), "replace.hex": sampleReplace(), "count.hex": sample(Params{Epsilon: 0.5, Want: Count}, 1, 1, 1),
		"sum.hex": sample(Params{Rho: 2, Max: 5, Want: Sum}, 1, 2, 3), "learned.hex": sampleLearned(Params{Epsilon: 1}),
		"bounded.hex": sampleLearned(Params{Rho: 0.5, Bound: 1e6, TailIndex: 2}),
	}
}

func TestCodec(t *testing.T) {
	all := []*Summary{samplePure(), sampleReplace()}
	if dptest.Long() {
		all = append(all, sampleLearned(Params{Epsilon: 1}))
	}
	for _, s := range all {
		dptest.Codec(t, s, dptest.DeepEqual[Summary])
	}
	for _, q := range []*Quantiles{sampleQuantiles(), sampleMedian()} {
		dptest.Codec(t, q, dptest.DeepEqual[Quantiles])
	}
}

// What a release gives decodes to the same Summary, whatever its Params.
func TestCodecOfReleases(t *testing.T) {
	for _, p := range kinds() {
		for _, strength := range []float64{0x1p-30, 1e-6, 0.1, 1, 10, 1024} {
			p := p
			if p.Rho > 0 {
				p.Rho = strength
			} else {
				p.Epsilon = strength
			}
			s := released(t, p, 0.5, -1, 1)
			again, _ := dptest.RoundTrip(t, s, "%+v", p)
			require.True(t, dptest.DeepEqual(s, again))
		}
	}
	q := releasedQuantiles(t, quartiles, 1, 2, 3)
	again, _ := dptest.RoundTrip(t, q)
	require.True(t, dptest.DeepEqual(q, again))
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	dptest.GoldenDumps(t, samples())
	dptest.GoldenDumps(t, quantileSamples())
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	dptest.Spoiled(t, sampleReplace, samplePure, map[string]func(*Summary){
		"both":             func(s *Summary) { s.params.Epsilon = 1 },
		"negative zero":    func(s *Summary) { s.params.Min = math.Copysign(0, -1) },
		"one moment":       func(s *Summary) { s.params.Want = Mean },
		"count":            func(s *Summary) { s.params.Want = Count },
		"rows":             func(s *Summary) { s.rows = 4 },
		"rows < 0":         func(s *Summary) { s.params.Rows, s.rows = 0, -1 },
		"too many rows":    func(s *Summary) { s.params.Rows, s.rows = 0, maxRows+1 },
		"a value too many": func(s *Summary) { s.values = append(s.values, exact.Int128{}) },
		"a value too few":  func(s *Summary) { s.values = s.values[:1] },
		"a huge value":     func(s *Summary) { s.values[1].Hi = math.MaxInt64 },
		"a very low value": func(s *Summary) { s.values[1].Hi = math.MinInt64 },
	})
	dptest.Spoiled(t, samplePure, samplePure, map[string]func(*Summary){
		"public rows": func(s *Summary) { s.rows = 1 },
	})
}

func TestDecodeRejectsInvalidRanges(t *testing.T) {
	learned := func() *Summary { return sampleLearned(Params{Rho: 0.5, Bound: 1e6}) }
	dptest.Spoiled(t, learned, samplePure, map[string]func(*Summary){
		"a cell behind":   func(s *Summary) { axis := s.params.widest(); s.found.cell = int(axis.Cells()) },
		"an end behind":   func(s *Summary) { s.found.chosen.End[1] = tail.Count + 1 },
		"an end too near": func(s *Summary) { s.found.chosen.End[0] = 0 },
		"a top behind":    func(s *Summary) { s.found.chosen.Top[0] = tail.Count + 1 },
		"a number":        func(s *Summary) { s.found.histogram.Rows[1][3] = math.MaxInt64 },
		"the middle":      func(s *Summary) { s.found.histogram.Middle = math.MinInt64 },
		"no index":        func(s *Summary) { s.params.TailIndex = 0 },
		"not Want":        func(s *Summary) { s.params.Want = 0 },
		"no range":        func(s *Summary) { s.found = nil },
	})
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) {
	dptest.Edges(t, samples(), useDecoded)
	dptest.Edges(t, quantileSamples(), useQuantiles)
}

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	s := dptest.Decoded[Summary](t, data)
	if s == nil {
		return
	}
	p := s.Params()
	require.True(t, s.Guarantee().Promises())
	require.NotContains(t, s.String(), "NaN")
	from, to := s.Range()
	require.True(t, from < to || p.only() == Count || s.unknown())
	require.False(t, len(s.Tail()) > 0 && !p.learns())
	turn := int(crc32.ChecksumIEEE(data) % 6) // which of three confidences, and of Sum and Mean
	for of := Count; of <= StdDev; of++ {
		x := s.Value(of)
		require.Equal(t, !s.has(of) || of != Count && s.unknown(), math.IsNaN(x), "%v", of)
		for i, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
			if !dptest.Long() && (turn%3 != i || p.learns() && of == []Statistic{Sum, Mean}[turn/3]) {
				continue
			}
			lo, hi := s.Interval(of, confidence)
			if !s.has(of) {
				continue
			}
			for _, f := range []func() (float64, float64){
				func() (float64, float64) { return s.IntervalTail(of, confidence, 1.5) }, func() (float64, float64) { return s.IntervalBounded(of, confidence) },
			} {
				low, high := f()
				require.True(t, low <= high, "%v of %+v: [%v, %v]", of, p, low, high)
			}
			require.True(t, lo <= hi, "%v of %+v: [%v, %v]", of, p, lo, hi)
			require.True(t, of == Count || x != x || lo <= x && x <= hi, "%v of %+v: %v not in [%v, %v]", of, p, x, lo, hi)
			switch of {
			case Count:
				require.GreaterOrEqual(t, lo, 0.0)
			case Mean:
				require.True(t, p.learns() || p.Min <= lo && hi <= p.Max && p.Min <= x && x <= p.Max)
			case Variance, StdDev:
				require.True(t, lo >= 0 && x >= 0)
			}
		}
	}
}

func FuzzRestorePrivateState(f *testing.F) {
	f.Add(privateBytes(f, builder(f, ages, 1, 2, 3)))
	f.Add(privateBytes(f, builder(f, Params{Epsilon: 1}, 1, -2, 3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		dptest.RestoresOrStays(t, builder(t, ages, 9), data)
		dptest.RestoresOrStays(t, builder(t, Params{Epsilon: 1}, 9), data)
	})
}
