package dptest

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// recorder is a testing.TB that only notes what a check reports, and ends the check's goroutine
// where a real one would.
type recorder struct {
	testing.TB
	lock   sync.Mutex
	errors []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}
func (r *recorder) FailNow()     { runtime.Goexit() }
func (r *recorder) Name() string { return "recorder" }

// fails reports whether a check fails.
func fails(check func(t testing.TB)) bool { return len(problems(check)) > 0 }

// problems returns what a check reports.
func problems(check func(t testing.TB)) []string {
	var r recorder
	toItsEnd(func() { check(&r) })
	return r.errors
}

// toItsEnd runs a check in a goroutine of its own, which FailNow may end.
func toItsEnd(check func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		check()
	}()
	<-done
}
