package alp

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The shares of η for the Sparsity, the list and the columns are together no more than η, for all
// Params.
func TestBudgetIsNotExceeded(t *testing.T) {
	for _, p := range sweep() {
		for _, share := range []float64{0, 0.01, 0.5} {
			if p.share = share; p.Sparsity == 0 && share == 0 {
				continue
			}
			r, err := p.resolve()
			if p.estimates() {
				r, err = p.withSparsity(1)
			}
			require.NoError(t, err)
			spent := r.columnEta()
			if r.Structure != ColumnsOnly {
				spent += r.listEta()
			}
			if share > 0 {
				spent += r.sparsityEta()
			}
			require.LessOrEqual(t, spent, r.eta())
			require.Greater(t, spent, r.eta()*(1-1e-9))
			step, mixed := r.grid()
			steps := r.sensitivity() / step
			if mixed { // (1 + κ) a step, hence e^{κ·steps}
				require.LessOrEqual(t, r.eta(), math.Log1p(r.Epsilon/steps))
			}
			require.InEpsilon(t, r.Epsilon, r.eta()*steps, 0x1p-9)
		}
	}
}

// An unknown Sparsity is estimated from above, and not by much more than ln(d/2) times the scale.
func TestSparsityIsEstimated(t *testing.T) {
	for _, integers := range []bool{true, false} {
		const n, share = 1000, 0.1
		p := Params{Epsilon: 1, Delta: 1e-6, share: share, Integers: integers}
		b := dptest.OK(New(p))(t)
		for i := range uint64(n) {
			b.Add(i, float64(1+i%50))
		}
		v := dptest.OK(b.Release())(t)
		got, margin := float64(v.Params().Sparsity), math.Log(500)/share
		// each but with probability 1e-11, and not by 43/share, as for all 64-bit indices once
		require.Greater(t, got, n+margin-math.Log(1e11)/share)
		require.Less(t, got, n+margin+math.Log(1e11)/share)
		dptest.Alarm(t, 1e-9)
		require.True(t, budget.ApproxDP(1, 1e-6, budget.L1(1)).Equal(v.Guarantee()))
	}
	// One entry of any size counts as one.
	b := dptest.OK(New(Params{Epsilon: 1, Delta: 1e-6, Dim: 100, share: 0.5}))(t)
	b.Add(1, 1e300)
	v := dptest.OK(b.Release())(t)
	require.Less(t, v.Params().Sparsity, 100)
}

// The estimate of Sparsity has the noise that its share of the budget asks for: with η_s a step,
// its law for k and k + 1 entries differs by e^{η_s}.
func TestSparsityNoise(t *testing.T) {
	p := Params{Epsilon: 1, Delta: 1e-6, Dim: 4, share: 0.5, Integers: true}
	s := private.Enter(dptest.OK(New(p))(t).secret)
	d := dptest.OK(noise.NewDiscreteLaplace(2))(t)
	const n, k = 20000, 40
	counts, expected := make([]int64, 81), make([]float64, 81)
	entries := make([]total, k)
	for i := range entries {
		entries[i] = total{Key: uint64(i), Steps: int64(1 + i)}
	}
	for range n {
		got := dptest.OK(s.estimateSparsity(entries))(t)
		counts[min(got, 80)]++
	}
	shift := int(math.Ceil(k + math.Ln2/0.5))
	for i := range expected {
		expected[i] = d.Prob(float64(i - shift))
	}
	dptest.ChiSquare(t, "estimates", counts, expected, 1e-10)
}

// The logarithmic axis is monotone, moves by at most one for each step, is the identity up to the
// knee, and gains the factor B for each Δ above it.
func TestAxis(t *testing.T) {
	for _, knee := range []float64{1, 1.4, 10, 1234.5} {
		reach := int(20 * knee)
		a := newLogAxis(knee, reach)
		previous := int64(0)
		for v := int64(0); v < 5000; v++ {
			u := a.point(v)
			require.True(t, u == previous || u == previous+1)
			if float64(v) <= knee {
				require.Equal(t, v, u)
			} else if knee > 2 {
				require.InDelta(t, knee*(1+math.Log(float64(v)/knee)), float64(u), 1.01)
			}
			previous = u
		}
		require.Equal(t, int64(reach), a.point(maxTotal))
	}
}

// All Sparsities that an estimate can give lead to a release: New decides it, before there are any
// data.
func TestEverySparsityCanBeReleased(t *testing.T) {
	cases := sweep()
	for _, code := range []Params{{}, {Variant: Variant{Levels: 256}}, {Variant: Variant{Columns: 4096}}, {Variant: Variant{Columns: 1}}, {Variant: Variant{Alpha: 3}}, {Variant: Variant{Alpha: 1000}}, {Variant: Variant{Linear: true}}, {Variant: Variant{Turn: 120}}, {Variant: Variant{Base: 1.1}}} {
		for _, most := range []float64{0, 70, 80, 90, 100} {
			p := code
			p.Epsilon, p.Dim, p.Max = 1, 1<<40, most // without δ, Turn falls as the Sparsity grows
			cases = append(cases, p)
			p.Signed, p.Structure, p.Split = true, Composition, 0.6
			cases = append(cases, p)
		}
	}
	taken := 0
	for i, p := range cases {
		if i%2 > 0 && !dptest.Long() {
			continue
		}
		p.Sparsity, p.share = 0, 0.2
		r, err := p.resolved()
		if err != nil {
			require.ErrorIs(t, err, ErrParams)
			continue
		}
		taken++
		again := dptest.OK(r.resolved())(t)
		require.Equal(t, r, again)
		require.True(t, r.estimates())
		most := r.fitting(math.Inf(1))
		for k := 1; k <= most; k = max(k+1, min(3*k, most)) {
			s := dptest.OK(r.withSparsity(k))(t, "%+v: k = %d", p, k)
			dptest.OK(s.geometry())(t, "%+v: k = %d", p, k)
			require.Equal(t, r.Structure, s.Structure)
			require.True(t, r.Guarantee().Equal(s.Guarantee()))
			if k == most {
				break
			}
		}
	}
	require.Greater(t, taken, 100)

	// With columns alone for few entries there would be a list for many, with twice the levels.
	p := Params{Epsilon: 1, Dim: 1 << 40, Max: 100, share: 0.2, Variant: Variant{Columns: 4096}}
	b := dptest.OK(New(p))(t)
	for i := range uint64(200) {
		b.Add(i, 50)
	}
	dptest.OK(b.Release())(t)
	plan := dptest.OK(p.Plan())(t)
	require.Zero(t, plan.Params.Sparsity)
	require.Greater(t, plan.Bytes, plannedSparsity*100/8)
}
