package estimates

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
		{"-releases", "0"}, {"-sets", "none"}, {"-fit", "10"}, {"-baskets", "0"}, {"-blocks", "3"}, {"-fine", "-1"}, {"-alone", "1"},
	})
}

// What is fitted to a stream has its length, its number of articles and what those sold that are
// alone in their group; -fit prints it.
func TestFit(t *testing.T) {
	stream := mustLoad(t, "bms1").draw(7)
	a := fit(stream, 100, 20, 32, 16)
	require.Len(t, a, 100)
	articles, total := 0, 0
	for _, g := range a {
		articles += g.articles
		total += sum(g.sold)
	}
	require.Equal(t, len(stream), total)
	truth := count(stream)
	require.Equal(t, len(truth), articles)
	for _, key := range top(truth, 10) {
		require.True(t, slices.ContainsFunc(a, func(g group) bool {
			return g.articles == 1 && len(g.sold) >= 32 && float64(sum(g.sold)) == truth[key]
		}), "the most frequent articles are each a group")
	}
	again := count(a.draw(1))
	key := uint64(0)
	for _, g := range a {
		if g.articles == 1 {
			require.EqualValues(t, sum(g.sold), again[key], "an article alone in its group sells what it sold")
		}
		key += uint64(g.articles)
	}

	var lines strings.Builder
	for i, key := range stream {
		lines.WriteString(strconv.FormatUint(key, 10))
		lines.WriteByte(" \n"[i%10/9])
	}
	file := filepath.Join(t.TempDir(), "baskets.dat")
	require.NoError(t, os.WriteFile(file, []byte(lines.String()), 0o600))
	var printed bytes.Buffer
	require.NoError(t, a.write(&printed))
	out := clitest.Output(t, new(options), []string{"-data", file, "-fit", "100", "-alone", "20", "-blocks", "32", "-fine", "16"}, nil)
	require.Equal(t, printed.String(), out)
}

func sum(list []int) (sum int) {
	for _, n := range list {
		sum += n
	}
	return sum
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
