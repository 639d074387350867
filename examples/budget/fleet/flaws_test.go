package fleet

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// flaws are edits that break the protocol, each of which a test must notice.
var flaws = []struct{ what, file, old, new, test string }{
	{"a lease is spent from before it is booked", "server.go", "\tif err != nil {\n\t\treturn false, err\n\t}\n\ts.ended = nil", "\tif err != nil && slice == nil {\n\t\treturn false, err\n\t}\n\ts.ended = nil", "TestInterleavings"},
	{"the version is not compared", "budget.go", "AND version = $5", "AND $5 = $5", "TestInterleavings"},
	{"a lost change counts as made", "budget.go", "if swapped {", "if swapped || !fresh {", "TestInterleavings"},
	{"more is returned than was left", "server.go", "s.ended.spent.Spent())", "budget.PureDP(0, r.unit))", "TestInterleavings"},
	{"a lease is returned twice, the second time that of another", "row.go", "if i < 0 {\n\t\treturn fmt.Errorf(\"fleet: lease %s: %w\", id, ErrReturned)", "if i < 0 && len(r.leases) > 0 {\n\t\ti = 0\n\t}\n\tif i < 0 {\n\t\treturn fmt.Errorf(\"fleet: lease %s: %w\", id, ErrReturned)", "TestReturns"},
	{"a server settles another's lease in place of its own", "server.go", "r.index(s.ended.id) < 0 {\n\t\treturn nil", "r.index(s.ended.id) < 0 && len(r.leases) == 0 {\n\t\treturn nil", "TestInterleavings"},
	{"a server spends after it returned its lease", "server.go", "\ts.closed = true\n\ts.end()", "\ts.ended = s.lease", "TestInterleavings"},
	{"an error leaves the lease in use", "server.go", "\ts.end()\n\tif s.next == \"\" {", "\ts.ended = s.lease\n\tif s.next == \"\" {", "TestInterleavings"},
	{"a lease of each try is booked", "server.go", "if s.next == \"\" {", "if true {", "TestInterleavings"},
	{"open leases are not counted", "row.go", "range r.leases {\n\t\tif err := l.Spend", "range r.leases[:0] {\n\t\tif err := l.Spend", "TestInterleavings"},
	{"a slice is booked rounded down", "slice.go", "math.Nextafter(l.Remaining().Mu(), math.Inf(1))", "l.Remaining().Mu()*(1-0x1p-52)", "TestSlicesAddUp"},
	{"a slice by ρ is booked rounded down", "slice.go", "rhoOf(l.Remaining())*(1+0x1p-48)", "rhoOf(l.Remaining())*(1-0x1p-52)", "TestSlicesAddUp"},
	{"the escapes of a slice are not booked", "slice.go", "booked, err = budget.Compose(booked, escaping); err != nil", "_, err = budget.Compose(booked, escaping); err != nil", "TestSlicesAddUp"},
	{"whoever reads the row returns a lease", "row.go", "r.leases[i].Proof != proof(token)", "false", "TestNobodyElseReturnsALease"},
	{"an older version is taken", "budget.go", "s.version < b.seen", "s.version < 0", "TestOldCopy"},
}

// Each flaw is found by the test that is named.
func TestFlaws(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the tests again for each flaw")
	}
	for _, flaw := range flaws {
		t.Run(flaw.what, func(t *testing.T) {
			data := cli.Must(os.ReadFile(flaw.file))
			text := string(data)
			if strings.Count(text, flaw.old) != 1 {
				t.Fatalf("%q stands %d times in %s", flaw.old, strings.Count(text, flaw.old), flaw.file)
			}
			folder := t.TempDir()
			edited, overlay := filepath.Join(folder, flaw.file), filepath.Join(folder, "overlay.json")
			path := cli.Must(filepath.Abs(flaw.file))
			list, _ := json.Marshal(map[string]any{"Replace": map[string]string{path: edited}})
			for name, data := range map[string][]byte{edited: []byte(strings.Replace(text, flaw.old, flaw.new, 1)), overlay: list} {
				cli.OK(os.WriteFile(name, data, 0o600))
			}
			out, err := exec.Command("go", "test", "-short", "-vet=off", "-failfast", "-overlay", overlay, "-run", "^"+flaw.test+"$", ".").CombinedOutput()
			switch {
			case err == nil:
				t.Errorf("nothing is noticed:\n%s", out)
			case !strings.Contains(string(out), "--- FAIL: "+flaw.test):
				t.Errorf("the test did not run: %v\n%s", err, out)
			}
		})
	}
}
