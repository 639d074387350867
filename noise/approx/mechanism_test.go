package approx

import (
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

func sampleValues() map[string]Value {
	return map[string]Value{
		"laplace": {promised{Params{Epsilon: 0.5, Error: 3, Queries: 7, Noise: LaplaceNoise, Max: 1e6}}, gridNoise{LaplaceNoise, 0, 300, 0x1p-20}, -123456789},
		"pareto":  {promised{Params{Epsilon: 1, Sensitivity: 2, Error: 3, Moment: 1.5, Noise: ParetoNoise, Protects: budget.User(2, budget.Replace)}}, gridNoise{ParetoNoise, 1.5, 9, 0x1p-18}, mostReleased},
		"student": {promised{Params{Epsilon: 1, Moment: 3, Noise: StudentNoise}}, gridNoise{StudentNoise, 3, 1.5, 0x1p-21}, 0},
	}
}

func TestValueCodec(t *testing.T) {
	for name, a := range sampleValues() {
		dptest.Codec(t, &a, func(a, b *Value) bool { return *a == *b })
		data := dptest.OK(a.MarshalBinary())(t)
		dptest.Golden(t, "value-"+name+".hex", hex.EncodeToString(data)+"\n")
	}
	sample := func(name string) func() *Value {
		return func() *Value {
			a := sampleValues()[name]
			return &a
		}
	}
	dptest.Spoiled(t, sample("student"), sample("laplace"), map[string]func(*Value){
		"moment and queries":  func(a *Value) { a.params.Queries = 2 },
		"negative zero":       func(a *Value) { a.params.Max = math.Copysign(0, -1) },
		"negative zero error": func(a *Value) { a.params.Error = math.Copysign(0, -1) },
		"auto noise":          func(a *Value) { a.params.Noise = AutoNoise },
		"another noise":       func(a *Value) { a.params.Noise = 9 },
		"laplace for moments": func(a *Value) { a.params.Noise = LaplaceNoise },
		"scale":               func(a *Value) { a.noise.scale = math.NaN() },
		"less noise":          func(a *Value) { a.noise.scale *= 0.9 },
		"scale below step":    func(a *Value) { a.noise.scale = a.noise.step / 2 },
		"step":                func(a *Value) { a.noise.step *= 1.5 },
		"grid too fine":       func(a *Value) { a.noise.step = 0x1p-60 },
		"value":               func(a *Value) { a.steps = mostReleased + 1 },
		"epsilon":             func(a *Value) { a.params.Epsilon = 0 },
	})
	require.ErrorIs(t, dptest.Err(Value{}.MarshalBinary()), ErrFormat)
}

func TestValueReaders(t *testing.T) {
	for _, a := range sampleValues() {
		dptest.Readers(t, a)
		dptest.Readers(t, &a)
	}
	a := dptest.OK(New(Params{Epsilon: 1, Error: 1}))(t)
	r := dptest.OK(a.Release(2))(t)
	dptest.Readers(t, r)
}

func FuzzUnmarshalValue(f *testing.F) {
	dptest.Seeds(f, sampleValues())
	f.Fuzz(useValue)
}

func TestValueEdges(t *testing.T) { dptest.Edges(t, sampleValues(), useValue) }

// useValue checks that every method works on what decodes.
func useValue(t *testing.T, data []byte) {
	a := dptest.Decoded[Value](t, data)
	if a == nil {
		return
	}
	for _, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
		lo, hi := a.Interval(confidence)
		require.True(t, lo <= a.Estimate() && a.Estimate() <= hi, "%v: [%v, %v]", a, lo, hi)
	}
	require.NotContains(t, a.String(), "NaN")
	require.False(t, math.IsNaN(a.Guarantee().EpsilonAt(0)))
	require.Positive(t, a.Params().Epsilon)
}

func TestParamsReject(t *testing.T) {
	good := Params{Epsilon: 1, Error: 2, Moment: 3}
	bad := map[string][]any{}
	for _, field := range []string{"Epsilon", "Sensitivity", "Error", "Moment", "Max"} {
		bad[field] = []any{-1.0, 5e-324, 0x1p-901, 0x1p901}
		p, q := good, good
		reflect.ValueOf(&p).Elem().FieldByName(field).SetFloat(0)
		reflect.ValueOf(&q).Elem().FieldByName(field).SetFloat(math.Copysign(0, -1))
		a, err := New(p)
		b, errNegative := New(q)
		require.Equal(t, err == nil, errNegative == nil, field)
		if err == nil {
			require.Equal(t, a.Params(), b.Params())
			require.Equal(t, math.Float64bits(a.Params().Max), math.Float64bits(b.Params().Max))
		}
	}
	dptest.Params(t, "approx", good, bad, map[string]func(Params) error{
		"New":  func(p Params) error { return dptest.Err(New(p)) },
		"Plan": func(p Params) error { return dptest.Err(p.Plan()) },
	})
	require.True(t, math.IsNaN(Plan{}.ErrorBound(0.5)))
	for _, p := range []Params{
		{}, {Epsilon: 1, Moment: 1}, {Epsilon: 1, Moment: 3, Queries: 2}, {Epsilon: 1, Queries: -1}, {Epsilon: 1, Noise: StudentNoise}, {Epsilon: 1, Noise: ParetoNoise},
		{Epsilon: 1, Moment: 3, Noise: LaplaceNoise}, {Epsilon: 1, Moment: 1.5, Noise: StudentNoise}, {Epsilon: 1, Noise: 7},
		{Epsilon: 1, Max: 0x1p60}, {Epsilon: 0x1p-30, Queries: 1 << 30}, {Epsilon: 0x0.ffp-8, Queries: 1 << 30}, {Epsilon: 1, Sensitivity: 0x1p900}, {Epsilon: 0x1p-30, Sensitivity: 0x1p880},
	} {
		_, err := New(p)
		if p.Sensitivity == 0x1p900 || p.Sensitivity == 0x1p880 {
			continue // possible or not, but no panic
		}
		require.ErrorIs(t, err, ErrParams, "%+v", p)
	}
}

func TestApproxChoosesTheSmallerNoise(t *testing.T) {
	for _, c := range []struct {
		moment, epsilon float64
		want            Noise
	}{{1.5, 1, ParetoNoise}, {2, 1, StudentNoise}, {2, 20, StudentNoise}, {3, 0.1, StudentNoise}, {3, 4, StudentNoise}, {4, 1, StudentNoise}, {4, 20, ParetoNoise}, {0, 1, LaplaceNoise}} {
		p := Params{Epsilon: c.epsilon, Error: 1, Moment: c.moment}
		a := dptest.OK(New(p))(t)
		require.Equal(t, c.want, a.Params().Noise, "%+v", c)
		require.Equal(t, planned(p).Scale, a.noise.scale)
		if c.moment > 2 {
			for _, other := range []Noise{ParetoNoise, StudentNoise} {
				q := p
				q.Noise = other
				require.GreaterOrEqual(t, planned(q).MeanAbs, planned(p).MeanAbs)
				b := dptest.OK(New(q))(t)
				require.Equal(t, other, b.Params().Noise)
			}
		}
	}
	// A promise needs valid Params.
	for _, p := range []Params{{}, {Epsilon: 1, Moment: math.NaN()}, {Epsilon: 1, Queries: -1}, {Epsilon: math.Inf(1)}} {
		require.Equal(t, budget.Guarantee{}, p.Guarantee(), "%+v", p)
	}
	require.Equal(t, budget.Guarantee{}, Value{}.Guarantee())
	require.Equal(t, budget.Guarantee{}, new(Mechanism).Guarantee())
	require.ErrorIs(t, dptest.Err(new(Mechanism).Release(1)), ErrReleased)
	// The scale is that of Δ₁ and the step of the grid.
	p := Params{Epsilon: 1, Sensitivity: 1, Error: 1, Moment: 3, Max: 1e4}
	ideal := must(studentScale(1, 1, 1, 3))
	require.GreaterOrEqual(t, planned(p).Scale, ideal)
	require.InEpsilon(t, ideal, planned(p).Scale, 1e-8)
	a := dptest.OK(New(p))(t)
	require.GreaterOrEqual(t, planned(p).Scale, must(studentScale(1, 1+a.noise.step, 1, 3)))
	require.Equal(t, 1.0, p.Guarantee().EpsilonAt(0))
	require.Equal(t, budget.L1(1), p.Guarantee().Unit())
}

// On every grid that is chosen there is noise to draw, the step adds next to nothing to the scale
// where it may, and what it adds it pays for.
func TestMechanismGrids(t *testing.T) {
	var src noise.Source
	for _, epsilon := range []float64{0x1p-30, 0x1p-20, 0x1p-8, 0.1, 1, 4, 64, 1024} {
		for _, moment := range []float64{0, 1.25, 2, 3, 7, mostMoment} {
			for _, queries := range []int{1, 2, 1000, 1 << 30} {
				for _, sensitivity := range []float64{0x1p-900, 1e-9, 1, 0x1p800} {
					for _, limit := range []float64{0, 1, 1e12, 0x1p820} {
						p := Params{Epsilon: epsilon, Sensitivity: sensitivity, Error: 1, Moment: moment, Queries: queries, Max: limit}
						n, err := p.choose()
						if err != nil {
							require.ErrorIs(t, err, ErrParams)
							continue
						}
						where := fmt.Sprintf("%+v: %+v", p, n)
						require.True(t, n.valid(p.withNoise(n.noise)), where)
						// the chance of eight equal draws, where the scale is 2¹⁰ steps at least,
						// is below 2⁻⁷⁰
						different := false
						for first := n.sample(&src); !different; different = true {
							for i := 0; i < 8 && !different; i++ {
								different = n.sample(&src) != first
							}
							require.True(t, different, where)
						}
						ideal, paid := p.withNoise(n.noise), p.withNoise(n.noise)
						paid.Sensitivity += n.step
						least := dptest.OK(ideal.pick(ideal.Sensitivity))(t)
						whole := dptest.OK(paid.pick(paid.Sensitivity))(t)
						require.GreaterOrEqual(t, n.scale, whole.scale*(1-0x1p-50), where)
						if limit == 0 && n.scale < 0x1p20*max(sensitivity, 1) {
							require.LessOrEqual(t, n.scale, least.scale*(1+0x1p-23), where)
						}
						most := roundedSteps(math.Inf(1), p.Max, n.step)
						require.LessOrEqual(t, most, int64(limitSteps), where)
						if limit == 0 {
							require.GreaterOrEqual(t, float64(most)*n.step, min(0x1p33*max(sensitivity, 1), 0x1p46*n.scale)*(1-0x1p-20), where)
						} else {
							require.InDelta(t, limit, float64(most)*n.step, n.step, where)
						}
					}
				}
			}
		}
	}
}

// The release is estimate + noise: its law, on a coarse scale, and its sums at the edges.
func TestMechanismRelease(t *testing.T) {
	const n = 3000
	for _, p := range []Params{{Epsilon: 1, Error: 1, Queries: n}, {Epsilon: 1, Error: 1, Moment: 3}, {Epsilon: 0.3, Error: 1, Moment: 1.5}} {
		samples := make([]float64, n)
		a := dptest.OK(New(p))(t)
		for i := range samples {
			if i > 0 && p.Queries == 0 {
				a = dptest.OK(New(p))(t)
			}
			r := dptest.OK(a.Release(17.3))(t)
			samples[i] = r.Estimate() - 17.3
			require.Equal(t, a.Guarantee(), r.Guarantee())
			require.Equal(t, a.Params(), r.Params())
			require.Equal(t, planned(p).Scale, r.noise.scale)
		}
		require.ErrorIs(t, dptest.Err(a.Release(0)), ErrReleased)
		dptest.KS(t, fmt.Sprint(a.noise.noise), samples, a.noise.distribution().(interface{ CDF(float64) float64 }).CDF, 1e-10)
	}
}

func TestRoundedSteps(t *testing.T) {
	for _, c := range []struct {
		x, limit, step float64
		want           int64
	}{
		{3, 0, 1, 3}, {2.5, 0, 1, 2}, {3.5, 0, 1, 4}, {-7.3, 0, 0.5, -15}, {math.NaN(), 0, 1, 0}, {math.Inf(1), 0, 1, limitSteps}, {math.Inf(-1), 10, 1, -10},
		{11, 10, 0.25, 40}, {5e-324, 0, 0x1p900, 0}, {math.MaxFloat64, 0, 0x1p-900, limitSteps}, {-math.MaxFloat64, 0, 0x1p-900, -limitSteps},
	} {
		require.Equal(t, c.want, roundedSteps(c.x, c.limit, c.step), "%+v", c)
	}
}

// Interval covers g when the estimator errs as it may, and the bound is not much larger than that.
func TestValueInterval(t *testing.T) {
	const confidence = 0.9
	n, least := 2000, 0.85 // Pr[covered ≤ 0.85·n] at a coverage of 0.9 is below 1e-11
	if testing.Short() {
		n, least = 500, 0.8 // Pr[covered ≤ 0.8·n] is below 1e-10
	}
	var src noise.Source
	for _, p := range []Params{{Epsilon: 1, Error: 1}, {Epsilon: 1, Error: 1, Moment: 2}, {Epsilon: 1, Error: 1, Moment: 6}, {Epsilon: 2, Sensitivity: 3}} {
		covered, width := int64(0), p.errorBound(confidence)
		for i := range n {
			a := dptest.OK(New(p))(t)
			mistake := 0.0
			if p.Error > 0 && p.Moment == 0 {
				// the law of the bound
				mistake = math.Log(2 / (float64(src.Uint64()>>11)*0x1p-53 + 0x1p-54))
			} else if p.Error > 0 {
				mistake = p.Error
			}
			r := dptest.OK(a.Release(5 + mistake))(t)
			if i < 20 { // it is the same for all
				lo, hi := r.Interval(confidence)
				require.InDeltaSlice(t, []float64{r.Estimate() - width, r.Estimate() + width}, []float64{lo, hi}, 1e-9*width)
			}
			if math.Abs(r.Estimate()-5) <= width {
				covered++
			}
		}
		dptest.Alarm(t, 1e-10)
		require.Greater(t, covered, int64(least*float64(n)), "%+v", p)
	}
	a := sampleValues()["student"]
	for _, c := range []float64{-0.1, 1, 2, math.NaN()} {
		lo, hi := a.Interval(c)
		require.True(t, math.IsNaN(lo) && math.IsNaN(hi))
	}
	lo, hi := a.Interval(0)
	require.LessOrEqual(t, lo, hi)
	zero := Value{}
	lo, hi = zero.Interval(0.5)
	require.True(t, math.IsNaN(lo) && math.IsNaN(hi) && math.IsNaN(zero.Estimate()))
	require.Contains(t, zero.String(), "not released")
	require.Contains(t, a.String(), "StudentNoise of scale 1.5, ε = 1 for vectors at ℓ₁ distance 1")
	for _, n := range []Noise{AutoNoise, LaplaceNoise, ParetoNoise, StudentNoise, 9} {
		require.NotEmpty(t, n.String())
	}
}

// Lemmas 15 and 16: the Error that keeps a release within a bound is the largest, and about
// ε·bound.
func TestFit(t *testing.T) {
	for _, p := range []Params{{Epsilon: 1, Sensitivity: 1}, {Epsilon: 0.1, Sensitivity: 1, Moment: 3}, {Epsilon: 1, Sensitivity: 1, Queries: 10}, {Epsilon: 1, Sensitivity: 1, Moment: 1.5}} {
		const bound, confidence = 1e5, 0.95
		q := dptest.OK(p.Fit(bound, confidence))(t)
		require.LessOrEqual(t, q.errorBound(confidence), bound)
		require.Greater(t, q.errorBound(confidence), bound*(1-1e-6))
		require.Greater(t, q.Error, p.Epsilon*bound/float64(p.queries())/2000)
		require.ErrorIs(t, dptest.Err(p.Fit(0.5, confidence)), ErrParams)
		require.ErrorIs(t, dptest.Err(p.Fit(bound, 1)), ErrParams)
		require.ErrorIs(t, dptest.Err(p.Fit(math.NaN(), confidence)), ErrParams)
	}
	// Though the noise of the least Error is too small for the Max, that of the right one is not.
	large := Params{Epsilon: 30, Sensitivity: 1e-12, Moment: 6, Max: 2}
	q := dptest.OK(large.Fit(0.5, 0.9))(t)
	require.InEpsilon(t, 0.5, q.errorBound(0.9), 1e-6)
	large.Max = 0x1p100 // for which none is large enough
	require.ErrorIs(t, dptest.Err(large.Fit(0.5, 0.9)), ErrParams)
	require.ErrorIs(t, dptest.Err(Params{}.Fit(1, 0.5)), ErrParams)
}

// ε from samples at an adversarial pair: errors of +Δ₂ and −Δ₂ with certainty. With half the scale
// the audit sees more than ε.
func TestMechanismAudit(t *testing.T) {
	const n, epsilon = 40_000, 1.0
	for _, p := range []Params{{Epsilon: epsilon, Sensitivity: 0x1p-30, Error: 1, Moment: 3, Noise: StudentNoise}, {Epsilon: epsilon, Sensitivity: 0x1p-30, Error: 1, Moment: 3, Noise: ParetoNoise}} {
		plan := dptest.OK(p.choose())(t)
		audit := func(scale float64) float64 {
			var src noise.Source
			noise := plan
			noise.scale = scale
			edge := 1.0 // Student: the loss is largest where x² + 2x = s², beyond the first mean
			if p.Noise == StudentNoise {
				edge = 1 + (math.Sqrt(scale*scale+1)-1)*0.9
			}
			near, far := int64(0), int64(0)
			for range n {
				if x := 1 + float64(noise.sample(&src))*noise.step; x > edge && x < edge+scale/2 {
					near++
				}
				if x := -1 + float64(noise.sample(&src))*noise.step; x > edge && x < edge+scale/2 {
					far++
				}
			}
			return dptest.EpsilonLowerBound(near, n, far, n, 0, 1-1e-10)
		}
		dptest.Alarm(t, 1e-10)
		require.LessOrEqual(t, audit(plan.scale), epsilon) // false with a probability below 1e-10
		dptest.Alarm(t, 1e-10)
		require.Greater(t, audit(plan.scale/2), epsilon, "half the noise must be noticed: %v", p.Noise)
	}
}

func TestMechanismConcurrent(t *testing.T) {
	const queries = 400
	a := dptest.OK(New(Params{Epsilon: 1, Error: 1, Queries: queries}))(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	for range 4 {
		wg.Go(func() {
			for range queries / 2 {
				r, err := a.Release(1)
				if err != nil {
					continue
				}
				r.Interval(0.9)
				mu.Lock()
				answered++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Equal(t, queries, answered)
}

func ExampleNew() {
	// An estimator of a count, sensitivity 1, with a standard error of at most 250 on every input.
	p := Params{Epsilon: 1, Sensitivity: 1, Error: 250, Moment: 2, Max: 1e6, Protects: budget.User(20, budget.AddRemove)}
	a, err := New(p)
	if err != nil {
		panic(err)
	}
	plan, err := p.Plan()
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	fmt.Println(a.Guarantee())
	if _, err = a.Release(12_345); err != nil { // what the estimator said
		fmt.Println(err)
	}
	// Output:
	// StudentNoise of scale 480.7, within 1.032e+04 with confidence 0.95, 93 bytes
	// ε = 1 for one user (at most 20 keys), added or removed
}

func TestMedianMoment(t *testing.T) {
	moment, bound, err := MedianMoment(1, 1, 5)
	require.NoError(t, err)
	require.Equal(t, 3.0, moment)
	assert.InEpsilon(t, math.Cbrt(10), bound, 1e-14, "E|median|³ ≤ 10ρ³y³ in the proof of Theorem 22")
	moment, bound, err = MedianMoment(2, 3, 5)
	require.NoError(t, err)
	assert.Equal(t, 6.0, moment)
	assert.InEpsilon(t, 3*math.Pow(10, 1.0/6), bound, 1e-14)
	moment, bound, err = MedianMoment(2.5, 7, 1)
	require.NoError(t, err)
	assert.Equal(t, []float64{2.5, 7}, []float64{moment, bound})
	for _, runs := range []int{3, 101, 1001} {
		_, bound, err = MedianMoment(1, 1, runs)
		require.NoError(t, err)
		assert.Less(t, bound, 4.0)
	}
	for _, err := range []error{third(MedianMoment(1, 1, 2)), third(MedianMoment(1, 1, 0)), third(MedianMoment(1, 1, -3)), third(MedianMoment(0, 1, 3)), third(MedianMoment(math.NaN(), 1, 3)),
		third(MedianMoment(1000, 1, 5)), third(MedianMoment(1, -1, 3)), third(MedianMoment(1, math.Inf(1), 3)), third(MedianMoment(1, 1, 1<<20+1))} {
		require.ErrorIs(t, err, ErrParams)
	}

	// Exactly, for a two-point error: 0 with probability 1 − p, else so far that its c-th moment is
	// 1. The median is far if k runs are.
	for _, c := range []float64{1, 2} {
		for _, k := range []int{2, 3, 5} {
			moment, bound, err := MedianMoment(c, 1, 2*k-1)
			require.NoError(t, err)
			for p := 0.5; p > 1e-6; p /= 2 {
				far := math.Pow(p, -1/c)
				fails := 0.0
				for j := k; j < 2*k; j++ {
					fails += binomial(2*k-1, j) * math.Pow(p, float64(j)) * math.Pow(1-p, float64(2*k-1-j))
				}
				require.LessOrEqual(t, math.Pow(fails, 1/moment)*far, bound)
				if p < 1e-5 {
					require.Greater(t, math.Pow(fails, 1/moment)*far, bound*0.99, "attained as p → 0: the constant is the best")
				}
			}
		}
	}
}

func third(_, _ float64, err error) error { return err }

// The moment is rounded down, as nothing is known of a higher one, and the bound up: in exact
// arithmetic it is C(2k−1, k)^{1/(ck)} at least, for the moment c′k ≤ ck that is returned.
func TestMedianMomentRounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	down := 0
	for i := range 500 {
		k := int64(2 + rng.IntN(10))
		if i%50 == 0 {
			k = 20_000
		}
		c := math.Exp2(4*rng.Float64() - 4)
		moment, bound, err := MedianMoment(c, 1, int(2*k-1))
		if c*float64(k) > mostMoment {
			require.ErrorIs(t, err, ErrParams)
			continue
		}
		require.NoError(t, err)
		truth := new(big.Rat).Mul(exact.Rat(c), new(big.Rat).SetInt64(k))
		require.LessOrEqual(t, exact.Rat(moment).Cmp(truth), 0, "%g·%d", c, k)
		require.InEpsilon(t, c*float64(k), moment, 0x1p-51)
		if c*float64(k) != moment {
			down++
		}
		got, _ := exact.LogMultiple(truth, exact.Rat(bound), 64)
		subsets := new(big.Rat).SetInt(new(big.Int).Binomial(2*k-1, k))
		_, want := exact.LogRat(subsets, 96)
		require.GreaterOrEqual(t, got.Cmp(want), 0, "%g·%d: %g", c, k, bound)
		require.Less(t, bound, math.Pow(4, 1/c))
	}
	require.Positive(t, down)
	// No error stays none, also where the factor overflows.
	for _, zero := range []float64{0, math.Copysign(0, -1)} {
		tiny := 5e-324
		moment, bound, err := MedianMoment(tiny, zero, 255)
		require.NoError(t, err)
		require.Equal(t, 128*tiny, moment)
		require.Zero(t, math.Float64bits(bound))
	}
}

func binomial(n, k int) float64 {
	x := 1.0
	for i := 1; i <= k; i++ {
		x *= float64(n-k+i) / float64(i)
	}
	return x
}

func TestMedianRuns(t *testing.T) {
	fails := func(runs int, p float64) float64 {
		sum := 0.0
		for j := (runs + 1) / 2; j <= runs; j++ {
			sum += binomial(runs, j) * math.Pow(p, float64(j)) * math.Pow(1-p, float64(runs-j))
		}
		return sum
	}
	for _, p := range []float64{0.01, 0.1, 0.25, 1.0 / 3, 0.4} {
		for _, beta := range []float64{0.3, 0.05, 1e-3, 1e-6} {
			runs := dptest.OK(MedianRuns(p, beta))(t)
			require.Equal(t, 1, runs%2)
			require.LessOrEqual(t, fails(runs, p), beta)
			if runs > 1 {
				require.Greater(t, fails(runs-2, p), beta*(1-1e-8))
			}
		}
	}
	for _, v := range []float64{0, -1, 0.5, 1, math.NaN(), 0.4999999} {
		require.ErrorIs(t, dptest.Err(MedianRuns(v, 1e-9)), ErrParams, "%g", v)
	}
	for _, v := range []float64{0, -1, 1, math.NaN()} {
		require.ErrorIs(t, dptest.Err(MedianRuns(0.1, v)), ErrParams)
	}
}

func TestMedian(t *testing.T) {
	values := []float64{5, -1, math.NaN(), 100, 2}
	i := 0
	require.Equal(t, 2.0, Median(5, func() float64 { i++; return values[i-1] }))
	require.True(t, math.IsNaN(Median(4, func() float64 { return 1 })))
	require.True(t, math.IsNaN(Median(0, func() float64 { return 1 })))
}

// A caller who ignores an error does not come to a Mechanism with less noise than the estimator
// needs.
func TestIgnoredErrorsAreRefused(t *testing.T) {
	refused := func(p Params, err error) {
		t.Helper()
		require.ErrorIs(t, err, ErrParams)
		require.ErrorIs(t, dptest.Err(New(p)), ErrParams)
		require.ErrorIs(t, dptest.Err(p.Plan()), ErrParams)
		require.Equal(t, math.Inf(1), p.Guarantee().EpsilonAt(0.5))
	}
	for _, bound := range []float64{-1, 1e-3, math.NaN(), math.Inf(1)} {
		refused(Params{Epsilon: 1, Error: 5, Moment: 3}.Fit(bound, 0.9))
	}
	refused(Params{Epsilon: 1}.Fit(1, 2))
	moment, bound, err := MedianMoment(2, 1, 4)
	refused(Params{Epsilon: 1, Moment: moment, Error: 1}, err)
	refused(Params{Epsilon: 1, Error: bound}, err)
	v, err := new(Mechanism).Release(3)
	require.ErrorIs(t, err, ErrReleased)
	require.True(t, math.IsNaN(v.Estimate()))
}

// planned is the Plan of valid Params, and of others the zero Plan.
func planned(p Params) Plan {
	plan, _ := p.Plan()
	return plan
}
