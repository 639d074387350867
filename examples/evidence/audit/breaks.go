package audit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
)

// flaw is an edit of internal/audit/mutation, by its package and name, and a mechanism that it
// breaks.
type flaw struct{ edit, mechanism string }

// rounds are planted together, each in another package and found by a mechanism of that package
// alone, so that the library is compiled a few times only.
var rounds = [][]flaw{
	{
		{"misragries: shared noise left out", "misragries KeptZeros, all counters"}, {"internal/sparse: noise of half the scale", "threshold Laplace, far above"}, {"kor: count without noise", "kor"},
		{"arete: shares of half the rate", "arete, sum of two shares"}, {"elliptical: one coordinate without noise", "elliptical Laplace"}, {"elliptical/column: a coordinate without noise", "column, a row between"},
		{"jl: the last row without noise", "jl SJLT, Laplace"}, {"noise/approx: subexponential noise of half the scale", "approx Laplace"},
		{"plan/internal/means: half the sensitivity of the sum under Replace", "plan Plain"}, {"misragries/series: counts of known keys without noise", "series, listed keys"},
		{"alp: a step costs the square of what it may: noise halved", "alp ColumnsOnly"}, {"threshold/groupby: weights without noise", "groupby, far above"},
		{"noise: own noise left out", "threshold CorrelatedGaussian, one key"},
	},
	{
		{"misragries: own noise left out", "misragries KeptZeros, one counter"}, {"internal/sparse: dense: zeros without noise", "threshold DenseLaplace"}, {"kor: streams: p half of what it must be", "kor, stream"},
		{"arete: drop-outs not made up for", "arete, one of two shares missing"}, {"elliptical: values not clamped to their interval", "elliptical Laplace"}, {"elliptical/column: noise too small", "column, one moment"},
		{"jl: noise for half the sensitivity", "jl SRHT, Gaussian"}, {"noise: shared noise drawn anew for each key", "threshold CorrelatedGaussian, many keys"},
		{"threshold/groupby: a second pass shows all", "groupby, second pass, the only key"}, {"plan/internal/means: many columns have the sensitivity of one", "plan Thesis, a row turns"},
		{"alp: the columns take the list's share of the budget, too", "alp SplitAxis, just below the turn"},
	},
	{
		{"misragries/internal/thresholds: threshold lower by one", "misragries KeptZeros, a rare key"}, {"internal/sparse: no false keys", "threshold PureLaplace"}, {"arete: a party's number clamped to twice its range", "arete, a party replaced"},
		{"elliptical: one uniform number for all coordinates of a group", "elliptical Box"}, {"kor/distinct: bits released without flips", "distinct, count and bits"},
		{"noise: Student-type proposal of too small a scale", "approx Student"}, {"misragries: reduced: small values always rounded up", "misragries Sum, a rare key"},
	},
	{
		{"misragries: the true number of decrements told", "misragries KeptZeros, all counters"}, {"kor/distinct: running: no noise in a slot", "distinct, running total"},
	},
	{
		{"kor/distinct: windows: no noise in a class", "distinct, windows"}, {"misragries/series: the whole δ for each discovery span", "series, a rare key"},
		{"internal/quantile: quantiles under Replace calibrated as for a row more", "plan Thesis, a median"}, {"threshold/groupby: listed: counts clipped as for normal noise", "groupby, listed keys"},
	},
}

// breaks plants the flaws, round by round, and audits what each breaks with the binary that has it.
// The binary is given to also, and then removed.
func breaks(wanted *regexp.Regexp, also func(flaws []flaw, binary string) error) error {
	work, err := os.MkdirTemp("", "audit")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fmt.Println("| planted | audited | found |\n|---|---|---|")
	found, planted := atomic.Int64{}, 0
	for i, round := range rounds {
		var flaws []flaw
		for _, f := range round {
			if wanted.MatchString(f.edit) {
				flaws = append(flaws, f)
			}
		}
		if len(flaws) == 0 {
			continue
		}
		binary, err := broken(filepath.Join(work, fmt.Sprint(i)), round)
		if err != nil {
			return err
		}
		planted += len(flaws)
		inOrder(len(flaws), func(i int) string {
			f := flaws[i]
			out, err := exec.Command(binary, "audit", "-run", "^"+regexp.QuoteMeta(f.mechanism)+"$").Output()
			result := "no"
			if err != nil && strings.Contains(string(out), "EXCEEDED") {
				found.Add(1)
				_, result, _ = strings.Cut(string(out), "EXCEEDED ")
				result, _, _ = strings.Cut(result, " |")
			}
			return fmt.Sprintf("| %s | %s | %s |\n", f.edit, f.mechanism, result)
		})
		if err := also(flaws, binary); err != nil {
			return err
		}
	}
	fmt.Printf("\n%d of %d found\n", found.Load(), planted)
	return nil
}

// broken compiles this command with the flaws in the library.
func broken(dir string, flaws []flaw) (binary string, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	var names []string
	for _, f := range flaws {
		dir, name, _ := strings.Cut(f.edit, ": ")
		names = append(names, "^"+dir+"/[^/]*: "+regexp.QuoteMeta(name)+"$")
	}
	pattern := strings.Join(names, "|")
	plant := exec.Command("go", "run", "./internal/audit/mutation", "-overlay", dir, "-run", pattern)
	plant.Dir = filepath.Join("..", "..") // the library's module
	if out, err := plant.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	binary = filepath.Join(dir, "audit")
	out, err := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}
