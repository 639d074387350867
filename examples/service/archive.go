package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/dpsketch/dpsketch/misragries"
)

// archive keeps the releases, which are public, in memory and as files.
type archive struct {
	dir string

	mu       sync.RWMutex
	releases map[uint64]*misragries.Histogram[string]
}

func (a *archive) path(number uint64) string {
	return filepath.Join(a.dir, fmt.Sprintf("window-%012d.dpsk", number))
}

// openArchive reads the releases of the windows up to last. Those that a crash has lost are missing.
func openArchive(dir string, last uint64) (*archive, error) {
	a := &archive{dir: dir, releases: map[uint64]*misragries.Histogram[string]{}}
	for number := uint64(1); number <= last; number++ {
		data, err := os.ReadFile(a.path(number))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		h := new(misragries.Histogram[string])
		if err := h.UnmarshalBinary(data); err != nil {
			return nil, fmt.Errorf("%s: %w", a.path(number), err)
		}
		a.releases[number] = h
	}
	return a, nil
}

// put makes a release public and stores it, whole on the disk or not at all. Where that fails it is public all the same, until the process ends: its budget is spent.
func (a *archive) put(number uint64, h *misragries.Histogram[string]) error {
	a.mu.Lock()
	a.releases[number] = h
	a.mu.Unlock()
	data, err := h.MarshalBinary()
	if err != nil {
		return err
	}
	temporary := a.path(number) + ".new"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(temporary, a.path(number)), syncDir(a.dir))
}

func (a *archive) get(number uint64) *misragries.Histogram[string] {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.releases[number]
}

// numbers returns the windows that have been released, in order.
func (a *archive) numbers() []uint64 {
	a.mu.RLock()
	defer a.mu.RUnlock()
	numbers := make([]uint64, 0, len(a.releases))
	for number := range a.releases {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	return numbers
}
