package estimates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func TestProgram(t *testing.T) {
	clitest.Seed(t)
	defer func(n int) { madeLength = n }(madeLength)
	madeLength = dptest.Full(madeLength, 100_000)
	clitest.Output(t, new(options), []string{"-sets", "bms1", "-releases", "1"},
		[]string{"Estimate", "64 blocks", "TrimmedSum", "King James"})
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		{"-releases", "0"}, {"-sets", "none"}, {"-baskets", "0"},
	})
}

// What is drawn has its articles, and those that are alone in their group sell what they sold.
func TestDraw(t *testing.T) {
	a := mustLoad(t, "bms1")
	drawn, key := count(a.draw(1)), uint64(0)
	for _, g := range a {
		sold := 0
		for _, n := range g.sold {
			sold += n
		}
		if g.articles == 1 {
			require.EqualValues(t, sold, drawn[key])
		}
		key += uint64(g.articles)
	}
	for article := range drawn {
		require.Less(t, article, key)
	}
}

// A file of baskets is one stream.
func TestData(t *testing.T) {
	file := filepath.Join(t.TempDir(), "baskets.dat")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("1 2,3\n4\t5\r\n", 200)), 0o600))
	stream, err := read(file, 3)
	require.NoError(t, err)
	require.Equal(t, []uint64{1, 2, 3, 4, 5, 1, 2, 3}, stream)
	require.NoError(t, os.WriteFile(file, []byte("1 x\n"), 0o600))
	_, err = read(file, 1)
	require.Error(t, err)
}

func mustLoad(t *testing.T, name string) assortment {
	t.Helper()
	a, err := load(name)
	require.NoError(t, err)
	return a
}

// Rows of the tables of the README, the one of one stream measured on the real set: the generated
// ones are within 10 %. The ten most frequent are within ±5 by the default, where Lower is off by
// D.
func TestReadings(t *testing.T) {
	if testing.Short() {
		t.Skip("draws streams of a million elements")
	}
	clitest.Seed(t)
	a := mustLoad(t, "retail")
	one, summed := &row{k: 1024, sketches: 1}, &row{k: 1024, sketches: 64}
	const releases = 2
	for seed := range uint64(releases) {
		stream := a.draw(seed)
		truth := count(stream)
		for _, r := range []*row{one, summed} {
			for _, h := range r.release(stream, seed) {
				r.add(h, truth, top(truth, 10))
			}
		}
	}
	for _, c := range []struct {
		row     *row
		reading int
		want    float64
	}{
		{one, lower, 527}, {one, best, 162}, {summed, lower, 367}, {summed, best, 184},
	} {
		require.InEpsilon(t, c.want, c.row.all[c.reading]/c.row.shown, 0.1, "%+v, %v", c.row, c.reading)
	}
	require.Less(t, one.heavy[best]/one.shownOfHeavy, 5.0)
	require.Greater(t, one.heavy[lower]/one.shownOfHeavy, 600.0)
}
