//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package durable

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Lock takes the lock by making the file, which must not be there. A process that crashes leaves
// it, and somebody must remove it who knows that the process is gone.
func Lock(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%w, or by nobody if that process crashed: then remove the file", errLocked(path))
	}
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(Holder() + "\n")
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return exclusive(path), nil
}

// exclusive is the path of a file that is a lock while it is there.
type exclusive string

func (path exclusive) Close() error { return os.Remove(string(path)) }
