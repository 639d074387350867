package dpbeam

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/dpsketch/dpsketch/misragries"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// Each estimate is within n/(k+1) below, and the noise above, of the truth, and the threshold and
// the number of sketches that the release tells are the same for one shard and for many, for no
// element and for many.
//
// Noise of standard deviation below 3 is beyond 90 with probability below e^{−30} for each of 200
// keys.
func TestFrequentKeys(t *testing.T) {
	p := misragries.Params{Counters: 256, Epsilon: 1, Delta: 1e-9}
	for _, c := range []struct{ keys, shards int }{{200, 1}, {200, 64}, {0, 7}} {
		encoded := through(t, FrequentKeys, p, func(s beam.Scope) beam.PCollection {
			return beam.Flatten(s, repeated(c.keys, c.shards)(s), beam.ParDo(s, &manyFn{c.keys}, beam.Impulse(s)))
		})
		var h misragries.Histogram[string]
		cli.OK(h.UnmarshalBinary(encoded))
		if many := c.keys > 0; many != (h.Estimate("many") > 0) || !many && h.Len() > 0 {
			t.Errorf("%v: %v", c, &h)
		}
		if c.keys > 0 {
			if off := h.Estimate("many") - 10_000; off > 90 || off < -90-10_500./257 {
				t.Errorf("%v: off by %v", c, off)
			}
		}
		if h.Params().Method != misragries.ReducedSum {
			t.Errorf("%v: by %v, which tells of bundles", c, h.Params().Method)
		}
		// The number stands behind a header of 6 bytes, 4 bytes, 2 numbers of 4 and 4 of 8.
		if n := binary.LittleEndian.Uint32(encoded[50:]); n != sketchesShown {
			t.Errorf("%v: the release tells of %d sketches", c, n)
		}
	}
}

// More sketches than are shown are told as they are, as so many bundles say nothing of one element;
// fewer are filled up.
func TestPad(t *testing.T) {
	p := misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6}
	for _, n := range []uint32{0, 1, 2, 3, 1000, sketchesShown - 1, sketchesShown, sketchesShown + 5} {
		a := cli.Must(newTally(p))
		for range min(n, 5) { // of so many in truth
			b := cli.Must(misragries.New[string](p))
			b.Add("tea")
			cli.OK(a.add(b))
		}
		a.sketches = n
		if err := a.pad(); err != nil || a.sketches != max(n, sketchesShown) {
			t.Errorf("%d sketches: padded to %d, %v", n, a.sketches, err)
		}
	}
}

// Bytes that are no tally, or one of other Params, are an error, and no release comes of them.
func TestHostileTallies(t *testing.T) {
	p := misragries.Params{Counters: 16, Epsilon: 1, Delta: 1e-6}
	state := cli.Must(cli.Must(newTally(p)).AppendPrivateState(nil))
	total := &frequentFn{p}
	if _, err := total.ProcessElement(0, one(state, state)); err != nil {
		t.Error(err)
	}
	for n := 1; n < len(state); n++ {
		if _, err := total.ProcessElement(0, one(state, state[:n])); !errors.Is(err, misragries.ErrFormat) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
	p.Counters++
	if _, err := (&frequentFn{p}).ProcessElement(0, one(state)); !errors.Is(err, misragries.ErrMismatch) {
		t.Error(err)
	}
}

func TestWrongFrequentKeys(t *testing.T) {
	_, s := beam.NewPipelineWithRoot()
	if _, err := FrequentKeys(s, misragries.Params{Counters: 16, Epsilon: 1}, repeated(1, 1)(s)); !errors.Is(err, misragries.ErrParams) {
		t.Errorf("no δ: %v", err)
	}
}
