package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the file for this process; the system gives it back when the process ends, however it
// ends. What is locked is a byte far behind the end, so that others can read the file.
func lock(file *os.File) error {
	far := &windows.Overlapped{OffsetHigh: 1 << 30}
	return windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, far)
}
