package main

import (
	"errors"
	"io"
	"syscall"
)

// brokenPipe says whether err is that of a write whose reader has gone. Where the system has a
// signal for that, the program has ended already.
func brokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
