package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

func TestMain(m *testing.M) {
	beam.Init()
	os.Exit(m.Run())
}

// small are the flags of a short run.
var small = options{
	count: "both", elements: 20_000, shards: 8, counters: 64, relative: 0.1, largest: 1e6, epsilon: 2, delta: 1e-9, share: 0.5, top: 5, confidence: 0.95,
}

// catchFn catches what a pipeline gives.
type catchFn struct{}

var (
	caught   [][]byte
	catching sync.Mutex
)

func (*catchFn) ProcessElement(encoded []byte) {
	catching.Lock()
	defer catching.Unlock()
	caught = append(caught, bytes.Clone(encoded))
}

// through runs elements through a step on the local runner and returns the one encoded release.
func through[P any](t *testing.T, step func(beam.Scope, P, beam.PCollection) (beam.PCollection, error), p P, elements func(beam.Scope) beam.PCollection) []byte {
	t.Helper()
	pipeline, s := beam.NewPipelineWithRoot()
	caught = nil
	release, err := step(s, p, elements(s))
	if err != nil {
		t.Fatal(err)
	}
	beam.ParDo0(s, &catchFn{}, release)
	if err := execute(context.Background(), pipeline); err != nil {
		t.Fatal(err)
	}
	if len(caught) != 1 {
		t.Fatalf("%d releases", len(caught))
	}
	return caught[0]
}

// must returns v where there is no error.
func must[V any](t *testing.T) func(v V, err error) V {
	return func(v V, err error) V {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// Both answers to lines of text come out, on the standard output or in a file, and the ledger says
// what they cost together.
func TestLines(t *testing.T) {
	o := small
	o.input = filepath.Join(t.TempDir(), "lines.txt")
	if err := os.WriteFile(o.input, []byte(strings.Repeat("tea\ntea\n\nwater\n", 2000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run(context.Background(), o, &out); err != nil {
		t.Fatal(err)
	}
	check := func(text string) {
		t.Helper()
		if !strings.Contains(text, "tea") || strings.Index(text, " tea") > strings.Index(text, " water") || !strings.Contains(text, "Distinct keys") {
			t.Errorf("printed:\n%s", text)
		}
	}
	check(out.String())
	ledger, _, _ := strings.Cut(out.String(), "\n")
	if want := "ε = 2 of 2 at δ = 1e-9, 2 releases, for one element, added or removed"; ledger != want {
		t.Errorf("ledger: %s", ledger)
	}

	out.Reset()
	o.output = filepath.Join(t.TempDir(), "answer.txt")
	if err := run(context.Background(), o, &out); err != nil {
		t.Fatal(err)
	}
	answer, err := os.ReadFile(o.output)
	if err != nil {
		t.Fatal(err)
	}
	check(string(answer))
	if out.String() != ledger+"\n\n" {
		t.Errorf("printed beside the file:\n%s", out.String())
	}
}

// The parts of the budget are the whole of it, for every share, and one answer alone has all of it.
func TestBudget(t *testing.T) {
	for _, share := range []float64{0.01, 0.1, 0.3, 0.5, 0.77, 0.9} {
		o := small
		o.share, o.relative = share, 0.5
		r, err := o.releases()
		if err != nil {
			t.Fatalf("share %v: %v", share, err)
		}
		if got := r.frequent.Epsilon + r.distinct.Epsilon; got < 2*(1-1e-15) || got > 2*(1+1e-15) || r.distinct.Epsilon != 2*share || r.frequent.Delta != o.delta {
			t.Errorf("share %v: %v and %v", share, r.frequent, r.distinct)
		}
		if r.distinct.Seed.IsZero() {
			t.Error("no Seed")
		}
	}
	o := small
	o.count, o.share = "frequent", -7 // not used
	if r, err := o.releases(); err != nil || r.distinct != nil || r.frequent.Epsilon != 2 {
		t.Errorf("frequent keys alone: %v, %v", r, err)
	}
	o.count = "distinct"
	r, err := o.releases()
	if err != nil || r.frequent != nil || r.distinct.Epsilon != 2 {
		t.Fatalf("distinct keys alone: %v, %v", r, err)
	}
	if delta := r.ledger.Spent().DeltaAt(2); delta != 0 {
		t.Errorf("a count of distinct keys took δ = %v", delta)
	}
}

// A wrong flag is an error before there is a pipeline: nothing is printed.
func TestWrongFlags(t *testing.T) {
	for name, change := range map[string]func(o *options){
		"count":      func(o *options) { o.count = "all" },
		"share 0":    func(o *options) { o.share = 0 },
		"share 1":    func(o *options) { o.share = 1 },
		"elements":   func(o *options) { o.elements = -1 },
		"shards":     func(o *options) { o.shards = 0 },
		"counters":   func(o *options) { o.counters = 0 },
		"epsilon":    func(o *options) { o.epsilon = -1 },
		"delta":      func(o *options) { o.delta = 0 },
		"error":      func(o *options) { o.relative = 0 },
		"largest":    func(o *options) { o.largest = 0 },
		"confidence": func(o *options) { o.confidence = 1 },
		"arguments":  func(o *options) { o.arguments = []string{"file", "-epsilon", "0.1"} },
	} {
		for _, compared := range []bool{false, true} {
			o := small
			o.compare = compared
			change(&o)
			var out bytes.Buffer
			if err := run(context.Background(), o, &out); err == nil || out.Len() > 0 {
				t.Errorf("%s: error %v, printed %q", name, err, out.String())
			}
		}
	}
}

func init() { register.DoFn1x0[[]byte](&catchFn{}) }
