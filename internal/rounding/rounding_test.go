package rounding

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// kernels are small ones of every shape: R below, at and above the distances that are tried.
var kernels = []Kernel{{2, 6, 9}, {0.7, 3, 5}, {5, 1, 4}, {1.3, 4, 5}, {9, 12, 30}, {0.2, 2, 3}}

// mass returns Pr[L = x], and tail Pr[L ≥ x].
func (k Kernel) mass(x int64) float64 {
	return math.Tanh(1/(2*k.Scale)) * math.Exp(-math.Abs(float64(x))/k.Scale)
}

func (k Kernel) tail(x int64) float64 {
	if x <= 0 {
		return 1 - k.tail(1-x)
	}
	return math.Exp(-float64(x)/k.Scale) / (1 + math.Exp(-1/k.Scale))
}

// up returns g(v) for 0 ≤ v ≤ R.
func (k Kernel) up(v int64, linear bool) float64 {
	if linear {
		return float64(v) / float64(k.From)
	}
	return math.Expm1(float64(v)/k.Scale) / math.Expm1(float64(k.From)/k.Scale)
}

// law returns the masses of the outputs −reach … reach of M(v), what lies beyond added to the last
// ones, and of nothing at 0. Beyond reach, which is above all values, the ratios of two laws are
// constant.
func (k Kernel) law(v, reach int64, linear bool) []float64 {
	l := make([]float64, 2*reach+1)
	size, sign := max(v, -v), int64(1)
	if v < 0 {
		sign = -1
	}
	weight := 1.0
	if size < k.From {
		weight, size = k.up(size, linear), k.From
	}
	for o := k.Threshold; o < reach; o++ {
		l[reach+sign*o] = weight * k.mass(o-size)
	}
	l[reach+sign*reach] = weight * k.tail(reach-size)
	l[reach] = 1 - weight*k.tail(k.Threshold-size)
	return l
}

// excess returns Σ(P − e^x·Q)₊ over the products of the laws, times a for P and b for Q.
func excess(p, q [][]float64, a, b float64) (sum float64) {
	if len(p) == 0 {
		return max(a-b, 0)
	}
	for o, mass := range p[0] {
		if mass > 0 {
			sum += excess(p[1:], q[1:], a*mass, b*q[0][o])
		}
	}
	return sum
}

// The lemma: a step is within e^±r but for the mass of δ₁ upwards and q·δ₁ downwards; and downwards
// within e^λ as it is.
func TestStepsExactly(t *testing.T) {
	for _, k := range kernels {
		reach, r := k.Threshold+k.From+3, 1/k.Scale
		eta, q := math.Exp(k.LogReach()), math.Exp(-r)
		require.InEpsilon(t, k.tail(k.Threshold-k.From), eta, 1e-12)
		step := eta * math.Expm1(r) / math.Expm1(r*float64(k.From))
		require.InEpsilon(t, step, math.Exp(k.LogDelta(r)), 1e-12)
		loss := 1 + eta*(1-q)/((1-eta)*-math.Expm1(-r*float64(k.From)))
		for v := int64(0); v < reach-1; v++ {
			low, high := k.law(v, reach, false), k.law(v+1, reach, false)
			moved := step
			if v >= k.From {
				moved = 0
			}
			check := func(p, q []float64, moved float64) {
				shown := 1 - p[reach]
				for o := range p {
					// moved < 0 where it goes from nothing to what is shown
					changed := p[o] * (1 - moved/shown)
					switch {
					case o == int(reach):
						changed = p[o] + moved
					case shown == 0: // v = 0: all that is moved has the law of what R shows
						changed = -moved * k.law(k.From, reach, false)[o] / eta
					}
					require.LessOrEqual(t, changed, math.Exp(r)*q[o]*(1+1e-12)+1e-13, "%+v: %d, output %d", k, v, o)
					require.LessOrEqual(t, q[o], math.Exp(r)*changed*(1+1e-12)+1e-13, "%+v: %d, output %d", k, v, o)
				}
			}
			check(high, low, moved)
			check(low, high, -moved*q)
			if v < k.From {
				require.InEpsilon(t, moved, excess([][]float64{high}, [][]float64{low}, 1, math.Exp(r)), 1e-9, "%+v: %d", k, v)
				for o := range low {
					require.LessOrEqual(t, low[o], loss*high[o]*(1+1e-12), "%+v: %d, output %d", k, v, o)
				}
			}
		}
	}
}

// Theorems 1 and 2: for all pairs of up to two coordinates of either sign at a distance, the exact
// laws are within δ of one another; Theorem 1 is attained, and a threshold one step lower breaks
// it.
func TestDistanceExactly(t *testing.T) {
	for _, linear := range []bool{false, true} {
		for _, k := range kernels[:5] {
			for _, d := range []int64{1, 2, 3} {
				if linear && d > k.From {
					continue
				}
				reach := k.Threshold + d + 1
				var values []int64
				for _, v := range []int64{0, 1, 2, k.From - 2, k.From - 1, k.From, k.From + 1, k.Threshold} {
					values = append(values, v, -v)
				}
				worst := func(k Kernel) (worst float64) {
					laws := map[int64][]float64{}
					at := func(v int64) []float64 {
						if laws[v] == nil {
							laws[v] = k.law(v, reach+d, linear)
						}
						return laws[v]
					}
					limit := math.Exp(float64(d) / k.Scale)
					for _, v := range values {
						for w := v - d; w <= v+d; w++ {
							worst = max(worst, excess([][]float64{at(v)}, [][]float64{at(w)}, 1, limit))
							left := d - max(v-w, w-v)
							for _, x := range values[:8] {
								for _, y := range []int64{x - left, x + left} {
									worst = max(worst, excess([][]float64{at(v), at(x)}, [][]float64{at(w), at(y)}, 1, limit))
								}
							}
						}
					}
					return worst
				}
				delta := math.Exp(k.LogDelta(float64(d) / k.Scale))
				if linear {
					delta = math.Exp(k.LogDeltaLinear(float64(d)))
				}
				exact := worst(k)
				name := fmt.Sprintf("%+v, linear %v, distance %d", k, linear, d)
				require.LessOrEqual(t, exact, delta*(1+1e-9)+1e-15, name)
				if !linear && d <= k.From {
					require.InEpsilon(t, delta, exact, 1e-9, name)
				}
				if lower := (Kernel{k.Scale, k.From, k.Threshold - 1}); !linear && d <= k.From && lower.Threshold > k.From {
					require.Greater(t, worst(lower), delta*(1+1e-9), name)
				}
			}
		}
	}
}

// Show has the law M(v), summed over all that its two functions can return.
func TestShowHasTheLaw(t *testing.T) {
	dptest.NotShort(t, "half a second")
	for _, linear := range []bool{false, true} {
		for _, k := range kernels {
			far := int64(60*k.Scale) + k.Threshold // beyond are e^−60
			reach := k.Threshold + k.From + 3
			for v := -reach + 1; v < reach; v++ {
				want := k.law(v, reach, linear)
				got := make([]float64, len(want))
				// The numbers that small can return, and with which weights.
				weights := []float64{1}
				switch {
				case max(v, -v) >= k.From:
				case linear:
					weights = make([]float64, k.From)
					for i := range weights {
						weights[i] = 1 / float64(k.From)
					}
				default:
					weights = make([]float64, int64(45*k.Scale)/k.From*k.From+k.From)
					for i := range weights {
						weights[i] = -math.Expm1(-1/k.Scale) * math.Exp(-float64(i)/k.Scale)
					}
				}
				for x := -far; x <= far; x++ {
					mass := k.mass(x)
					for n, weight := range weights {
						o, shown := k.Show(v, func(least int64) (int64, bool) { return x, x >= least }, func() int64 { return int64(n) })
						if !shown {
							o = 0
						}
						got[reach+min(max(o, -reach), reach)] += mass * weight
					}
				}
				for o := range want {
					require.InDelta(t, want[o], got[o], 1e-12, "%+v, linear %v: M(%d) at %d", k, linear, v, int64(o)-reach)
				}
			}
		}
	}
}

// The thresholds are the least ones for their R, and no other R has one lower by b·e^−5.
func TestLeastThresholds(t *testing.T) {
	for _, b := range []float64{0.05, 0.3, 1, 4.2, 60, 1e4} {
		for _, delta := range []float64{0.4, 1e-2, 1e-6, 1e-30} {
			for _, loss := range []float64{1 / b, 3 / b, 1} {
				want := Below(delta)
				require.Less(t, want, math.Log(delta))
				k := Exponential(b, Share, loss, want)
				require.True(t, k.From >= 1 && k.Threshold > k.From, "%+v", k)
				require.LessOrEqual(t, k.LogDelta(loss), want)
				if k.Threshold > k.From+1 {
					require.Greater(t, Kernel{b, k.From, k.Threshold - 1}.LogDelta(loss), want)
				}
				for _, from := range []int64{1, k.From - 1, k.From + 1, 2 * k.From, 5 * k.From} {
					lower := Kernel{b, from, k.Threshold - 1 - int64(math.Ceil(b*math.Exp(-Share)))}
					if from >= 1 && lower.Threshold > from {
						require.Greater(t, lower.LogDelta(loss), want, "%+v instead of %+v", lower, k)
					}
				}
			}
			for _, d := range []float64{1, 2.5, 2 * b} {
				want := Below(delta)
				k := Linear(b, d, want)
				require.True(t, float64(k.From) >= d && k.Threshold > k.From, "%+v", k)
				require.LessOrEqual(t, k.LogDeltaLinear(d), want)
				if k.Threshold > k.From+1 {
					require.Greater(t, Kernel{b, k.From, k.Threshold - 1}.LogDeltaLinear(d), want)
				}
			}
		}
	}
}
