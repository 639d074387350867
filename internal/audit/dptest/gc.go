package dptest

import (
	"os"
	"runtime/debug"
)

// Tests allocate much and keep little: with the default of 100 % the collection of a heap of 4 MiB
// takes a tenth of their time.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
}
