package main

import (
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// The 500 sampled URLs without requests are read as exactly 0 by the list, which has none of them,
// and by dense Laplace noise cut at 0 as ½ on average, within 0.3 but for 1e-9 (Bernstein's
// inequality; the variance of one is ¾). Whatever they hold, tables have the size that was asked
// for, here 100 bits a URL.
func TestProgram(t *testing.T) {
	clitest.Seed(t)
	out := clitest.Output(t, new(options), []string{"-urls", "2000", "-sample", "500", "-epsilon", "1"},
		[]string{"of 2000 URLs out of 2⁶⁴", "columns", "thesis's ALP", "threshold", "dense Laplace", "ε = 1, δ = 1e-9 for", "\n  0 ", "over 100"})
	if zeros := clitest.Numbers(t, out, "  0  ", 5); zeros[2] != 0 || !(math.Abs(zeros[3]-0.5) < 0.3) || zeros[4] != 500 {
		t.Errorf("zeros: %v", zeros)
	}
	sampled := 0.0
	for _, r := range ranges[1:] {
		row := clitest.Numbers(t, out, "  "+r.name+"  ", 5)
		sampled += row[4]
		for _, off := range row[:4] {
			if !(off >= 0 && off < 1e6) {
				t.Errorf("%s: %v", r.name, row)
			}
		}
	}
	if sampled != 500 {
		t.Errorf("%g URLs with requests are in the sample", sampled)
	}
	if bytes := clitest.Numbers(t, out, "  bytes", 3); !(math.Abs(bytes[0]/25_000-1) < 0.2 && math.Abs(bytes[1]/25_000-1) < 0.2 && bytes[2] < 25_000) {
		t.Errorf("bytes: %v", bytes)
	}
	clitest.Output(t, new(options), []string{"-urls", "500", "-delta", "0"}, []string{"ε = 1 for vectors"})
	// A range that no URL of the sample lies in has no error.
	clitest.Output(t, new(options), []string{"-urls", "1"}, []string{"                  –              –              –              –          0\n"})
}

func TestUsage(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		{"-epsilon", "0"}, {"-delta", "2"}, {"-urls", "0"}, {"-urls", "9999999999"}, {"-sample", "0"}, {"-bits", "-1"}, {"file"}, {"-nonsense"},
	})
}

func TestBrokenOutput(t *testing.T) {
	clitest.BrokenOutput(t, new(options), "-urls", "100")
}

// What the comparison is there to show: columns beat the thesis's mechanism at every size, and the
// list alone for all counts that it hides; listed counts have Laplace noise. The margins are
// several times the standard errors of the thousands of counts in each range.
func TestOrder(t *testing.T) {
	clitest.Seed(t)
	c, err := compare(options{epsilon: 1, delta: 1e-9, bits: 100, urls: 20_000, sample: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	columns, thesis, list, dense := c.ways[0], c.ways[1], c.ways[2], c.ways[3]
	for i, r := range ranges {
		if columns.mean(i) > 0.8*thesis.mean(i) {
			t.Errorf("counts %s: columns %.2f, the thesis %.2f", r.name, columns.mean(i), thesis.mean(i))
		}
	}
	if columns.mean(3) > 0.5*list.mean(3) {
		t.Errorf("counts %s: columns %.2f, list %.2f", ranges[3].name, columns.mean(3), list.mean(3))
	}
	if last := len(ranges) - 1; math.Abs(columns.mean(last)-dense.mean(last)) > 0.3 {
		t.Errorf("large counts: columns %.2f, Laplace %.2f", columns.mean(last), dense.mean(last))
	}
	if columns.mean(0) > 1.3 { // of collisions with counts that are not listed
		t.Errorf("zeros: %.2f", columns.mean(0))
	}
}
