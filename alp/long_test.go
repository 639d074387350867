package alp

import (
	"flag"
	"testing"
)

var longRuns = flag.Bool("long", false, "run the tests named Long at full size: go test -run Long -long ./alp")

// long skips a test that takes long.
func long(t *testing.T) {
	t.Helper()
	if !*longRuns {
		t.Skip("needs -long")
	}
}
