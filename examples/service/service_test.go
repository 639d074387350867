package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/misragries/series"
)

var noSync = flag.Bool("nosync", false, "benchmarks do not wait for the disk")

// childVariable makes the test binary be the service, for the tests that kill it.
const childVariable = "DPSKETCH_SERVICE_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childVariable); args != "" {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
	}
	os.Exit(m.Run())
}

var monday = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func testConfig(t testing.TB) config {
	return config{address: "127.0.0.1:0", operator: "127.0.0.1:0", store: filepath.Join(t.TempDir(), "service.db"), step: time.Hour, grace: time.Second,
		epsilon: 2, delta: 1e-6, elements: 5, known: 1000, reports: 0.25}
}

// exactConfig has so little noise that estimates are the counts: known keys have noise of ε = 15.8
// for one element, so a draw is not 0 with a probability of 2.7e-7. Two events of a user count, so
// an event that is counted twice is seen.
func exactConfig(t testing.TB) config {
	c := testConfig(t)
	c.epsilon, c.delta, c.elements, c.reports = 352, 1e-9, 2, 1./32
	return c
}

// mustOpen opens a service whose steps the test ends itself.
func mustOpen(t testing.TB, c config) *service {
	t.Helper()
	s, err := open(c, monday)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.store.db.Close() })
	return s
}

// start runs a service and returns how its steps are ended and how it is stopped.
func start(t testing.TB, s *service) (due chan struct{}, stop func() error) {
	due = make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- s.run(ctx, due) }()
	t.Cleanup(func() { cancel(); <-s.stopped })
	return due, func() error { cancel(); return <-result }
}

// post sends a body and returns the status and the answer.
func post(t testing.TB, url, body string) (status, taken, malformed int) {
	t.Helper()
	response, err := http.Post(url+"/events", "application/x-ndjson", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, 0, 0
	}
	defer response.Body.Close()
	var answer struct{ Taken, Malformed int }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Error(err)
	}
	return response.StatusCode, answer.Taken, answer.Malformed
}

func get(t testing.TB, url, accept string) (int, []byte) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, body
}

// newRecorder serves one request without a connection.
func newRecorder(s *service, path string) *httptest.ResponseRecorder {
	request, recorder := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
	request.Header.Set("Accept", encoded)
	s.handler().ServeHTTP(recorder, request)
	return recorder
}

// lines makes an event of each of some users.
func lines(from, to int, key string) string {
	var body strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&body, "{\"user\":\"%d\",\"key\":%q}\n", i, key)
	}
	return body.String()
}

func TestOverHTTP(t *testing.T) {
	s := mustOpen(t, exactConfig(t))
	due, _ := start(t, s)
	server := httptest.NewServer(s.handler())
	defer server.Close()
	for step := range week {
		if step%day == 0 {
			status, taken, malformed := post(t, server.URL, lines(step*100, step*100+300, "tea")+"nonsense\n"+lines(step*100+300, step*100+400, "café"))
			require.Equal(t, []int{200, 400, 1}, []int{status, taken, malformed})
		}
		due <- struct{}{}
	}
	require.Eventually(t, func() bool { return s.published.steps() == week }, time.Minute, time.Millisecond)

	var window struct {
		From, To   int
		Begin, End time.Time
		Guarantee  string
		Keys       []row
	}
	for path, want := range map[string][2]int{"/windows/1": {167, 0}, "/windows/24": {144, 1}, "/windows/168": {0, 7}, "/windows/1000": {0, 7}, "/windows/24/72": {24, 2}} {
		status, text := get(t, server.URL+path, "")
		require.Equal(t, 200, status, path)
		require.NoError(t, json.Unmarshal(text, &window))
		require.Equal(t, want[0], window.From, path)
		require.Equal(t, monday.Add(time.Duration(window.From)*time.Hour), window.Begin, path)
		require.Equal(t, "ε = 253, δ = 9.6875e-10 (hardly any protection) for one user within any 168 steps (at most 2 elements), added or removed", window.Guarantee)
		require.Len(t, window.Keys, 2, path)
		for _, k := range window.Keys {
			truth := float64(want[1] * map[string]int{"tea": 300, "café": 100}[k.Key])
			require.InDelta(t, truth, k.Estimate, 1.5, "%s %s", path, k.Key)
			require.LessOrEqual(t, k.Low, k.Estimate+1.5)
			require.GreaterOrEqual(t, *k.High, k.Estimate-1.5)
		}
	}
	for _, path := range []string{"/windows/0", "/windows/x", "/windows/5/5", "/windows/0/169", "/windows/-1/5", "/windows/99999999999999999999", "/slices/168", "/slices/-1", "/slices/x", "/metrics", "/?steps=25", "/x"} {
		status, _ := get(t, server.URL+path, "")
		require.Equal(t, 404, status, path)
	}

	_, data := get(t, server.URL+"/slices/30", encoded)
	var slice series.Slice[string]
	require.NoError(t, slice.UnmarshalBinary(data))
	require.Equal(t, 30, slice.Step())
	_, text := get(t, server.URL+"/slices/30", "")
	var same series.Slice[string]
	require.NoError(t, json.Unmarshal(text, &same))
	again, err := same.MarshalBinary()
	require.NoError(t, err)
	require.Equal(t, data, again)

	var list struct{ Users []users }
	_, text = get(t, server.URL+"/users", "")
	require.NoError(t, json.Unmarshal(text, &list))
	require.Len(t, list.Users, 7)
	for i, u := range list.Users {
		// 400 users a day; the standard error is some 1 % and the noise is nothing
		require.Equal(t, []int{0, day * (i + 1)}, []int{u.From, u.To})
		require.InEpsilon(t, 400*(i+1), u.Estimate, 0.1)
	}
	_, text = get(t, server.URL+"/budget", "")
	require.Contains(t, string(text), "ε = 352 of 352 at δ = 1e-9, 3 releases, for one user within any 168 steps")
}

// A user counts once at once and twice within a week, and again after a week of absence, whatever
// the requests, the keys, the steps and the restarts. The answers do not say so: they would tell
// one client what others have sent of the user.
func TestUsersAreBounded(t *testing.T) {
	c := exactConfig(t)
	s := mustOpen(t, c)
	answer := func(body string) string {
		record, events, _ := appendEvents(nil, []byte(body), false)
		require.NoError(t, s.take([]request{{record, make(chan error, 1)}}))
		return fmt.Sprint(events)
	}
	one := `{"user":"u","key":"a"}` + "\n"
	for _, period := range []int{0, 2} {
		for i := range 200 {
			answer(fmt.Sprintf("{\"user\":\"%d-%d\",\"key\":\"a\"}\n{\"user\":\"%[1]d+%[2]d\",\"key\":\"b\"}\n", period, i))
		}
		for range 30 {
			require.Equal(t, "20", answer(strings.Repeat(one, 20)))
			answer(`{"user":"u","key":"b"}`)
			require.NoError(t, s.step())
			require.NoError(t, s.store.db.Close())
			s = mustOpen(t, c)
		}
		for s.published.steps() < (period+2)*week {
			require.NoError(t, s.step())
		}
		w, err := s.published.window(period*week, (period+1)*week)
		require.NoError(t, err)
		require.InDelta(t, 201, w.Estimate("a"), 1.5)
		require.InDelta(t, 200, w.Estimate("b"), 1.5)
	}
	for _, u := range s.published.visitors() {
		require.InDelta(t, 401*(1-u.From/week%2), u.Estimate, 60)
	}
}

// A request that cannot be read to its end leaves nothing behind, so that it can be sent again.
func TestRequestsAreTakenWhole(t *testing.T) {
	s := mustOpen(t, testConfig(t))
	start(t, s)
	events := lines(0, 5000, "a")
	read := func(text string) io.Reader { return strings.NewReader(text) }
	for name, c := range map[string]struct {
		body io.Reader
		want int
	}{
		"too large": {read(strings.Repeat(events, maxBody/len(events)+1)), http.StatusRequestEntityTooLarge},
		"cut off":   {io.MultiReader(read(events), iotest.ErrReader(io.ErrUnexpectedEOF)), http.StatusBadRequest},
	} {
		answer := httptest.NewRecorder()
		s.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/events", c.body))
		require.Equal(t, c.want, answer.Code, name)
		require.True(t, strings.HasPrefix(answer.Body.String(), `{"taken":0,`), answer.Body)
	}
	require.Zero(t, s.logged)
}

// A hundred clients send while steps end, and the service stops under them: what was acknowledged
// is counted, all of it and once.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	c := exactConfig(t)
	s := mustOpen(t, c)
	due, stop := start(t, s)
	server := httptest.NewServer(s.handler())
	defer server.Close()
	var f traffic
	var clients sync.WaitGroup
	for range 100 {
		clients.Go(func() { f.send(server.URL) })
	}
	f.begun(t)
	for range 30 {
		due <- struct{}{}
	}
	require.NoError(t, stop())
	clients.Wait()
	require.NoError(t, s.store.db.Close())
	f.check(t, mustOpen(t, c))
}

// A body in which no line is an event is no success: its sender is told, with the first line. One
// bad line among others is counted.
func TestNoLineIsAnEvent(t *testing.T) {
	s := mustOpen(t, testConfig(t))
	start(t, s)
	say := func(body string) (int, string) {
		r := httptest.NewRecorder()
		s.handler().ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/events", strings.NewReader(body)))
		return r.Code, r.Body.String()
	}
	for body, first := range map[string]string{
		"user,key\nu,tea\n":                  `user,key`,
		"\r\n \n{\"user\":\"u\"}\n\n[]\n":    `{\\\"user\\\":\\\"u\\\"}`,
		strings.Repeat("x", 300) + "\nnoise": strings.Repeat("x", 200) + `\"`,
	} {
		code, text := say(body)
		require.Equal(t, 400, code)
		require.Contains(t, text, first)
		require.Contains(t, text, `"taken":0`)
		require.NotContains(t, text, strings.Repeat("x", 201))
	}
	for _, body := range []string{"", "\n \n", lines(0, 1, "a") + "nonsense\n", "nonsense\n" + lines(0, 1, "a")} {
		code, text := say(body)
		require.Equal(t, 200, code, "%s", text)
	}
	_, text := get(t, func() string {
		o := httptest.NewServer(s.metrics.handler())
		t.Cleanup(o.Close)
		return o.URL + "/metrics"
	}(), "")
	require.Contains(t, string(text), "service_requests_total{code=\"400\"} 3\n")
}

func TestMetrics(t *testing.T) {
	s := mustOpen(t, testConfig(t))
	due, _ := start(t, s)
	events, operator := httptest.NewServer(s.handler()), httptest.NewServer(s.metrics.handler())
	defer events.Close()
	defer operator.Close()
	post(t, events.URL, lines(0, 2, "a")+"x\n")
	due <- struct{}{}
	_, text := get(t, operator.URL+"/metrics", "")
	require.Contains(t, string(text), "service_counted_ratio 1\n")
	post(t, events.URL, strings.Repeat(lines(0, 1, "a"), 6)) // that user has two tokens left
	_, text = get(t, operator.URL+"/metrics", "")
	for _, want := range []string{"service_requests_total{code=\"200\"} 2\n", "service_events_total 8\n", "service_malformed_total 1\n", "service_uncounted_total 4\n", "service_counted_ratio 0.5\n", "service_steps_total 1\n",
		"service_commit_seconds_count 3\n", "go_goroutines"} {
		require.Contains(t, string(text), want)
	}
}

// Steps that end while the service is down are empty. Steps older than a year are forgotten, in the
// store too.
func TestCatchUpAndForget(t *testing.T) {
	c := testConfig(t)
	s := mustOpen(t, c)
	s.store.db.NoSync = true
	const steps = keep + 2*week + 5
	now := func() time.Time { return monday.Add(steps*time.Hour + 30*time.Minute) }
	if testing.Short() {
		now = func() time.Time { return monday.Add((week + 5) * time.Hour) }
	}
	s.count(recordOf(event{"u", "a"}))
	require.NoError(t, s.catchUp(t.Context(), now))
	require.NoError(t, s.catchUp(t.Context(), now))
	if testing.Short() {
		require.Equal(t, week+5, s.published.steps())
		return
	}
	require.Equal(t, steps, s.published.steps())
	require.Equal(t, 2*week, s.published.first())
	users := len(s.published.visitors())
	require.Equal(t, keep/day, users)
	require.NoError(t, s.store.db.Close())
	s = mustOpen(t, c)
	require.Equal(t, 2*week, s.published.first())
	require.Len(t, s.published.visitors(), users)
	require.NoError(t, s.catchUp(t.Context(), now))
	require.Equal(t, steps, s.published.steps())
}

// The program as a whole: it serves, ends steps by the clock, and ends in order when it is told to.
func TestProgram(t *testing.T) {
	c := exactConfig(t)
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int)
	go func() {
		code <- program(ctx, []string{"-store", c.store, "-address", c.address, "-operator", c.operator, "-step", "20ms"}, write, &stderr)
	}()
	head := make([]byte, 4096)
	n, err := read.Read(head)
	require.NoError(t, err)
	go func() { _, _ = io.Copy(io.Discard, read) }()
	url := string(regexp.MustCompile(`http://\S+`).Find(head[:n]))
	status, taken, _ := post(t, url, lines(0, 1000, "x"))
	require.Equal(t, []int{200, 1000}, []int{status, taken})
	require.Eventually(t, func() bool {
		status, _ := get(t, url+"/windows/0/3", "")
		return status == http.StatusOK
	}, time.Minute, 10*time.Millisecond)
	status, page := get(t, url+"/", "")
	require.Equal(t, 200, status)
	require.Contains(t, string(page), "What is promised")
	cancel()
	require.Zero(t, <-code, &stderr)
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"file"}, {"-step", "x"}} {
		var out, errs bytes.Buffer
		require.Equal(t, 2, program(context.Background(), args, &out, &errs), "%q", args)
		require.NotZero(t, errs.Len())
	}
	for _, args := range [][]string{{"-epsilon", "0"}, {"-step", "0s"}, {"-delta", "1"}, {"-counters", "-1"}, {"-elements", "-1"}, {"-elements", "0"}, {"-reports", "-0.1"}, {"-reports", "0.6"}, {"-reports", "NaN"}, {"-reports", "0", "-max", "5"}, {"-min", "5"}, {"-max", "NaN"}, {"-address", "nowhere:x"}, {"-store", "/dev/null/x"}} {
		var out, errs bytes.Buffer
		require.Equal(t, 1, program(context.Background(), append([]string{"-store", filepath.Join(t.TempDir(), "s.db")}, args...), &out, &errs), "%q", args)
		require.NotZero(t, errs.Len())
	}
	var out, errs bytes.Buffer
	require.Zero(t, program(context.Background(), []string{"-h"}, &out, &errs))
	require.Zero(t, errs.Len())
	for _, want := range []string{"-epsilon", `{"user":"u-4711","key":"/index.html"}`, "POST /events", "GET  /windows/24", "GET  /reports", "-reports", "-max"} {
		require.Contains(t, out.String(), want)
	}
}
