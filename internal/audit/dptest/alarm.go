package dptest

import (
	"flag"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const modulePath = "github.com/dpsketch/dpsketch"

// budgets are the false alarms that the default run of each package may give: the sum of the
// false-reject probabilities of its statistical assertions, and of the probabilities that a
// control, which must fail, does not. By the union bound the tests of these packages fail by chance
// with at most the sum of all, which TestBudgets keeps below 1e-6. The examples are not among them:
// their tests fix the noise (clitest.Seed), so that nothing is left to chance.
var budgets = map[string]float64{
	"alp":                             1e-7,
	"arete":                           3e-8,
	"elliptical":                      6e-8,
	"elliptical/column":               5e-8,
	"elliptical/column/internal/tail": 1e-8,
	"jl":                              6e-8,
	"kor":                             1e-7,
	"kor/distinct":                    2e-8,
	"misragries":                      1e-7,
	"misragries/series":               2e-8,
	"noise":                           2e-7,
	"noise/approx":                    2e-8,
	"plan":                            1.5e-8,
	"plan/internal/means":             2.4e-8,
	"plan/thesis":                     1e-9,
	"internal/calibrated":             1e-9,
	"internal/quantile":               1e-8,
	"internal/sparse":                 5e-8,
	"threshold":                       1e-8,
	"threshold/groupby":               5e-8,
}

// seeded are the packages whose tests on random data have fixed seeds: nothing in them is left to
// chance.
var seeded = []string{"hashing", "internal/audit/dptest"}

// budgetOf returns the budget of a package: 0 for one that is in neither list, so that a new one is
// entered.
func budgetOf(name string) float64 {
	if slices.Contains(seeded, name) {
		return math.Inf(1)
	}
	return budgets[name]
}

// registry adds up what the assertions of one test binary register.
type registry struct {
	mu     sync.Mutex
	sum    sum
	alarms int
}

var registered registry

// Alarm registers a statistical assertion that fails with at most the probability falseReject
// though the claim is true, or a control that passes unnoticed with at most that probability. All
// wrappers of this package do it themselves. The test fails where the sum of its package exceeds
// the budget, whatever the order of the tests. With -long nothing is checked: the budgets are those
// of the default run.
func Alarm(t testing.TB, falseReject float64) {
	t.Helper()
	registered.add(t, falseReject, packageName(), runs(), Long())
}

// Control registers a control: a broken mechanism that a check must catch. miss bounds the
// probability that the check, by chance, does not. It returns caught, for require.True.
func Control(t testing.TB, caught bool, miss float64) bool {
	t.Helper()
	Alarm(t, miss)
	return caught
}

func (r *registry) add(t testing.TB, falseReject float64, name string, runs float64, long bool) {
	t.Helper()
	if !(falseReject > 0 && falseReject < 1) {
		t.Errorf("false-reject probability %g, want a number in (0, 1)", falseReject)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.add(falseReject)
	r.alarms++
	// Budgets and probabilities are decimal fractions, so a sum that is meant to be equal may be
	// above by roundings.
	if budget := budgetOf(name) * runs; !long && !(r.sum.value() <= budget*(1+1e-9)) {
		t.Errorf("false alarms of package %s: %.3g in all, above its budget of %.3g", name, r.sum.value(), budget)
	}
}

// FalseAlarms prints the sum of what the tests before it have registered. It is for the last test
// of a package.
func FalseAlarms(t testing.TB) {
	t.Helper()
	registered.mu.Lock()
	defer registered.mu.Unlock()
	name := packageName()
	t.Logf("false alarms of package %s: %d assertions, %.3g in all, budget %.3g", name, registered.alarms, registered.sum.value(), budgetOf(name)*runs())
}

// packageName returns the path of the package under test, without the module's.
func packageName() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return strings.Trim(strings.TrimPrefix(strings.TrimSuffix(info.Path, ".test"), modulePath), "/")
}

// runs returns how often go test runs each test: -count times for each value of -cpu.
func runs() float64 {
	count := 1.0
	if f := flag.Lookup("test.count"); f != nil {
		if n, err := strconv.Atoi(f.Value.String()); err == nil && n > 1 {
			count = float64(n)
		}
	}
	if f := flag.Lookup("test.cpu"); f != nil && f.Value.String() != "" {
		count *= float64(1 + strings.Count(f.Value.String(), ","))
	}
	return count
}
