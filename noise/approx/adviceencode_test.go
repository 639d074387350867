package approx

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// sampleAdvised are fixed results, not released: one whose search stopped, one that went on to the
// end, one with an Accuracy.
func sampleAdvised() map[string]*Advised {
	p := Params{Epsilon: 1, Sensitivity: 1e-6, Max: 1 << 10, Moment: 2, Protects: budget.Row(budget.AddRemove), Advice: Advice{Min: 1, Runs: 5, Failure: 0.125}}
	accurate := p
	accurate.Advice.Accuracy, accurate.Advice.Runs, accurate.Moment, accurate.Protects = 0x1p-10, 1, 2.5, budget.Row(budget.Replace)
	return map[string]*Advised{
		"advised-stopped.hex": {
			last: Value{promised{Params{Epsilon: 0.5, Sensitivity: 1e-6, Error: 1.5, Moment: 6, Noise: StudentNoise, Max: 768, Protects: budget.Row(budget.AddRemove)}},
				gridNoise{StudentNoise, 6, 18, 0x1p-20}, 123456789},
			advice: 256, rounds: 3, promised: promised{p},
		},
		"advised-end.hex": {
			last: Value{promised{Params{Epsilon: 0.5, Sensitivity: 1e-6, Error: 0x1p-10, Moment: 6, Noise: ParetoNoise, Max: 3, Protects: budget.Row(budget.AddRemove)}},
				gridNoise{ParetoNoise, 6, 0x1.8p-6, 0x1p-40}, -1 << 40},
			advice: 1, rounds: 10, promised: promised{p},
		},
		"advised-accurate.hex": {
			last: Value{promised{Params{Epsilon: 0.5, Sensitivity: 1e-6, Error: 3, Moment: 2.5, Noise: StudentNoise, Max: 3072, Protects: budget.Row(budget.Replace)}},
				gridNoise{StudentNoise, 2.5, 30, 0x1p-20}, mostReleased},
			advice: 1 << 10, rounds: 1, promised: promised{accurate},
		},
	}
}

func TestAdvisedCodec(t *testing.T) {
	for _, a := range sampleAdvised() {
		dptest.Codec(t, a, func(a, b *Advised) bool { return *a == *b })
		dptest.Readers(t, a)
	}
	dptest.GoldenDumps(t, sampleAdvised())
	require.ErrorIs(t, dptest.Err(Advised{}.MarshalBinary()), ErrFormat)
}

// What a search gives decodes to the same result, wherever it ended.
func TestAdvisedCodecOfReleases(t *testing.T) {
	for _, p := range []Params{
		{Epsilon: 1, Sensitivity: 1e-6, Max: 1000, Advice: Advice{Min: 1}},
		{Epsilon: 2, Sensitivity: 1e-3, Max: 100, Moment: 3, Protects: budget.L1(1e-3), Advice: Advice{Min: 0.75, Runs: 3, Accuracy: 0.01}},
		{Epsilon: 4, Sensitivity: 1e-9, Max: 3, Moment: 2.5, Advice: Advice{Min: 1, Runs: 1, Failure: 0.5, Accuracy: math.Copysign(0, -1)}},
	} {
		for _, truth := range []float64{0, 1, 7, 50, 1e6} { // 0 never stops, 1e6 stops at once
			a := dptest.OK(Search(p, func(_, _ float64) float64 { return truth }))(t)
			back, size := dptest.RoundTrip(t, &a)
			require.Equal(t, a.rounds, back.rounds)
			require.Equal(t, 6+18+1+2*4+12*8, size)
		}
	}
}

// Objects that no search produces are not valid encodings.
func TestAdvisedDecodeRejectsInvalidObjects(t *testing.T) {
	for _, name := range []string{"advised-stopped.hex", "advised-accurate.hex"} {
		dptest.Spoiled(t, func() *Advised { return sampleAdvised()[name] }, func() *Advised { return sampleAdvised()["advised-end.hex"] }, map[string]func(*Advised){
			"epsilon":         func(a *Advised) { a.params.Epsilon = math.NaN() },
			"default":         func(a *Advised) { a.params.Sensitivity = 0 },
			"negative zero":   func(a *Advised) { a.params.Advice.Accuracy = math.Copysign(0, -1) },
			"even runs":       func(a *Advised) { a.params.Advice.Runs = 4 },
			"unit":            func(a *Advised) { a.params.Protects = budget.Unit{} },
			"no round":        func(a *Advised) { a.rounds = 0 },
			"many rounds":     func(a *Advised) { a.rounds = 11 },
			"advice":          func(a *Advised) { a.advice *= 1.5 },
			"halved":          func(a *Advised) { a.advice /= 2 },
			"an error of 0":   func(a *Advised) { a.last.params.Error = 0 },
			"too large error": func(a *Advised) { a.last.params.Error = 1e9 },
			"Laplace noise":   func(a *Advised) { a.last.noise.noise = LaplaceNoise },
			"less noise":      func(a *Advised) { a.last.noise.scale *= 0.4 },
			"no noise":        func(a *Advised) { a.last.noise.scale = 0 },
			"step":            func(a *Advised) { a.last.noise.step *= 1.5 },
			"value":           func(a *Advised) { a.last.steps = -mostReleased - 1 },
		})
	}
	dptest.Spoiled(t, func() *Advised { return sampleAdvised()["advised-accurate.hex"] }, func() *Advised { return new(Advised) }, map[string]func(*Advised){
		"less error than the Accuracy has": func(a *Advised) { a.last.params.Error = 2.999 },
	})
}

func FuzzUnmarshalAdvised(f *testing.F) {
	dptest.Seeds(f, sampleAdvised())
	f.Fuzz(useAdvised)
}

func TestAdvisedEdges(t *testing.T) { dptest.Edges(t, sampleAdvised(), useAdvised) }

// useAdvised checks that every method works on what decodes.
func useAdvised(t *testing.T, data []byte) {
	a := dptest.Decoded[Advised](t, data)
	if a == nil {
		return
	}
	for _, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
		lo, hi := a.Interval(confidence)
		require.True(t, lo <= a.Estimate() && a.Estimate() <= hi, "%v not in [%v, %v]", a.Estimate(), lo, hi)
	}
	require.True(t, a.Advice() > 0 && a.rounds > 0)
	require.NotContains(t, a.String(), "NaN")
	require.Positive(t, a.Params().Epsilon)
	require.LessOrEqual(t, a.Guarantee().EpsilonAt(0), 0x1p10)
}
