package dptest

import (
	"fmt"
	"testing"
)

// recorder is a testing.TB that only notes what a check reports.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// fails reports whether a check fails.
func fails(check func(t testing.TB)) bool {
	var r recorder
	check(&r)
	return len(r.errors) > 0
}
