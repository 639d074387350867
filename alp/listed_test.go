package alp

import (
	"fmt"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// On a logarithmic axis the bins grow with the value: from where they are wider than the noise of
// the list on, a listed entry is what the list says, with the list's own error.
func TestListedOnALogarithmicAxis(t *testing.T) {
	for i, base := range []float64{1.1, 2, 100} {
		for j, turn := range []float64{0, 1e3, 1e5, 1e7} {
			for _, signed := range []bool{false, true} {
				if signed != ((i+j)%2 > 0) && !dptest.Long() {
					continue
				}
				p := Params{Epsilon: 1, Delta: 1e-6, Sparsity: 50, Signed: signed, Variant: Variant{Base: base, Turn: turn}}
				r := dptest.OK(p.resolved())(t)
				least, scale, err := r.listReach()
				require.NoError(t, err)
				step, _ := r.grid()
				a, _ := r.split()
				noise := scale / float64(a) * step // below Turn, in units of the data
				for _, share := range []float64{1e-4, 1e-2, 0.1, 0.5, 0.97, 1, 1.03, 3} {
					top := share * r.Turn
					if top*float64(a)/step < 2*least { // not surely listed
						continue
					}
					values := make([]float64, 50)
					for i := range values {
						values[i] = top
					}
					v := released(t, p, values)
					var medians errors
					for i, x := range values {
						medians.add(v.Estimate(scatter(i)), x)
					}
					name := fmt.Sprintf("base %v, turn %v, value %v", base, r.Turn, top)
					// The sum of 50 exponential variables is above 2.5 times
					// its mean with probability below e^−29, by Chernoff.
					dptest.Alarm(t, 1e-12)
					require.Less(t, medians.mean(), 2.5*noise, name)
				}
			}
		}
	}
}
