package main

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// replaceDisk puts a device in the place of the file of the store: /dev/full takes nothing, and
// what /dev/null takes cannot be synced.
func replaceDisk(t *testing.T, store, device string) {
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	store, err = filepath.EvalSymlinks(store)
	require.NoError(t, err)
	d, err := os.OpenFile(device, os.O_RDWR, 0)
	require.NoError(t, err)
	defer d.Close()
	for _, f := range files {
		if to, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && to == store {
			fd, err := strconv.Atoi(f.Name())
			require.NoError(t, err)
			require.NoError(t, syscall.Dup3(int(d.Fd()), fd, syscall.O_CLOEXEC))
			return
		}
	}
	t.Fatal("the store is not open")
}

// When the disk is full, or cannot be synced, the service takes nothing more, publishes nothing,
// and ends with an error. Once there is a disk again, all that was acknowledged is there.
func TestDiskFails(t *testing.T) {
	for _, device := range []string{"/dev/full", "/dev/null"} {
		for _, during := range []string{"events", "step"} {
			t.Run(filepath.Base(device)+" "+during, func(t *testing.T) {
				c := exactConfig(t)
				s := mustOpen(t, c)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				due, result := make(chan struct{}), make(chan error, 1)
				go func() { result <- s.run(ctx, due) }()
				server := httptest.NewServer(s.handler())
				defer server.Close()
				status, taken, _ := post(t, server.URL, lines(0, 50, "event"))
				require.Equal(t, []int{200, 50}, []int{status, taken})
				due <- struct{}{}
				status, taken, _ = post(t, server.URL, `{"user":"later","key":"event"}`)
				require.Equal(t, []int{200, 1}, []int{status, taken})

				replaceDisk(t, c.store, device)
				if during == "events" {
					status, taken, _ := post(t, server.URL, `{"user":"refused","key":"event"}`)
					require.Equal(t, []int{503, 0}, []int{status, taken})
				} else {
					due <- struct{}{}
				}
				require.Error(t, <-result)
				status, taken, _ = post(t, server.URL, `{"user":"refused","key":"event"}`)
				require.Equal(t, []int{503, 0}, []int{status, taken})
				require.Equal(t, 1, s.published.steps())
				status, _ = get(t, server.URL+"/slices/1", "")
				require.Equal(t, 404, status)
				status, _ = get(t, server.URL+"/slices/0", "")
				require.Equal(t, 200, status)

				_ = s.store.db.Close()
				s = mustOpen(t, c)
				require.Equal(t, 1, s.published.steps())
				require.InDelta(t, 51, total(t, s), 2)
			})
		}
	}
}
