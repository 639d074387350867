package noise

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
)

// Beyond z = 2³⁰, where the density is a power but for less than 2⁻⁶⁰ of it, the tail is
// C·z^{1−α}/(α−1) but for as little. That it is not 1e-9 less is what an interval with a confidence
// next to 1 rests on.
func TestStudentFarTail(t *testing.T) {
	for _, shape := range []float64{2, 2.1, 3, 3.7, 8, 40} {
		d := dptest.OK(NewStudent(shape, 2))(t)
		for z := 0x1p29; z < 1e300; z *= 97 {
			log := math.Log(d.formulas.peak()/(shape-1)) - (shape-1)*math.Log(z)
			assert.InEpsilon(t, log, d.LogSurvival(2*z), 2e-15, "α = %g at %g", shape, z)
			assert.InEpsilon(t, math.Log(d.formulas.peak()/2)-shape*math.Log(z), d.LogProb(2*z), 2e-15, "α = %g at %g", shape, z)
			if log > -690 {
				assert.InEpsilon(t, math.Exp(log), d.Survival(2*z), 4e-13, "α = %g at %g", shape, z)
				assert.InEpsilon(t, 2*z, -d.Quantile(math.Exp(log)), 1e-12, "α = %g at %g", shape, z)
			}
		}
	}
}

// The same for the proposals of Student's distribution: acceptance and cell.
func TestStudentQuickIsRight(t *testing.T) {
	var src Source
	n := dptest.Fewer(2000, 400)
	undecided, accepts, cells := 0, 0, 0
	for i := range n {
		shape := []float64{2, 2.25, 2.999, 3, 3.0001, 4, 7.5, 100, mostStudent}[src.Uint64N(9)]
		p := newStudentProposal(shape)
		g, ok := newPowerGrid(studentKind, shape, math.Ldexp(1+float64(src.Uint64()>>12)*0x1p-52, int(src.Uint64()%50)-8), 1)
		require.True(t, ok)
		w := src.Uint64() >> src.Uint64N(40)
		v := newLazy(w, 64)
		if !(v.lower().Sign() > 0) {
			continue
		}
		at, ok := p.quick(w)
		if !ok {
			undecided++
			continue
		}
		uniform := src.Uint64() >> 1
		if i%2 == 0 { // near the line
			square := at * at
			e := shape / 2 * math.Log1p(square)
			if p.sigma == 0 {
				e -= 2*math.Log1p(at) - math.Ln2
			} else {
				e -= 1.5 * math.Log1p(square/p.sigma/p.sigma)
			}
			uniform = uint64(min(math.Exp(-e)*(1+float64(int64(src.Uint64()))*0x1p-63*0x1p-30), 1-0x1p-53) * 0x1p63)
		}
		below, ok := p.acceptQuick(at, w, uniform)
		if !ok {
			undecided++
		} else {
			accepts++
			least, most := p.exponent(v.lower(), v.upper(), 63)
			want, sure := newLazy(uniform, 63).compareExp(least, most)
			require.True(t, sure && below == want, "α = %g, t = %g", shape, at)
		}
		if cell := g.units * at; cell < 1<<40 {
			lo, hi := p.cellAt(g, v.upper()), p.cellAt(g, v.lower())
			err := cell*(0x1p-48+4/float64(w)) + g.units*0x1p-50
			require.GreaterOrEqual(t, float64(lo), math.Floor(cell-err), "α = %g, t = %g", shape, at)
			require.LessOrEqual(t, float64(hi), math.Floor(cell+err), "α = %g, t = %g", shape, at)
			cells++
		}
	}
	require.Greater(t, undecided, n/20, "the boundary was not tried")
	require.Greater(t, accepts, n/4)
	require.Greater(t, cells, n/8)
}

// The proposals' acceptance probability is at most 1 and their inverse is the distribution that the
// proof names.
func TestProposalDominates(t *testing.T) {
	for _, shape := range []float64{2, 2.5, 2.99, 3, 3 + 0x1p-51, 4, 10, 333.3, mostStudent} {
		p := newStudentProposal(shape)
		if p.sigma != 0 {
			s := exact.Rat(p.sigma)
			s.Mul(s, s).Mul(s, exact.Rat(shape))
			require.GreaterOrEqual(t, s.Cmp(big.NewRat(3, 1)), 0, "σ² ≥ 3/α exactly")
		}
		for _, k := range []int64{1, 1 << 20, 1 << 40, 1 << 55, 1 << 60, 1<<62 - 1, 1 << 62} {
			v := big.NewRat(k, 1<<62)
			_, most := p.exponent(v, v, 64)
			require.GreaterOrEqual(t, most.Sign(), 0, "α = %g, v = %v/2⁶²", shape, k)
			vf, _ := v.Float64()
			got, _ := p.square(v).Float64()
			want := (1 - vf) / vf
			if p.sigma > 0 {
				want = p.sigma * (1 - vf) / math.Sqrt(vf*(2-vf))
			}
			require.InEpsilon(t, 1+want*want, 1+got, 1e-9)
		}
	}
}
