package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// child is the service as a process of its own, and what the test does to it.
type child struct {
	*exec.Cmd
	url    string
	errors bytes.Buffer
}

// startChild starts the service. It returns nil if the process ends, or is killed, before it
// listens.
func startChild(t *testing.T, kill <-chan time.Time, c config, args ...string) *child {
	t.Helper()
	p := &child{Cmd: exec.Command(os.Args[0])}
	p.Env = append(os.Environ(), childVariable+"="+strings.Join(append(args, "-address 127.0.0.1:0 -operator 127.0.0.1:0 -store", c.store,
		"-epsilon", fmt.Sprint(c.epsilon), "-delta", fmt.Sprint(c.delta), "-elements", fmt.Sprint(c.elements), "-reports", fmt.Sprint(c.reports), "-step", c.step.String()), " "))
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.Stderr = &p.errors
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Process.Kill() })
	head := make(chan []byte, 1)
	go func() {
		text := make([]byte, 4096)
		n, _ := io.ReadAtLeast(out, text, len("page and events: http://127.0.0.1:1\nmetrics: http://127.0.0.1:1\n"))
		head <- text[:n]
	}()
	select {
	case <-kill:
		require.NoError(t, p.Process.Kill())
		<-head
		return nil
	case text := <-head:
		address := regexp.MustCompile(`page and events: (http://\S+)`).FindSubmatch(text)
		if address == nil {
			_ = p.Wait()
			t.Fatalf("the service printed %q, %q", text, &p.errors)
		}
		p.url = string(address[1])
	}
	return p
}

// traffic is what clients have sent, and what they know of it.
type traffic struct {
	mu                       sync.Mutex
	next                     int // users
	acknowledged, unanswered int // events
}

// send sends requests of new users, one event each, until one is not taken.
func (f *traffic) send(url string) {
	const n = 20
	for {
		f.mu.Lock()
		first := f.next
		f.next += n
		f.mu.Unlock()
		taken, sent := 0, 0
		response, err := http.Post(url+"/events", "", strings.NewReader(lines(first, first+n, "event")))
		if err == nil {
			var answer struct{ Taken int }
			err = json.NewDecoder(response.Body).Decode(&answer)
			_ = response.Body.Close()
			taken = answer.Taken
		}
		if err != nil || response.StatusCode != http.StatusOK {
			sent = n
		}
		f.mu.Lock()
		f.acknowledged += taken
		f.unanswered += sent
		f.mu.Unlock()
		if sent > 0 {
			return
		}
	}
}

// begun waits until an event is acknowledged.
func (f *traffic) begun(t *testing.T) {
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.acknowledged > 0
	}, time.Minute, time.Millisecond)
}

// check ends steps, and compares what is published with what the clients know. The tolerance is for
// the noise. A request has 20 events, so one that is lost or counted twice exceeds it.
func (f *traffic) check(t *testing.T, s *service) {
	got := total(t, s)
	t.Logf("%d events acknowledged, %d without an answer, %d counted", f.acknowledged, f.unanswered, got)
	require.Positive(t, f.acknowledged)
	require.Greater(t, got, f.acknowledged-10)
	require.Less(t, got, f.acknowledged+f.unanswered+10)
}

// total ends steps until a week is over, so that each event is in a discovery node that has ended,
// and returns the number of events in all that is published.
func total(t *testing.T, s *service) int {
	for first := true; first || s.published.steps()%week != 0; first = false {
		require.NoError(t, s.step())
	}
	w, err := s.published.window(0, s.published.steps())
	require.NoError(t, err)
	return int(math.Round(w.Estimate("event")))
}

// The service is killed at 50 random moments, some while it starts, while clients send and steps of
// 30 ms end. Afterwards the budget is spent once. Each slice and each report that a client has seen
// is the one in the store, however often clients asked. Each acknowledged event is counted once.
func TestKilled(t *testing.T) {
	rounds := 50
	if testing.Short() {
		rounds = 8
	}
	c := exactConfig(t)
	c.step = 30 * time.Millisecond
	var f traffic
	seen := map[string][]byte{}
	started := 0
	for round := range rounds {
		var kill <-chan time.Time // counted from the start of the process, or from when it listens
		if round%3 == 0 {
			kill = time.After(time.Duration(rand.IntN(500)) * time.Millisecond)
		}
		p := startChild(t, kill, c)
		if p == nil {
			continue
		}
		started++
		if kill == nil {
			kill = time.After(time.Duration(rand.IntN(300_000)) * time.Microsecond)
		}
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() { f.send(p.url) })
		}
		clients.Go(func() { look(t, p.url, seen) })
		<-kill
		require.NoError(t, p.Process.Kill())
		clients.Wait()
		_ = p.Wait() // killed: an error
	}
	c.step = 30 * time.Millisecond
	s := mustOpen(t, c)
	require.Equal(t, "ε = 352 of 352 at δ = 1e-9, 3 releases, for one user within any 168 steps (at most 2 elements), added or removed", s.ledger.String())
	for path, data := range seen {
		recorder := newRecorder(s, path)
		require.Equal(t, data, recorder.Body.Bytes(), path)
	}
	t.Logf("%d starts, %d of them until it listened; %d steps, %d slices and reports seen", rounds, started, s.published.steps(), len(seen))
	require.NotEmpty(t, seen)
	f.check(t, s)
}

// look asks for the last slices and reports until the service is gone, and fails if one of them has
// changed.
func look(t *testing.T, url string, seen map[string][]byte) {
	var paths []string // in the order in which they are published
	for step := range 10_000 {
		if paths = append(paths, fmt.Sprintf("/slices/%d", step)); step%day == day-1 {
			paths = append(paths, fmt.Sprintf("/reports/%d", step/day))
		}
	}
	for next := max(len(seen)-1, 0); ; {
		path := paths[next]
		request, err := http.NewRequest(http.MethodGet, url+path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Accept", encoded)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return
		}
		data, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		switch {
		case err != nil:
			return
		case response.StatusCode != http.StatusOK:
			time.Sleep(time.Millisecond)
			continue
		}
		if seen[path] != nil && !bytes.Equal(seen[path], data) {
			t.Errorf("%s was published twice, with other bytes", path)
		}
		seen[path] = data
		next++
	}
}

// Told to end while clients send, and one that does not come to an end with its request, the
// process ends in order, and each event that it has acknowledged is counted once.
func TestTerminated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	c := exactConfig(t)
	c.step = 30 * time.Millisecond
	p := startChild(t, nil, c)
	slow, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	require.NoError(t, err)
	defer slow.Close()
	_, err = fmt.Fprintf(slow, "POST /events HTTP/1.1\r\nHost: slow\r\nContent-Length: 100000\r\n\r\n{\"user\":\"slow\",\"key\":\"event\"}\n")
	require.NoError(t, err)
	var f traffic
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() { f.send(p.url) })
	}
	f.begun(t)
	time.Sleep(10 * c.step)
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), &p.errors)
	clients.Wait()
	f.check(t, mustOpen(t, c))
}

// Events of the open step survive a crash and are counted once, also if a state was stored among
// them.
func TestOpenStepSurvives(t *testing.T) {
	c := exactConfig(t)
	send := func(s *service, from, to int) {
		record, _, _ := appendEvents(nil, []byte(lines(from, to, "event")), false)
		require.NoError(t, s.take([]request{{record, make(chan error, 1)}}))
	}
	again := func(s *service) *service {
		require.NoError(t, s.store.db.Close())
		return mustOpen(t, c)
	}
	s := mustOpen(t, c)
	send(s, 0, 100)
	s = again(again(s))
	send(s, 100, 150)
	require.NoError(t, s.save(nil)) // as after mostLog
	require.Zero(t, s.logged)
	s = again(s)
	send(s, 150, 170)
	s = again(s)
	require.NoError(t, s.step())
	require.InDelta(t, 170, total(t, again(s)), 2)
}

// A series in the store is not begun again. It is not continued with other flags, by a second
// process, or from an older state.
func TestRefusals(t *testing.T) {
	c := testConfig(t)
	s := mustOpen(t, c)
	_, err := open(c, monday)
	require.Error(t, err, "a second process")
	var states []state
	for range 3 {
		st, err := s.state()
		require.NoError(t, err)
		states = append(states, st)
		require.NoError(t, s.step())
	}
	require.NoError(t, s.store.db.Close())
	for want, change := range map[string]func(*config){
		"-epsilon is 3, and the store has 2":                                     func(c *config) { c.epsilon++ },
		"-delta is 5e-07, and the store has 1e-06":                               func(c *config) { c.delta /= 2 },
		"-elements is 6, and the store has 5":                                    func(c *config) { c.elements++ },
		"-keys is 1001, and the store has 1000":                                  func(c *config) { c.known++ },
		"-counters is 10, and the store has 0":                                   func(c *config) { c.counters = 10 },
		"-reports is 0.125, and the store has 0.25":                              func(c *config) { c.reports /= 2 },
		"-reports is 0, and the store has 0.25":                                  func(c *config) { c.reports = 0 },
		"-max is 1, and the store has 0":                                         func(c *config) { c.max = 1 },
		"-step is 30m0s, and the store has 1h0m0s":                               func(c *config) { c.step /= 2 },
		"-epsilon is 3, and the store has 2; -keys is 9, and the store has 1000": func(c *config) { c.epsilon, c.known = 3, 9 },
	} {
		other := c
		change(&other)
		_, err := open(other, monday)
		require.EqualError(t, err, c.store+" holds another series: "+want+": take its flags, or another file and another budget")
	}
	none := c
	none.step = 0
	_, err = open(none, monday)
	require.ErrorContains(t, err, "want more than 0")
	other := c
	other.published = 4
	_, err = open(other, monday)
	require.ErrorIs(t, err, series.ErrMismatch, "a backup")
	other.published = 3
	s = mustOpen(t, other)
	require.Equal(t, 3, s.published.steps())
	require.NoError(t, s.store.save(states[2], nil), "a state that is behind the slices")
	require.NoError(t, s.store.db.Close())
	_, err = open(c, monday)
	require.ErrorIs(t, err, series.ErrMismatch)
}

// A store of another version says so, and names no flag.
func TestOtherVersions(t *testing.T) {
	for want, change := range map[string]func(*head){
		"has version 2 of the store, and this program reads version 4": func(h *head) { h.Layout = 2 },
		"holds a series of another version of this program":            func(h *head) { h.Users.Cells = 2048 },
	} {
		c := testConfig(t)
		s := mustOpen(t, c)
		h := s.head
		change(&h)
		text, err := json.Marshal(h)
		require.NoError(t, err)
		require.NoError(t, s.store.db.Update(func(tx *bbolt.Tx) error { return tx.Bucket(headBucket).Put(headKey, text) }))
		require.NoError(t, s.store.db.Close())
		_, err = open(c, monday)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), " -")
	}
}

// A slice in the store that may not be on the disk is not served: its transaction may have failed
// in the sync. The next run syncs first, and then publishes it.
func TestNotPublishedYet(t *testing.T) {
	c := testConfig(t)
	s := mustOpen(t, c)
	slice, err := s.keys.Step()
	require.NoError(t, err)
	data, err := slice.MarshalBinary()
	require.NoError(t, err)
	st, err := s.state()
	require.NoError(t, err)
	require.NoError(t, s.store.save(st, &ended{slice: data}))
	require.Equal(t, 404, newRecorder(s, "/slices/0").Code)
	require.Error(t, s.store.save(st, &ended{slice: data}), "step 0 is in the store")
	require.NoError(t, s.store.db.Close())
	s = mustOpen(t, c)
	require.Equal(t, data, newRecorder(s, "/slices/0").Body.Bytes())
}

// Nothing is left of the budget, also after a restart.
func TestBudgetIsSpent(t *testing.T) {
	c := testConfig(t)
	s := mustOpen(t, c)
	before := s.ledger.String()
	require.NoError(t, s.store.db.Close())
	s = mustOpen(t, c)
	require.Equal(t, before, s.ledger.String())
	require.ErrorIs(t, s.ledger.Spend(budget.PureDP(0.01, s.ledger.Unit())), budget.ErrBudget)
}
