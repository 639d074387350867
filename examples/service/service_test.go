package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// childVariable makes the test binary be the service, for the test that kills it.
const childVariable = "DPSKETCH_SERVICE_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childVariable); args != "" {
		os.Args = append(os.Args[:1], strings.Fields(args)...)
		main()
	}
	flag.Parse()
	os.Exit(m.Run())
}

func testConfig(t testing.TB) config {
	return config{address: "127.0.0.1:0", operator: "127.0.0.1:0", dir: t.TempDir(), window: time.Hour, shards: 4, counters: 64,
		epsilon: 1, delta: 1e-9, budget: 10, slack: 1e-6}
}

func mustOpen(t testing.TB, c config) *service {
	t.Helper()
	s, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s
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
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", accept)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, body
}

// off bounds the error of a released count here: the noise has scale (2k−1)/ε units of 1/(k+1),
// below 2, so that 60 is passed with a probability of e^{−30}, and with at most 64 distinct keys
// nothing is undercounted but by the reduction, at most n/(k+1).
func off(n, counters int) float64 { return 60 + float64(n)/float64(counters+1) }

func TestReleaseOverHTTP(t *testing.T) {
	s := mustOpen(t, testConfig(t))
	server := httptest.NewServer(s.handler())
	defer server.Close()
	body := strings.Repeat(`{"key":"tea"}`+"\n", 3000) + strings.Repeat(`{ "key" : "caf\u00e9", "user": 7 }`+"\n", 2000) + "\n{\"key\":\"\"}\nnonsense\n{\"key\":5}\n"
	if status, taken, malformed := post(t, server.URL, body); status != 200 || taken != 5000 || malformed != 3 {
		t.Fatalf("status %d, %d taken, %d malformed", status, taken, malformed)
	}
	if _, list := get(t, server.URL+"/releases", ""); !strings.Contains(string(list), `"windows":[]`) {
		t.Errorf("before the end of the window: %s", list)
	}
	if err := s.rotate(); err != nil {
		t.Fatal(err)
	}
	status, text := get(t, server.URL+"/releases/1", "application/json")
	var release struct {
		Guarantee string
		Threshold float64
		Keys      []row
	}
	if err := json.Unmarshal(text, &release); status != 200 || err != nil {
		t.Fatalf("status %d, %v: %s", status, err, text)
	}
	if release.Guarantee != "ε = 1, δ = 1e-9 for one element, added or removed" || !(release.Threshold > 1) {
		t.Errorf("%s", text)
	}
	truth := map[string]float64{"tea": 3000, "café": 2000}
	if len(release.Keys) != 2 {
		t.Fatalf("released: %s", text)
	}
	for _, r := range release.Keys {
		if d := r.Estimate - truth[r.Key]; d > off(0, 64) || d < -off(5000, 64) || r.Low > r.Estimate {
			t.Errorf("%+v, the truth is %v", r, truth[r.Key])
		}
	}
	_, data := get(t, server.URL+"/releases/1", encoded)
	var h misragries.Histogram[string]
	if err := h.UnmarshalBinary(data); err != nil || h.Len() != 2 || h.Estimate("tea") != release.Keys[slices.IndexFunc(release.Keys, func(r row) bool { return r.Key == "tea" })].Estimate {
		t.Errorf("the encoded release: %v, %v", err, &h)
	}
	for _, path := range []string{"/releases/2", "/releases/0", "/releases/x", "/releases/99999999999999999999"} {
		if status, _ := get(t, server.URL+path, ""); status != http.StatusNotFound {
			t.Errorf("%s: status %d", path, status)
		}
	}
	if _, budget := get(t, server.URL+"/budget", ""); !strings.Contains(string(budget), "ε = 2, δ = 2e-9 for one element") {
		t.Errorf("two windows have been opened: %s", budget)
	}
}

func TestMetrics(t *testing.T) {
	s := mustOpen(t, testConfig(t))
	events, operator := httptest.NewServer(s.handler()), httptest.NewServer(s.metrics.handler())
	defer events.Close()
	defer operator.Close()
	post(t, events.URL, "{\"key\":\"a\"}\n{\"key\":\"b\"}\nx\n")
	_, text := get(t, operator.URL+"/metrics", "")
	for _, want := range []string{"service_requests_total 1\n", "service_events_total 2\n", "service_malformed_total 1\n", "service_refused_total 0\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if status, _ := get(t, events.URL+"/metrics", ""); status != http.StatusNotFound {
		t.Errorf("exact counts in public: status %d", status)
	}
}

func TestBudgetEnds(t *testing.T) {
	c := testConfig(t)
	c.budget = 3
	s := mustOpen(t, c)
	server := httptest.NewServer(s.handler())
	defer server.Close()
	for window := 1; window <= 3; window++ {
		if status, taken, _ := post(t, server.URL, `{"key":"a"}`); status != 200 || taken != 1 {
			t.Fatalf("window %d: status %d, %d taken", window, status, taken)
		}
		err := s.rotate()
		if (err != nil) != (window == 3) {
			t.Fatalf("window %d: %v", window, err)
		}
	}
	if status, taken, _ := post(t, server.URL, `{"key":"a"}`); status != http.StatusForbidden || taken != 0 {
		t.Errorf("beyond the budget: status %d, %d taken", status, taken)
	}
	if got := s.archive.numbers(); !slices.Equal(got, []uint64{1, 2, 3}) {
		t.Errorf("released: %v", got)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, c)
	if err := again.take([]string{"a"}); err == nil {
		t.Error("a restart must not give the budget back")
	}
	if got := again.archive.numbers(); len(got) != 3 {
		t.Errorf("after a restart: %v", got)
	}
	c.budget = 2
	if err := again.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(c); err == nil {
		t.Error("a budget below what is spent must be refused")
	}
}

func TestOneProcessPerFolder(t *testing.T) {
	c := testConfig(t)
	mustOpen(t, c)
	if s, err := open(c); err == nil {
		t.Error("two services share a folder")
		_ = s.close()
	}
}

// A last line that was not written whole was never acknowledged; any other damage, and another
// budget, stop the service.
func TestJournal(t *testing.T) {
	c := testConfig(t)
	s := mustOpen(t, c)
	if err := errors.Join(s.rotate(), s.close()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(c.dir, "budget.journal")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, x := range map[string]struct {
		data    []byte
		records uint64 // with that of the new window; 0: refused
	}{
		"whole": {whole, 3}, "unfinished": {append(bytes.Clone(whole), "3 spend"...), 3}, "without the end": {whole[:len(whole)-1], 3},
		"header alone": {lines[0], 1}, "a changed digit": {bytes.Replace(whole, []byte("1 spend"), []byte("7 spend"), 1), 0},
		"nonsense": {[]byte("nonsense\n"), 0}, "a line lost": {append(bytes.Clone(lines[0]), lines[2]...), 0},
	} {
		c.dir = t.TempDir()
		if err := os.WriteFile(filepath.Join(c.dir, "budget.journal"), x.data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := open(c)
		if (err == nil) != (x.records > 0) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if got := s.ledger.Load().Records(); got != x.records || s.current.number != got {
			t.Errorf("%s: %d records, window %d", name, got, s.current.number)
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
	c.dir = filepath.Dir(path)
	c.budget++
	if _, err := open(c); err == nil {
		t.Error("opened with another budget")
	}
}

// A release whose budget is spent is published even if the disk does not take it, and stored once
// the disk does.
func TestReleaseWithoutADisk(t *testing.T) {
	w, err := newWindow(1, misragries.Params{Counters: 4, Epsilon: 1, Delta: 1e-9}, 1)
	if err != nil {
		t.Fatal(err)
	}
	h, err := w.release()
	if err != nil {
		t.Fatal(err)
	}
	a := &archive{dir: filepath.Join(t.TempDir(), "missing"), releases: map[uint64]*misragries.Histogram[string]{}}
	if err := a.put(1, h); err == nil || a.get(1) != h {
		t.Errorf("%v, %v", err, a.get(1))
	}
	if err := os.Mkdir(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := a.save(); err != nil {
		t.Fatal(err)
	}
	again, err := openArchive(a.dir, 1)
	if err != nil || !slices.Equal(again.numbers(), []uint64{1}) {
		t.Errorf("on the disk: %v, %v", again, err)
	}
}

// What the disk has refused is stored later, also when there are no more windows.
func TestReleasesAreSavedLater(t *testing.T) {
	c := testConfig(t)
	c.budget = 1
	s := mustOpen(t, c)
	s.archive.dir = filepath.Join(c.dir, "missing")
	if err := s.rotate(); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("without a disk: %v", err)
	}
	s.archive.dir = c.dir
	if err := s.rotate(); !errors.Is(err, budget.ErrBudget) {
		t.Fatalf("beyond the budget: %v", err)
	}
	if again, err := openArchive(c.dir, 1); err != nil || !slices.Equal(again.numbers(), []uint64{1}) {
		t.Errorf("on the disk: %v, %v", again, err)
	}
}

// A journal that is gone, or an older one, must not let a budget that was spent be spent again.
func TestJournalIsLost(t *testing.T) {
	c := testConfig(t)
	s := mustOpen(t, c)
	path := filepath.Join(c.dir, "budget.journal")
	old, err := os.ReadFile(path)
	if err := errors.Join(err, s.rotate(), s.close()); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"older": old, "empty": nil} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if s, err := open(c); err == nil {
			t.Errorf("%s: opened with %v", name, s.ledger.Load())
			_ = s.close()
		}
	}
}

// A window that the disk prevents costs nothing, and when there is room again the budget is what it
// was.
func TestFullDiskCostsNoBudget(t *testing.T) {
	s := mustOpen(t, testConfig(t))
	before, file := s.ledger.Load().Spent(), s.journal.File
	readOnly, err := os.Open(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	s.journal.File = readOnly
	for range 20 { // more than the budget is for
		if err := s.rotate(); err == nil || errors.Is(err, budget.ErrBudget) {
			t.Fatalf("a window without a journal: %v", err)
		}
	}
	answer := httptest.NewRecorder()
	s.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/events", strings.NewReader(`{"key":"a"}`)))
	if answer.Code != http.StatusInternalServerError || s.ledger.Load().Spent() != before {
		t.Errorf("status %d: spent %v, %v before", answer.Code, s.ledger.Load().Spent(), before)
	}
	s.journal.File = file
	if err := errors.Join(readOnly.Close(), s.rotate(), s.take([]string{"a"})); err != nil || s.current.number != 2 {
		t.Errorf("with room again: %v", err)
	}
}

// filled returns the builders of the open window that hold events.
func filled(t *testing.T, s *service) (shards []int) {
	t.Helper()
	empty, err := misragries.New[string](s.params)
	if err != nil {
		t.Fatal(err)
	}
	want, err := empty.AppendPrivateState(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.current.shards {
		state, err := s.current.shards[i].builder.AppendPrivateState(nil)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(state, want) {
			shards = append(shards, i)
		}
	}
	return shards
}

// Whether an event is there moves no other: a request is in one builder, whatever its size, and
// which one says nothing of that of another.
//
// Of 400 draws among 4 builders the number of those that show one of them, or the same one twice,
// is off its mean of 100 by 80 with a probability of at most 2·e^{−2·80²/400} < 3e-14 (Hoeffding).
// Builders that take turns show one in all, and the same one twice in none.
func TestNoEventMovesAnother(t *testing.T) {
	const runs = 400
	c := testConfig(t)
	first, twice := make([]int, c.shards), 0
	s := mustOpen(t, c)
	for range runs {
		var err error
		if s.current, err = newWindow(1, s.params, c.shards); err != nil {
			t.Fatal(err)
		}
		if err := s.take(slices.Repeat([]string{"a"}, 3000)); err != nil {
			t.Fatal(err)
		}
		shards := filled(t, s)
		if len(shards) != 1 {
			t.Fatalf("one request is in %d builders", len(shards))
		}
		first[shards[0]]++
		if err := s.take([]string{"a"}); err != nil {
			t.Fatal(err)
		}
		if len(filled(t, s)) == 1 {
			twice++
		}
	}
	for _, n := range append(first, twice) {
		if n <= runs/4-80 || n >= runs/4+80 {
			t.Errorf("of %d windows, the first request is in %v, the second in the same builder in %d", runs, first, twice)
		}
	}
}

// A request that cannot be read to its end leaves nothing behind, so that it can be sent again.
func TestRequestsAreTakenWhole(t *testing.T) {
	s := mustOpen(t, testConfig(t))
	events := strings.Repeat("{\"key\":\"a\"}\n", 5000)
	read := func(text string) io.Reader { return strings.NewReader(text) }
	for name, c := range map[string]struct {
		body io.Reader
		want int
	}{
		"a line too long":  {read(events + strings.Repeat("x", maxLine) + "\n" + events), http.StatusBadRequest},
		"a body too large": {read(strings.Repeat(events, maxBody/len(events)+1)), http.StatusRequestEntityTooLarge},
		"cut off":          {io.MultiReader(read(events), iotest.ErrReader(io.ErrUnexpectedEOF)), http.StatusBadRequest},
	} {
		answer := httptest.NewRecorder()
		s.handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/events", c.body))
		if answer.Code != c.want || !strings.HasPrefix(answer.Body.String(), `{"taken":0,`) {
			t.Errorf("%s: status %d, %s", name, answer.Code, answer.Body)
		}
	}
	if shards := filled(t, s); len(shards) > 0 || s.metrics.events.Load() != 0 || s.metrics.refused.Load() != 3 {
		t.Errorf("builders %v hold events; %d counted, %d requests refused", shards, s.metrics.events.Load(), s.metrics.refused.Load())
	}
}

// What was acknowledged before the end is in the releases, all of it and once: a hundred clients
// send while windows change, and the service stops under them. TestTerminated says why the releases
// tell the number exactly.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	c := testConfig(t)
	c.epsilon, c.budget, c.slack = 1000, 1e6, 0.5
	s := mustOpen(t, c)
	server := httptest.NewServer(s.handler())
	const clients, batch = 100, 50
	body := strings.Repeat("{\"key\":\"event\"}\n", batch)
	var group sync.WaitGroup
	acknowledged := make([]int, clients)
	for i := range clients {
		group.Go(func() {
			for range 40 {
				status, taken, _ := post(t, server.URL, body)
				acknowledged[i] += taken
				if status != 200 {
					return
				}
			}
		})
	}
	for range 5 {
		time.Sleep(10 * time.Millisecond)
		if err := s.rotate(); err != nil {
			t.Error(err)
		}
	}
	if err := s.close(); err != nil { // under the clients' feet
		t.Error(err)
	}
	group.Wait()
	server.Close()
	total, sent := 0.0, 0
	for _, n := range acknowledged {
		sent += n
	}
	windows := s.archive.numbers()
	for _, number := range windows {
		total += s.archive.get(number).Estimate("event")
	}
	if len(windows) != 6 || sent == 0 || int(math.Round(total)) != sent {
		t.Errorf("%d acknowledged, the releases of %d windows say %v", sent, len(windows), total)
	}
}

// startChild starts the service as a process of its own, and returns it with its address.
func startChild(t *testing.T, args ...string) (child *exec.Cmd, url string) {
	t.Helper()
	child = exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+strings.Join(args, " ")+" -address 127.0.0.1:0 -operator 127.0.0.1:0")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill() })
	head := make([]byte, 4096)
	n, err := out.Read(head)
	address := regexp.MustCompile(`releases: (http://\S+)`).FindSubmatch(head[:n])
	if err != nil || address == nil {
		t.Fatalf("the service printed %q, %v", head[:n], err)
	}
	return child, string(address[1])
}

// Killed in the middle of a window the service leaves no trace of the events on the disk, and the
// next one knows that the window's budget is gone.
func TestKilled(t *testing.T) {
	c := testConfig(t)
	child, url := startChild(t, "-dir", c.dir, "-window", "1h", "-budget", "10")
	const secret = "a-secret-page-of-somebody"
	if status, taken, _ := post(t, url, strings.Repeat("{\"key\":\""+secret+"\"}\n", 100_000)); status != 200 || taken != 100_000 {
		t.Fatalf("status %d, %d taken", status, taken)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed: an error
	files := 0
	err := filepath.WalkDir(c.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(secret)) || len(data) > 4096 {
			t.Errorf("%s holds events", path)
		}
		return err
	})
	if err != nil || files != 1 {
		t.Errorf("%d files, %v; want the journal alone", files, err)
	}
	s := mustOpen(t, c)
	if got := s.ledger.Load().Spent().String(); got != "ε = 2, δ = 2e-9 for one element, added or removed" {
		t.Errorf("spent %s after the lost window and a new one", got)
	}
	if got := s.archive.numbers(); len(got) != 0 || s.current.number != 2 {
		t.Errorf("released %v, window %d open", got, s.current.number)
	}
}

// Told to end while fifty clients send, the process releases each event that it has acknowledged
// once, and those of answers that got lost; one client that does not come to an end with its
// request holds up nothing.
//
// A single key meets no decrement, so a released count is k/(k+1) of the true one and noise of
// scale below 2/1000. Of 100 windows the noise is beyond ½ together with a probability of
// 2·(4/3)¹⁰⁰·e^{−125} < 1e-41, and a hidden window would miss by one request at least.
func TestTerminated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	c := testConfig(t)
	c.epsilon, c.budget, c.slack = 1000, 1e6, 0.5
	child, url := startChild(t, "-dir", c.dir, "-window", "50ms", "-grace", "500ms", "-epsilon", "1000", "-budget", "1e6", "-slack", "0.5", "-counters", "64")
	slow, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	const clients, batch = 50, 20
	body := strings.Repeat("{\"key\":\"event\"}\n", batch)
	if _, err := fmt.Fprintf(slow, "POST /events HTTP/1.1\r\nHost: slow\r\nContent-Length: 100000\r\n\r\n%s", body); err != nil {
		t.Fatal(err)
	}
	var acknowledged, unanswered atomic.Int64
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for {
				response, err := http.Post(url+"/events", "", strings.NewReader(body))
				if err != nil {
					unanswered.Add(batch)
					return
				}
				var answer struct{ Taken int64 }
				err = json.NewDecoder(response.Body).Decode(&answer)
				_ = response.Body.Close()
				switch {
				case err != nil:
					unanswered.Add(batch)
					return
				case response.StatusCode != http.StatusOK:
					return
				}
				acknowledged.Add(answer.Taken)
			}
		})
	}
	for acknowledged.Load() < 1000 && unanswered.Load() == 0 {
		time.Sleep(100 * time.Millisecond)
	}
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
	group.Wait()
	s := mustOpen(t, c)
	total := 0.0
	for _, number := range s.archive.numbers() {
		total += s.archive.get(number).Estimate("event")
	}
	least, most := acknowledged.Load(), acknowledged.Load()+unanswered.Load()
	if got := int64(math.Round(total)); least == 0 || got < least || got > most {
		t.Errorf("%d to %d events acknowledged, the releases of %d windows say %v", least, most, len(s.archive.numbers()), total)
	}
	t.Logf("%d events acknowledged, %d without an answer, %v in the releases of %d windows", least, most-least, total, len(s.archive.numbers()))
}

// The program as a whole: it serves, and ends in order when it is told to.
func TestProgram(t *testing.T) {
	c := testConfig(t)
	c.budget, c.slack = 100_000, 0.5
	ctx, cancel := context.WithCancel(context.Background())
	read, write := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int)
	go func() {
		code <- program(ctx, []string{"-dir", c.dir, "-address", c.address, "-operator", c.operator, "-window", "50ms", "-budget", "100000", "-slack", "0.5"}, write, &stderr)
	}()
	head := make([]byte, 4096)
	n, err := read.Read(head)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	url := string(regexp.MustCompile(`http://\S+`).Find(head[:n]))
	for range 10 {
		if status, taken, _ := post(t, url, strings.Repeat("{\"key\":\"x\"}\n", 5000)); status != 200 || taken != 5000 {
			t.Errorf("status %d, %d taken", status, taken)
		}
	}
	for {
		if _, list := get(t, url+"/releases", ""); !strings.Contains(string(list), "[]") {
			break // a window has ended by itself
		}
	}
	cancel()
	if got := <-code; got != 0 {
		t.Fatalf("exit code %d: %s", got, &stderr)
	}
	s := mustOpen(t, c)
	total := 0.0
	for _, number := range s.archive.numbers() {
		total += s.archive.get(number).Estimate("x")
	}
	if windows := len(s.archive.numbers()); windows < 2 || total < 50000*1024./1025-90*float64(windows) || total > 50000+90*float64(windows) {
		t.Errorf("the releases of %d windows say %v, sent were 50000", windows, total)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"file"}, {"-window", "x"}} {
		var out, errs bytes.Buffer
		if code := program(context.Background(), args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%q: exit code %d, printed %q and %q", args, code, &out, &errs)
		}
	}
	for _, args := range [][]string{{"-epsilon", "0"}, {"-window", "0s"}, {"-budget", "-1"}, {"-counters", "0"}, {"-address", "nowhere:x"}} {
		var out, errs bytes.Buffer
		dir := t.TempDir()
		if code := program(context.Background(), append(args, "-dir", dir), &out, &errs); code != 1 || errs.Len() == 0 {
			t.Errorf("%q: exit code %d, printed %q and %q", args, code, &out, &errs)
		}
	}
	var out, errs bytes.Buffer
	if code := program(context.Background(), []string{"-h"}, &out, &errs); code != 0 || !strings.Contains(errs.String(), "-epsilon") {
		t.Errorf("-h: exit code %d, printed %q", code, &errs)
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, s := range []string{`{"key":"a"}`, `{"key":"a\n"}`, `{"key":""}`, `{"key":"a","key":"b"}`, `{"Key":"a"}`, "{", `{"key":"` + "\xff" + `"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		key, ok := parseEvent(line)
		var e event
		err := json.Unmarshal(line, &e)
		if wellFormed := err == nil && valid(len(e.Key)); ok != wellFormed || ok && key != e.Key {
			t.Errorf("%q: %q, %v; encoding/json says %q, %v", line, key, ok, e.Key, err)
		}
	})
}

// BenchmarkTake measures the service's own part: keys into the shards of a window, from all cores.
func BenchmarkTake(b *testing.B) {
	s := mustOpen(b, testConfig(b))
	keys := make([]string, 1024)
	for i := range keys {
		keys[i] = fmt.Sprintf("/page/%d", i*i%700)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := s.take(keys); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N*len(keys))/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkEvents measures JSON lines over a loopback connection.
func BenchmarkEvents(b *testing.B) {
	s := mustOpen(b, testConfig(b))
	server := httptest.NewServer(s.handler())
	defer server.Close()
	var body strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&body, "{\"key\":\"/page/%d\"}\n", i*i%700)
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if status, taken, _ := post(b, server.URL, body.String()); status != 200 || taken != 10_000 {
				b.Errorf("status %d, %d taken", status, taken)
			}
		}
	})
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "events/s")
}
