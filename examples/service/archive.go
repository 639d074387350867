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
	dir     string
	unsaved []uint64 // the releases that the disk has not taken yet, for one goroutine at a time

	mu       sync.RWMutex
	releases map[uint64]*misragries.Histogram[string]
}

func (a *archive) path(number uint64) string {
	return filepath.Join(a.dir, fmt.Sprintf("window-%012d.dpsk", number))
}

// openArchive reads the releases. Those that a crash has lost are missing. There is none after the
// last window of the journal, unless that is no longer the journal that recorded what they cost.
func openArchive(dir string, last uint64) (*archive, error) {
	a := &archive{dir: dir, releases: map[uint64]*misragries.Histogram[string]{}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		var number uint64
		if _, err := fmt.Sscanf(entry.Name(), "window-%d.dpsk", &number); err != nil || a.path(number) != filepath.Join(dir, entry.Name()) {
			continue // another file
		}
		if number > last {
			return nil, fmt.Errorf("%s is a release of which the journal does not know what it cost", a.path(number))
		}
		data, err := os.ReadFile(a.path(number))
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

// put makes a release public and stores it. Where that fails it is public all the same, for its
// budget is spent, and save may be tried again.
func (a *archive) put(number uint64, h *misragries.Histogram[string]) error {
	a.mu.Lock()
	a.releases[number] = h
	a.mu.Unlock()
	a.unsaved = append(a.unsaved, number)
	return a.save()
}

// save stores the releases that the disk has not taken yet.
func (a *archive) save() error {
	for len(a.unsaved) > 0 {
		if err := a.store(a.unsaved[0]); err != nil {
			return err
		}
		a.unsaved = a.unsaved[1:]
	}
	return nil
}

// store brings a release to the disk, whole or not at all.
func (a *archive) store(number uint64) error {
	data, err := a.get(number).MarshalBinary()
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
		return errors.Join(err, os.Remove(temporary))
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
