package replay_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/audit/replay"
	"github.com/dpsketch/dpsketch/noise"
)

// frozen reports whether this binary has the overlay.
func frozen() bool {
	return len(replay.Record(func() { new(noise.Source).Uint64() })) == 1
}

// build returns this package's tests as a binary with the overlay, and with other texts in place of
// some files of the library, by their paths from the root.
func build(t *testing.T, edited map[string]string) (binary string) {
	t.Helper()
	root := dptest.OK(filepath.Abs("../../.."))(t)
	work := t.TempDir()
	replace := dptest.OK(replay.Overlay(root, work))(t)
	for file, text := range edited {
		to := filepath.Join(work, strings.ReplaceAll(file, "/", "_"))
		require.NoError(t, os.WriteFile(to, []byte(text), 0o600))
		replace[filepath.Join(root, filepath.FromSlash(file))] = to
	}
	overlay := dptest.OK(json.Marshal(map[string]any{"Replace": replace}))(t)
	list := filepath.Join(work, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	binary = filepath.Join(work, "replay.test")
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay="+list, "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}

// again runs the tests of a name in the binary.
func again(binary, name string) (out string, err error) {
	args := []string{"-test.run=^" + name, "-test.v", "-long"}
	if dptest.Deep() {
		args = append(args, "-deep")
	}
	text, err := exec.Command(binary, args...).CombinedOutput()
	return string(text), err
}

// told returns the output without the tests that passed.
func told(out string) string {
	var left []string
	for line := range strings.Lines(out) {
		if trimmed := strings.TrimSpace(line); !strings.HasPrefix(trimmed, "===") && !strings.HasPrefix(trimmed, "--- PASS") && !strings.Contains(trimmed, " draws") {
			left = append(left, line)
		}
	}
	return strings.Join(left, "")
}

// replayed are the tests that need frozen noise.
var replayed = []string{"TestFrozen", "TestReleases", "TestControls", "TestDeclaredDifferences", "TestOddRows", "TestProduct", "TestProductControls"}

// TestReplay runs them.
func TestReplay(t *testing.T) {
	dptest.NeedsLong(t) // compiles the library anew
	if frozen() {
		t.Skip("this is the binary with frozen noise")
	}
	out, err := again(build(t, nil), "("+strings.Join(replayed, "|")+")$")
	if testing.Verbose() {
		t.Log(out)
	}
	require.NoError(t, err, "%s", told(out))
	for _, name := range replayed {
		require.True(t, strings.Contains(out, "--- PASS: "+name+" "), name)
	}
}

// plants are draws that depend on data, one in each of some mechanisms, with the test that finds
// it.
var plants = []struct{ file, old, new, found string }{
	{"misragries/builder.go", "y := cutSum(one.Count, eta)", "if one.Count == 91 { src.Uint64() }; y := cutSum(one.Count, eta)", "TestReleases/misragries.Builder.Release"},
	{"internal/sparse/release.go", "x := int64(sample())", "if e.Steps%3 == 0 { src.Uint64() }; x := int64(sample())", "TestReleases/threshold.Builder.Release"},
	{"elliptical/column/noise.go", "y := l.exact(t, i)", "y := l.exact(t, i); if y.Bit(0) != 0 { src.Uint64() }", "TestReleases/elliptical/column.Builder.Release"},
	{"noise/approx/mechanism.go", "	m.left--", "	m.left--; if estimate > 10.5 { m.src.Uint64() }", "TestReleases/noise/approx.Mechanism.Release/AutoNoise_1_0"},
	// a sensitivity a little too large
	{"jl/builder.go", "values[i] += draw()", "values[i] += draw() + values[i]/1024", "TestProduct/jl.Builder.Release"},
	{"kor/distinct/running.go", "now := ones(s.table)", "now := ones(s.table); now *= 2", "TestProduct/kor/distinct.RunningBuilder.Step"},
	{"plan/internal/means/clip.go", "out[i] = r.samplers[0].addNoise(sum, gaussian)", "out[i] = r.samplers[0].addNoise(sum+sum/512, gaussian)", "TestReleases/plan.Mechanism.Release/Thesis,_sum,_row_1"},
	{"alp/builder.go", "Steps: s.phi(e.Steps)}", "Steps: s.phi(e.Steps) + s.phi(e.Steps)/16}", "TestProduct/alp.Builder.Release"},
}

// planted returns the text of a file with a flaw in it.
func planted(t *testing.T, file, old, flaw string) string {
	t.Helper()
	source := string(dptest.OK(os.ReadFile(filepath.Join("../../..", filepath.FromSlash(file))))(t))
	require.Equal(t, 1, strings.Count(source, old), "%s: %s", file, old)
	return strings.Replace(source, old, flaw, 1)
}

// TestPlantsApply finds the place of each flaw, as the tests that plant them are long.
func TestPlantsApply(t *testing.T) {
	for _, p := range plants {
		planted(t, p.file, p.old, p.new)
	}
	for _, p := range productPlants {
		planted(t, p.file, p.old, p.new)
	}
}

// TestPlantedDraws plants them all in a copy of the library: each fails its test, and nothing else
// does but what releases by the same code.
func TestPlantedDraws(t *testing.T) {
	dptest.NeedsLong(t)
	if frozen() {
		t.Skip("this is the binary with frozen noise")
	}
	edited := map[string]string{}
	for _, p := range plants {
		edited[p.file] = planted(t, p.file, p.old, p.new)
	}
	binary := build(t, edited)
	out, err := again(binary, "TestReleases$")
	require.Error(t, err, "nothing was found")
	more, err := again(binary, "TestProduct$/^(jl|alp|kor)")
	require.Error(t, err, "nothing was found")
	for _, p := range plants {
		require.True(t, strings.Contains(out+more, "--- FAIL: "+p.found), "%s: %s", p.file, p.found)
	}
	require.Contains(t, out, "--- PASS: TestReleases/kor.Builder.Release/")
}

// productPlants are flaws that a list of cases did not see, with the release in whose product each
// is seen. Most were in the library once.
var productPlants = []struct{ name, file, old, new, found string }{
	{"a table without widths", "threshold/groupby/users.go", "newTable(keys, width)", "newTable(keys, 0*width)", "threshold/groupby.Builder.Release"},
	{"rows of a pair are joined by a sum that saturates", "threshold/groupby/rows.go",
		"func wrapped(a, b int64) int64 { return a + b }", "func wrapped(a, b int64) int64 { return sum(a, b) }", "threshold/groupby.Rows.Release"},
	{"a merge forgets a column", "threshold/groupby/builder.go", "o.table.lost(n))", "o.table.lost(n)[:min(1, o.table.width)])", "threshold/groupby.Builder.Release"},
	{"a restore forgets a column", "threshold/groupby/private.go", "copy(t.lost(i), readSums(r, width, 0))", "copy(t.lost(i)[:0], readSums(r, width, 0))", "threshold/groupby.Builder.Release"},
	{"an option is read in one pass alone", "threshold/groupby/passes.go", "s.clip().counts(l)", "clip{full: 36}.counts(l)", "threshold/groupby.Rows.Release"},
	{"equal indices are clamped one by one", "elliptical/builder.go", "case s.seen[i] == s.rows:", "case s.seen[i] > s.rows:", "elliptical.Builder.Release"},
	{"sparse rows around a centre with the noise of rows around 0", "plan/internal/means/clip.go",
		"change += math.Sqrt(float64(c.empty))", "change += 0 * math.Sqrt(float64(c.empty))", "plan.Mechanism.ReleaseSparse"},
	{"keys are shown from half of the threshold on", "threshold/groupby/calibration.go", "c.kernel, ok = rounding.ForUsers(c.weight, p.Epsilon, p.Delta, u)",
		"c.kernel, ok = rounding.ForUsers(c.weight, p.Epsilon, p.Delta, u); c.kernel.Threshold /= 2; c.kernel.From = min(c.kernel.From, c.kernel.Threshold-1)", "threshold/groupby.Builder.Release"},
	{"counters are shown from half of the threshold on", "misragries/calibrate.go", "c.Threshold, ok = least(p.Counters, s.epsilon, s.delta), err == nil",
		"c.Threshold, ok = (least(p.Counters, s.epsilon, s.delta)+1)/2, err == nil", "misragries.Builder.Release"},
	{"FullKeys is chosen by answers without noise", "threshold/groupby/fullkeys.go", "float64(loss+noise(s.question(j)*unit)())",
		"float64(loss+0*noise(s.question(j)*unit)())", "threshold/groupby.Rows.Release"},
	{"weights of quantiles have no noise", "threshold/groupby/quantile.go", "noise[scale] = s.noise(scale)", "noise[scale] = s.noise(0 * scale)", "threshold/groupby.Builder.Release"},
	{"a merge adds the shortfall twice", "threshold/groupby/builder.go", "		addTo(s.shorts, o.shorts)", "		addTo(s.shorts, o.shorts); addTo(s.shorts, o.shorts)", "threshold/groupby.Builder.Release"},
	{"a user has a key more than MaxElements", "misragries/users.go", "exact.DrawSubset(distinct, m, s.src.Uint64N)", "exact.DrawSubset(distinct, min(len(distinct), m+1), s.src.Uint64N)",
		"misragries.UserBuilder.Release"},
	{"rows without a user are counted without noise", "threshold/groupby/passes.go", "s.nameless+s.noise(s.calibrated.nameless())()", "s.nameless", "threshold/groupby.Rows.Release"},
	{"late counts have no noise", "misragries/series/step.go", "return count + n.calibration.found.SampleInt(&n.src)", "return count", "misragries/series.Builder.Step"},
	{"running totals have half the noise", "kor/distinct/running.go", "s.laws.count.SampleInt(&s.src)", "s.laws.count.SampleInt(&s.src)/2", "kor/distinct.RunningBuilder.Step"},
}

// Each flaw fails the product.
func TestProductPlants(t *testing.T) {
	if !dptest.Deep() {
		t.Skip("needs -deep: builds the library for each plant")
	}
	for _, p := range productPlants {
		t.Run(p.name, func(t *testing.T) {
			binary := build(t, map[string]string{p.file: planted(t, p.file, p.old, p.new)})
			out, err := exec.Command(binary, "-test.run=^TestProduct$/"+strings.ReplaceAll(p.found, ".", "[.]"), "-test.v", "-long").CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), "--- FAIL: TestProduct/"+p.found+" ")
		})
	}
}
