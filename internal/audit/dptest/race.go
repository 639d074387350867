//go:build race

package dptest

// Race reports whether the race detector is at work, which finds what a test does on purpose.
const Race = true
