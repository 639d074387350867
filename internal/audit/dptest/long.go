package dptest

import (
	"flag"
	"testing"
)

var long = flag.Bool("long", false, "repeat at full size what the default run checks on fewer cases")

var deep = flag.Bool("deep", false, "simulations of an hour and more, for the figures that the documents print; with all that -long does")

// Deep reports whether the flag -deep is set: then simulations take as many draws as the figures in
// the documents need, an hour and more. .ci/run does not set it.
func Deep() bool { return *deep }

// Long reports whether the flag -long is set: then a test repeats, at full size, what the default
// run checks on worst cases, and on smaller samples. .ci/run sets it.
func Long() bool { return *long || *deep }

// NeedsLong skips a test that is run with -long only.
func NeedsLong(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("needs -long")
	}
}

// NotShort skips a test with -short, and says why.
func NotShort(t testing.TB, reason string) {
	t.Helper()
	if testing.Short() {
		t.Skip(reason)
	}
}

// Full returns full with -long, else quick, and a quarter of quick with -short.
func Full(full, quick int) int {
	switch {
	case Long():
		return full
	case testing.Short():
		return max(quick/4, 1)
	}
	return quick
}

// Fewer returns n with -long and few with -short, else a third of n, but no less than few. Where
// few is above n, it is the size of a step: then the default is three times n, but no more than
// few.
func Fewer(n, few int) int {
	switch {
	case Long():
		return n
	case testing.Short():
		return few
	case few > n:
		return min(3*n, few)
	}
	return max(n/3, few)
}
