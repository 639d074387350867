package column

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// prepared returns what draws a release of these values.
func prepared(t *testing.T, c dptest.QuantileCase) (*counts, func() *Quantiles) {
	s := heldCounts(quantileBuilder(t, quantilesOf(Params{Epsilon: c.Epsilon, Min: c.LeastEnd, Max: c.MostEnd}, c.Levels...), c.Sorted...))
	return s, s.release
}

// No quantile is far outside of where rows are, and intervals hold, for all laws, ranges, ε and
// sets of levels; where nothing were unknown, one release in ten and more would be. In long
// runs these are 12,240 releases, and at most 12 are.
func TestNoAbsurdQuantile(t *testing.T) {
	ns, epsilons, runs := []int{500, 5000}, []float64{1}, 2
	if dptest.Long() {
		ns, epsilons, runs = []int{500, 2000, 5000, 25_000, 100_000}, []float64{.1, 1, 4}, 4
	}
	releases, astray, unguarded := dptest.QuantileSuite(t, ns, epsilons, [][]float64{{.5}, {.99}, {.5, .9, .99}, {.5, .9, .95, .99, .999}}, runs,
		func(c dptest.QuantileCase) (func() []dptest.QuantileAnswer, func(float64) int64) {
			s, release := prepared(t, c)
			return func() (answers []dptest.QuantileAnswer) {
				q := release()
				for i, level := range c.Levels {
					lo, hi := q.Interval(level, .95)
					answers = append(answers, dptest.QuantileAnswer{Value: q.Quantile(level), Low: lo, High: hi, Cell: int64(q.cells[i])})
				}
				return answers
			}, s.axis.Cell
		})
	t.Logf("%d of %d releases are astray; %d without the guard", astray, releases, unguarded)
	require.True(t, dptest.Control(t, unguarded > releases/10, 1e-12), "without the guard: %d of %d", unguarded, releases)
	if dptest.Long() {
		require.LessOrEqual(t, astray, releases/1000)
	}
}

// At ε = 1 a level is known in nine of ten releases of all laws, from the numbers of rows on that
// Quantile's comment says, alone and with others, without a range.
func TestKnownQuantiles(t *testing.T) {
	runs := dptest.Full(40, 3)
	for _, c := range []struct {
		levels []float64
		level  float64
		rows   int
	}{{[]float64{.5}, .5, 300}, {[]float64{.95}, .95, 2000}, {[]float64{.99}, .99, 9000}, {three, .5, 800}, {three, .9, 2000}, {three, .99, 13_000}} {
		known, all := int64(0), int64(0)
		for _, column := range dptest.Columns {
			_, release := prepared(t, dptest.QuantileCase{Column: column, Epsilon: 1, Levels: c.levels, Sorted: column.Values(c.rows)})
			for range runs {
				if x := release().Quantile(c.level); x == x {
					known++
				}
				all++
			}
		}
		t.Logf("p%v of %v: known in %d of %d releases", 100*c.level, c.levels, known, all)
		_, most := dptest.ClopperPearson(known, all, 1-1e-10)
		dptest.Alarm(t, 1e-10)
		require.GreaterOrEqual(t, most, .9)
	}
}

var three = []float64{.5, .9, .99}
