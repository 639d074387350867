package dptest

import (
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// Tests allocate much and keep little: with the default of 100 % the collection of a heap of 4 MiB
// takes a tenth of their time. Benchmarks measure what users have.
func init() {
	bench := func(arg string) bool { return strings.HasPrefix(arg, "-test.bench") }
	if os.Getenv("GOGC") == "" && !slices.ContainsFunc(os.Args, bench) {
		debug.SetGCPercent(800)
	}
}
