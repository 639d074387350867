//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package durable

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Lock takes the lock for this process; the system gives it back when the process ends, however it
// ends. The file stays.
func Lock(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errLocked(path)
		}
		return nil, errors.Join(err, file.Close())
	}
	_, err = file.WriteAt([]byte(Holder()+"\n"), 0)
	if err == nil {
		err = file.Truncate(int64(len(Holder()) + 1))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
