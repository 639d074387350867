// Package durable has files that survive a crash: one that appears when it is whole, and a lock
// that says who has it. It is for the journals of budgets.
package durable

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Write writes a file that appears under its name when all of it is on the disk, and reports
// whether it did. The name is there for certain after a loss of power if there was no error.
func Write(path string, data []byte, mode os.FileMode) (named bool, err error) {
	file, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return false, err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if named = err == nil; named {
		err = syncFolder(filepath.Dir(path))
	}
	return named, err
}

// syncFolder brings the names of files in a folder to the disk. Where folders cannot be synced, as
// on Windows, the file system sees to that.
func syncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

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
	return fmt.Errorf("it is in use by %s (%s)", bytes.TrimSpace(by), path)
}
