package rank

import (
	"math"
	"math/big"
	"math/bits"
	"slices"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/stretchr/testify/require"
)

// placed are rows whose places are known.
type placed []int64

func (r placed) Place(rank int64) int64 { return r[rank] }
func (r placed) Below(x int64) int64 {
	n, _ := slices.BinarySearch(r, x)
	return int64(n)
}

// lawOf returns the probability of every place of a part.
func lawOf(p Part, rows Ordered) map[int64]float64 {
	all, total := p.Segments(rows), new(big.Int)
	for _, s := range all {
		total.Add(total, s.Mass())
	}
	law := map[int64]float64{}
	for _, s := range all {
		mass, _ := new(big.Rat).SetFrac(s.Mass(), new(big.Int).Mul(total, big.NewInt(s.Length))).Float64()
		for x := s.From; x < s.From+s.Length; x++ {
			law[x] += mass
		}
	}
	return law
}

// One more row changes no weight by more than half of the loss, at every number of rows: that is
// what the proof asks for. And some weight changes by that.
func TestWeightRatios(t *testing.T) {
	for _, loss := range []float64{0x1p-33, 1e-3, 0.1, 1, 5} {
		for _, q := range []float64{1e-6, 0.1, 1.0 / 3, 0.5, 0.75, 1 - 1e-6} {
			worst := 0.0
			for _, n := range []int64{0, 1, 2, 9, 100, 1 << 20, 1 << 40} {
				for _, lo := range []int64{0, 1, n / 3, n / 2, n - 1, n} {
					for _, at := range []int64{0, 1, 2, n / 2} {
						if lo < 0 || lo+at > n {
							continue
						}
						for _, off := range []int64{0, -3, 7} {
							a, b := Padded{N: n, More: 7}.Part(q, loss, off), Padded{N: n + 1, More: 7}.Part(q, loss, off)
							for _, more := range [][2]int64{{0, 0}, {0, 1}, {1, 1}} {
								// the row is behind the place, at it, or before it
								worst = max(worst, math.Abs(math.Log(a.weight(lo, lo+at)/b.weight(lo+more[0], lo+at+more[1]))))
							}
						}
					}
				}
			}
			require.LessOrEqual(t, worst, loss/2)
			if loss >= 0.1 {
				require.Greater(t, worst, 0.99*loss/2)
			}
		}
	}
}

// Segments cover the part once, with the weight of each place, also where rows are so many that
// those far from the quantile are not looked at.
func TestSegments(t *testing.T) {
	for _, n := range []int{0, 1, 5, 40, 300} {
		var rows placed
		for i := range n {
			rows = append(rows, int64(i*i%997))
		}
		slices.Sort(rows)
		for _, q := range []float64{0.01, 0.3, 0.5, 0.98} {
			first, last := int64(n/10), int64(n-n/20)
			p := NewPart(0, 1000, first, last, q, 6)
			if n > 0 {
				p.from, p.to = rows[first], rows[last-1]+1
			}
			next := p.from
			for _, s := range p.Segments(rows) {
				require.Equal(t, next, s.From)
				for x := s.From; x < s.From+s.Length; x++ {
					lo, hi := min(max(rows.Below(x)-first, 0), last-first), min(max(rows.Below(x+1)-first, 0), last-first)
					require.Equal(t, p.weight(lo, hi), s.Weight, "n = %d, q = %v, x = %d", n, q, x)
				}
				next += s.Length
			}
			require.Equal(t, p.to, next)
		}
	}
	require.Equal(t, new(big.Int).Lsh(big.NewInt(1), unitBits).String(), integer(1).String())
	require.Equal(t, new(big.Int).Lsh(big.NewInt(1), unitBits-floorBits).String(), integer(leastWeight).String())
}

// The draw has the law of the segments.
func TestChoose(t *testing.T) {
	rows := placed{1, 1, 4, 6, 6, 7}
	p := NewPart(0, 9, 0, 6, 0.4, 0.7)
	law := lawOf(p, rows)
	var src noise.Source
	observed, expected := make([]int64, 9), make([]float64, 9)
	for range 20_000 {
		observed[p.Choose(rows, &src)]++
	}
	sum := 0.0
	for x, mass := range law {
		expected[x] = mass
		sum += mass
	}
	require.InDelta(t, 1, sum, 1e-12)
	for i := range expected {
		expected[i] *= 1 - 1e-12
	}
	dptest.ChiSquare(t, "choose", observed, expected, 1e-9)
	for _, n := range []int64{1, 2, 3, 1000} {
		for range 100 {
			u := below(big.NewInt(n), &src)
			require.True(t, u.Sign() >= 0 && u.Cmp(big.NewInt(n)) < 0)
		}
	}
}

// Places that are drawn as far as they are asked for have the law of independent uniform ones: in a
// cell of three halvings, the numbers of rows at each place are multinomial. Here, by χ² for each
// place of many cells together, and the number of rows in one half by its binomial law.
func TestJitter(t *testing.T) {
	var src noise.Source
	const runs = 3000
	observed := make([]int64, 8)
	halves, expected := make([]int64, 101), make([]float64, 101)
	for range runs {
		j := NewJittered(0, map[int64]int64{3: 100}, 3, &src)
		before := int64(0)
		for x := range int64(8) {
			n := j.Below(24 + x + 1)
			observed[x] += n - before
			before = n
		}
		halves[j.Below(28)]++
	}
	dptest.ChiSquare(t, "places", observed, []float64{0.125, 0.125, 0.125, 0.125, 0.125, 0.125, 0.125}, 1e-9)
	for k := range expected {
		lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
		expected[k] = math.Exp(lg(100)-lg(k)-lg(100-k)-100*math.Ln2) * (1 - 1e-9)
	}
	dptest.ChiSquare(t, "halves", halves, expected, 1e-9)
	// Ranks and places agree, whatever is asked for first.
	for _, bits := range []uint{0, 2, 10, 32} {
		j := NewJittered(0, map[int64]int64{0: 1000, 5: 1, 6: 40, 1 << 20: 70_000}, bits, &src)
		require.EqualValues(t, 71_041, j.Len())
		last := int64(0)
		for _, rank := range []int64{500, 999, 1000, 1001, 1040, 1041, 40_000, 71_040} {
			x := j.Place(rank)
			require.LessOrEqual(t, j.Below(x), rank)
			require.Greater(t, j.Below(x+1), rank)
			require.GreaterOrEqual(t, x, last)
			last = x
		}
		require.EqualValues(t, 1000, j.Below(1<<bits))
		require.EqualValues(t, 1000, j.Below(5<<bits))
		require.EqualValues(t, 1041, j.Below(7<<bits))
		require.EqualValues(t, 71_041, j.Below((1<<20+1)<<bits))
	}
	var ones int64
	for range 100 {
		require.LessOrEqual(t, halved(&src, 3), int64(3))
		ones += halved(&src, 100_001)
	}
	dptest.Tail(t, "halved", ones, 100*100_001, 0.5, 1e-9)
}

// In each round every row lies in one part at most, and no place in two.
func TestPartsAreDisjoint(t *testing.T) {
	rows := placed{0, 0, 3, 5, 5, 5, 8, 9, 9, 12, 15, 15}
	for m := 1; m <= 12; m++ {
		var levels []float64
		for i := range m {
			levels = append(levels, float64(i+1)/float64(m+1))
		}
		var parts []Part
		var src noise.Source
		found := Many(rows, 16, int64(len(rows)), levels, 2, func(p Part) int64 {
			parts = append(parts, p)
			return p.Choose(rows, &src)
		})
		require.True(t, slices.IsSorted(found))
		rounds := 0
		for x := range int64(16) {
			holders := 0
			for _, p := range parts {
				if p.from <= x && x < p.to {
					holders++
					require.Equal(t, rows.Below(p.from), p.first)
					require.Equal(t, rows.Below(p.to), p.last)
				}
			}
			rounds = max(rounds, holders)
		}
		require.LessOrEqual(t, rounds, bits.Len(uint(m)), "the parts that hold a place are as many as the rounds that are paid for")
	}
}
