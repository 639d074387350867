package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Holder says who this process is, for the next process that wants the lock.
func Holder() string {
	name, err := os.Hostname()
	if err != nil {
		name = "this machine"
	}
	return fmt.Sprintf("process %d on %s", os.Getpid(), name)
}

// errLocked reports a lock that another process has, which wrote into the file who it is.
func errLocked(path string) error {
	by, err := os.ReadFile(path)
	if err != nil || len(by) == 0 || len(by) > 1000 {
		by = []byte("another process")
	}
	return fmt.Errorf("it is %w by %s (%s)", errInUse, bytes.TrimSpace(by), path)
}

var errInUse = errors.New("in use")

// Wait takes the lock as Lock does, but waits for it until the context ends. Only one of those who
// wait tries for the lock, the one who has path.next. So a process that gives the lock back and
// wants it again comes after one that waited.
func Wait(ctx context.Context, path string) (io.Closer, error) {
	next, err := retry(ctx, path+".next")
	if err != nil {
		return nil, err
	}
	lock, err := retry(ctx, path)
	if err2 := next.Close(); err2 != nil && err == nil {
		return nil, errors.Join(err2, lock.Close())
	}
	return lock, err
}

// retry takes a lock once it is free.
func retry(ctx context.Context, path string) (io.Closer, error) {
	const often = 2 * time.Millisecond
	for {
		lock, err := Lock(path)
		if !errors.Is(err, errInUse) {
			return lock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w, as %w", context.Cause(ctx), err)
		case <-time.After(often):
		}
	}
}
