package thesis

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
)

func TestInvalidParams(t *testing.T) {
	good := Params{Rho: 1, Dim: 5, Max: 10}
	for field, change := range map[string]func(*Params){
		"Rho": func(p *Params) { p.Rho = math.NaN() }, "Dim": func(p *Params) { p.Dim = 0 }, "Max": func(p *Params) { p.Max = 0 },
		"Rows": func(p *Params) { p.Rows = -1 }, "P": func(p *Params) { p.P = 65 }, "Relation": func(p *Params) { p.Relation = 3 },
		"Steps.Group": func(p *Params) { p.Steps.Group = -1 }, "Steps.Search": func(p *Params) { p.Steps.Search = 65 },
		"Steps.Clip": func(p *Params) { p.Steps.Clip = 1 }, "Steps.Floor": func(p *Params) { p.Steps.Floor = 11 },
		"Shares.Centre": func(p *Params) { p.Shares.Centre = -1 }, "Shares.Divisor": func(p *Params) { p.Shares.Divisor = 1 },
		"Shares":           func(p *Params) { p.Shares = Shares{0.5, 0.3, 0.1, 0.1} },
		"Instance = Pairs": func(p *Params) { p.Instance = Pairs }, "Instance = Means": func(p *Params) { p.Instance = Means },
		"Instance = IOME": func(p *Params) { p.Instance, p.NonNegative = IOME, true }, "Instance = Instance(5)": func(p *Params) { p.Instance = 5 },
	} {
		p := good
		change(&p)
		dptest.Refused(t, dptest.Err(New(p)), ErrParams, field, field)
		require.False(t, p.Guarantee().Promises(), field)
	}
}

// Every instance and step releases a valid Mean, with the whole budget spent, that decodes; package
// plan refuses its Params.
func TestInstances(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) // test data
	x := make([][]float64, 400)
	sparse := plan.Sparse{Offsets: []int{0}}
	for j := range x {
		x[j] = []float64{1 + rng.NormFloat64(), 10 * rng.NormFloat64(), 0}
		sparse.Indices = append(sparse.Indices, uint32(j%3))
		sparse.Offsets = append(sparse.Offsets, j+1)
	}
	for _, relation := range []budget.Relation{budget.Replace, budget.AddRemove} {
		for instance := range lastInstance + 1 {
			for _, s := range []Steps{{}, {Origin: true}, {Unscaled: true}, {Group: 3}, {Search: 12}, {Clip: 0.5}, {Floor: 0.25}} {
				for _, nonNegative := range []bool{false, true} {
					p := Params{Rho: 5, Dim: 3, Max: 100, Relation: relation, NonNegative: nonNegative, Instance: instance, Steps: s}
					m, err := New(p)
					if instance == Pairs && relation == budget.AddRemove || instance == Means && !nonNegative || instance == IOME && nonNegative {
						require.ErrorIs(t, err, ErrParams)
						continue
					}
					require.NoError(t, err, "%+v", p)
					require.Equal(t, budget.ZCDP(5, budget.Row(relation)), m.Guarantee())
					require.Equal(t, m.Guarantee(), p.Guarantee())
					require.ErrorIs(t, dptest.Err(plan.New(m.Params())), ErrParams)
					dense := dptest.OK(m.Release(t.Context(), x))(t)
					stored := dptest.OK(m.ReleaseSparse(t.Context(), sparse))(t)
					for _, out := range []*plan.Mean{dense, stored} {
						again, _ := dptest.RoundTrip(t, out)
						require.Equal(t, out, again)
						spent := out.Spent()
						require.InEpsilon(t, 5, spent.Centre+spent.Scale+spent.Clip+spent.Divisor+spent.Sum, 1e-9)
						require.Equal(t, p.Guarantee(), out.Guarantee())
						require.Equal(t, instance != IOME && !s.Unscaled, spent.Scaled)
						require.Equal(t, instance != IOME && (s.Origin || nonNegative || out == stored), out.Centre(0) == 0)
					}
				}
			}
		}
	}
	require.False(t, plan.Params{}.Guarantee().Promises())
}

func TestFalseAlarms(t *testing.T) { dptest.FalseAlarms(t) }
