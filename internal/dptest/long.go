package dptest

import (
	"flag"
	"testing"
)

var long = flag.Bool("long", false, "repeat at full size what the default run checks on fewer cases")

// Long reports whether the flag -long is set: then a test repeats, at full size, what the default run checks on
// worst cases, and on smaller samples. .ci/run sets it.
func Long() bool { return *long }

// NeedsLong skips a test that is run with -long only.
func NeedsLong(t testing.TB) {
	t.Helper()
	if !*long {
		t.Skip("needs -long")
	}
}

// Full returns full with -long, else quick, and a quarter of quick with -short.
func Full(full, quick int) int {
	switch {
	case *long:
		return full
	case testing.Short():
		return max(quick/4, 1)
	}
	return quick
}
