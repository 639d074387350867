package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
)

// The program prints the true numbers, which are known, and they are in the intervals, at a
// confidence of 1 − 1e-9 each.
func TestProgram(t *testing.T) {
	clitest.Seed(t)
	clitest.Output(t, new(options), nil, []string{
		"A is Genesis, B is Exodus", "ε = 2 for one key", "95 % interval", "\n  A∪B ", "\n  A∩B ", "\n  A∖B ", "\n  B∖A "})
	out := clitest.Output(t, new(options), []string{"-confidence", "0.999999999"}, []string{"99.9999999 % interval"})
	for name, truth := range map[string]float64{"A": 2509, "B": 2052, "A∪B": 3404, "A∩B": 1157, "A∖B": 1352, "B∖A": 895} {
		row := clitest.Numbers(t, out, "  "+name+"  ", 5)
		estimate, stdErr, lo, hi := row[0], row[1], row[2], row[3]
		clitest.Not(t, row[4] != truth || !(lo-0.1 <= truth && truth <= hi+0.1 && lo < estimate && estimate < hi && stdErr > 0 && stdErr < 200), "%s is %g: %v", name, truth, row)
	}
	clitest.Output(t, new(options), []string{"-a", "matthew", "-b", "LUKE", "-cells", "64", "-levels", "5",
		"-epsilon", "0.1", "-confidence", "0.5"}, []string{"A is Matthew, B is Luke", "50 % interval"})
	if _, err := compare(nil, nil); !errors.Is(err, distinct.ErrFormat) {
		t.Error(err)
	}
}

func TestUsage(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		{"-epsilon", "0"}, {"-epsilon", "NaN"}, {"-cells", "-1"}, {"-levels", "65"}, {"-share", "1"}, {"-share", "0"},
		{"-confidence", "1"}, {"-a", "Nobody"}, {"-b", ""},
		{"-cohorts", "1"}, {"-cohorts", "32"}, {"-svg", "x.svg"}, {"file"}, {"-nonsense"},
	})
}

func TestBrokenOutput(t *testing.T) {
	clitest.BrokenOutput(t, new(options))
}

// The verses of the books are those of the text, and their words what they are known to be: the
// books begin and end with them.
func TestBooks(t *testing.T) {
	text := cli.Must(kjv.Load())
	total := 0
	for _, b := range books {
		total += b.verses
	}
	clitest.Not(t, total != 31102, "%d verses", total)
	starts := map[int]string{0: "in the beginning god", 1533: "now these are the", 31102 - 404: "the revelation of jesus"}
	verse := 0
	for words := range text.Verses() {
		if want := starts[verse]; want != "" && !strings.HasPrefix(strings.Join(words, " "), want) {
			t.Errorf("verse %d begins %q", verse, words)
		}
		verse++
	}
	genesis, exodus := words(text, books[0]), words(text, books[1])
	clitest.Not(t, !genesis["rebekah"] || genesis["sinai"] || !exodus["sinai"], "words in the wrong book")
}

// The true numbers of the first books are in the intervals of the whole triangle, and in the
// picture is a box for each.
func TestCohorts(t *testing.T) {
	clitest.Seed(t)
	file := filepath.Join(t.TempDir(), "cohorts.svg")
	out := clitest.Output(t, new(options), []string{"-cohorts", "5", "-svg", file, "-confidence", "0.999999999"}, []string{"ε = 2", "Genesis", "  Deuteronomy"})
	if row := clitest.Numbers(t, out, "  Genesis  ", 8); row[3] != 2509 || row[7] < 500 {
		t.Errorf("Genesis: %v", row)
	}
	svg, err := os.ReadFile(file)
	clitest.Not(t, err != nil || bytes.Count(svg, []byte("<rect")) != 15 || !bytes.Contains(svg, []byte("Exodus+")), "%v: %s", err, svg)
	c := cli.Must(newTriangle(distinct.Params{Epsilon: 1, Seed: hashing.NewSeed()}, cli.Must(kjv.Load()), books[:5]))
	for i, row := range c.sizes {
		for j, size := range row {
			if lo, hi := size.Interval(1 - 1e-9); float64(c.truths[i][j]) < lo || float64(c.truths[i][j]) > hi {
				t.Errorf("new in %s, seen %d books later: %d not in [%v, %v]", c.names[i], j, c.truths[i][j], lo, hi)
			}
		}
	}
}
