package distinct

import (
	"bytes"
	"encoding"
	"encoding/hex"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/stretchr/testify/require"
)

// sketchOf is a release of that count, with bits if there are any.
func sketchOf(p Params, id hashing.Seed, count int64, bits ...uint64) *Sketch {
	return &Sketch{total{release{p, numbers{count}}, 0}, id, bits}
}

// sample is a release of these numbers.
func sample(epsilon float64, list ...int64) release {
	return release{Params{Epsilon: epsilon, Cells: 2048, Levels: 22, CountShare: 1, Seed: hashing.Seed{9}}, list}
}

func sampleCount() *Sketch { return &Sketch{total{sample(1, -3), 0}, hashing.Seed{1, 2}, nil} }

func sampleBits() *Sketch {
	return sketchOf(Params{Epsilon: 2, Cells: 70, Levels: 3, CountShare: 0.0625, Seed: hashing.Seed{9}}, hashing.Seed{3}, 123, 1, 2, 3, 4, math.MaxUint64, 63)
}

func sampleRunning() *Running { return &Running{total{sample(1, 5000), 30}} }

func sampleWindows() *Windows {
	w := &Windows{sample(1, 900, -2, 77, 0, 44100), 20000}
	w.params.Spans = [8]int{1, 7, 28, 90}
	return w
}

func samplePair() *Pair { return &Pair{sample(0.5, 900, -2, 77, 44000)} }

func sampleFrequencies() *Frequencies { return &Frequencies{sample(0.5, 5000, 600, -2, 77, 3000), 3} }

func sampleCohorts() *Cohorts {
	return &Cohorts{sample(0.5, 500, 60, -2, 77, 3000, 5, 41000, -9), 3}
}

// samples are the objects of the golden files, by name.
func samples() map[string]encoding.BinaryMarshaler {
	return map[string]encoding.BinaryMarshaler{"count.hex": sampleCount(), "bits.hex": sampleBits(), "running.hex": sampleRunning(), "windows.hex": sampleWindows(), "pair.hex": samplePair(),
		"frequencies.hex": sampleFrequencies(), "cohorts.hex": sampleCohorts()}
}

func TestCodec(t *testing.T) {
	for _, s := range []*Sketch{sampleCount(), sampleBits()} {
		dptest.Codec(t, s, dptest.DeepEqual[Sketch])
		data := dptest.OK(s.MarshalBinary())(t)
		require.Len(t, data, planned(s.Params()).Bytes)
	}
	dptest.Codec(t, sampleRunning(), dptest.DeepEqual[Running])
	dptest.Codec(t, sampleWindows(), dptest.DeepEqual[Windows])
	dptest.Codec(t, samplePair(), dptest.DeepEqual[Pair])
	dptest.Codec(t, sampleFrequencies(), dptest.DeepEqual[Frequencies])
	dptest.Codec(t, sampleCohorts(), dptest.DeepEqual[Cohorts])
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) { dptest.GoldenDumps(t, samples()) }

// Where a key goes is part of the format too: parties with different versions must meet.
func TestGoldenPlaces(t *testing.T) {
	b := builder(t, Params{Epsilon: 1, Cells: 1000, Levels: 8, Seed: hashing.Seed{1, 2, 3}})
	for key := range uint64(300) {
		b.Add(key * key * key)
	}
	dptest.Golden(t, "places.txt", hex.Dump(sets.AppendTable(nil, held(b.secret).table)))
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	dptest.Spoiled(t, sampleBits, sampleCount, map[string]func(*Sketch){
		"bad epsilon":      func(s *Sketch) { s.params.Epsilon = math.NaN() },
		"too large ε":      func(s *Sketch) { s.params.Epsilon = 45 },
		"15 cells":         func(s *Sketch) { s.params.Cells = 15 },
		"other cells":      func(s *Sketch) { s.params.Cells = 130 },
		"no levels":        func(s *Sketch) { s.params.Levels = 0 },
		"65 levels":        func(s *Sketch) { s.params.Levels = 65 },
		"zero seed":        func(s *Sketch) { s.params.Seed = hashing.Seed{} },
		"no identity":      func(s *Sketch) { s.id = hashing.Seed{} },
		"no share":         func(s *Sketch) { s.params.CountShare = 0 },
		"negative zero":    func(s *Sketch) { s.params.CountShare = math.Copysign(0, -1) },
		"all of ε":         func(s *Sketch) { s.params.CountShare = 1 },
		"no bits":          func(s *Sketch) { s.bits = nil },
		"bits behind":      func(s *Sketch) { s.bits[1] |= 1 << 6 },
		"huge count":       func(s *Sketch) { s.numbers[0] = math.MaxInt64 },
		"huge, negative":   func(s *Sketch) { s.numbers[0] = math.MinInt64 },
		"a share too much": func(s *Sketch) { s.params.CountShare = 1.5 },
	})
}

// spoils are those of all releases that are numbers, and a few of their own.
func spoils[T any](of func(*T) *release, own map[string]func(*T)) map[string]func(*T) {
	for name, spoil := range map[string]func(*release){
		"huge count": func(r *release) { r.numbers[len(r.numbers)-1] = math.MinInt64 },
		"a share":    func(r *release) { r.params.CountShare = 0.5 },
		"no share":   func(r *release) { r.params.CountShare = 0 },
		"a number":   func(r *release) { r.numbers = append(r.numbers, 0) },
		"no numbers": func(r *release) { r.numbers = nil },
		"15 cells":   func(r *release) { r.params.Cells = 15 },
		"no levels":  func(r *release) { r.params.Levels = 0 },
		"zero seed":  func(r *release) { r.params.Seed = hashing.Seed{} },
	} {
		own[name] = func(x *T) { spoil(of(x)) }
	}
	return own
}

func TestDecodeRejectsInvalidNumbers(t *testing.T) {
	many := map[string]func(*Running){}
	if math.MaxInt > maxSlots { // an int of 32 bits has no slots beyond
		many["many slots"] = func(r *Running) { r.slots = math.MaxInt }
	}
	dptest.Spoiled(t, sampleRunning, sampleRunning, spoils(func(r *Running) *release { return &r.release }, many))
	dptest.Spoiled(t, sampleWindows, sampleWindows, spoils(func(w *Windows) *release { return &w.release }, map[string]func(*Windows){
		"too large":     func(w *Windows) { w.params.Cells, w.params.Levels = 1<<28, 6 },
		"one fewer":     func(w *Windows) { w.params.Spans[3] = 0 },
		"a gap":         func(w *Windows) { w.params.Spans[1] = 0 },
		"not ascending": func(w *Windows) { w.params.Spans[1] = 28 },
	}))
	dptest.Spoiled(t, samplePair, samplePair, spoils(func(p *Pair) *release { return &p.release }, map[string]func(*Pair){}))
	dptest.Spoiled(t, sampleFrequencies, sampleFrequencies, spoils(func(f *Frequencies) *release { return &f.release }, map[string]func(*Frequencies){
		"more classes": func(f *Frequencies) { f.most = 4 },
		"a small ε":    func(f *Frequencies) { f.params.Epsilon = 0x1p-30 },
		"huge cells":   func(f *Frequencies) { f.params.Cells, f.params.Levels = 1<<28, 1 },
	}))
	dptest.Spoiled(t, sampleCohorts, sampleCohorts, spoils(func(c *Cohorts) *release { return &c.release }, map[string]func(*Cohorts){
		"more days":  func(c *Cohorts) { c.days = 4 },
		"huge cells": func(c *Cohorts) { c.params.Cells, c.params.Levels = 1<<29, 2 },
	}))
}

// The first version had no empty class, and no release is without windows.
func TestDecodeRejectsOtherWindows(t *testing.T) {
	data := dptest.OK(sampleWindows().MarshalBinary())(t)
	old := append(bytes.Clone(data[:46]), data[78:]...)
	old[5] = 1
	require.ErrorIs(t, new(Windows).UnmarshalBinary(old), ErrFormat)
	clear(data[46:78])
	for n := 82; n <= len(data); n += 8 {
		require.ErrorIs(t, new(Windows).UnmarshalBinary(data[:n]), ErrFormat)
	}
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, samples(), useDecoded) }

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	if r := dptest.Decoded[Running](t, data); r != nil {
		lo, hi := r.Interval(0.9)
		require.False(t, math.IsNaN(r.Estimate()) || math.IsNaN(r.StdErr()) || !(lo <= hi))
		require.True(t, r.Guarantee().Promises())
	}
	if w := dptest.Decoded[Windows](t, data); w != nil {
		for _, span := range w.params.windows() {
			lo, hi := w.Interval(span, 0.9)
			require.False(t, math.IsNaN(w.Estimate(span)) || math.IsNaN(w.StdErr(span)) || !(lo <= hi))
		}
		require.True(t, w.Guarantee().Promises())
	}
	if p := dptest.Decoded[Pair](t, data); p != nil {
		for i, answer := range p.all() {
			lo, hi := answer.Interval(0.9)
			require.True(t, lo >= 0 && lo <= hi && !math.IsNaN(answer.StdErr()) && (i == 6 || !math.IsNaN(answer.Estimate())))
		}
		require.True(t, p.Guarantee().Promises())
	}
	if f := dptest.Decoded[Frequencies](t, data); f != nil {
		lo, hi := f.ShareInterval(1, 0.9)
		require.True(t, 0 <= lo && lo <= hi && hi <= 1 && !math.IsNaN(f.Users().Estimate()))
		require.True(t, f.Guarantee().Promises())
	}
	if c := dptest.Decoded[Cohorts](t, data); c != nil && c.days < 4 {
		for _, answer := range c.triangle() {
			lo, hi := answer.Interval(0.9)
			require.True(t, lo >= 0 && lo <= hi && !math.IsNaN(answer.Estimate()) && !math.IsNaN(answer.StdErr()))
		}
		require.True(t, c.Guarantee().Promises())
	}
	s := dptest.Decoded[Sketch](t, data)
	if s == nil {
		return
	}
	require.False(t, math.IsNaN(s.Estimate()) || math.IsInf(s.Estimate(), 0))
	require.False(t, math.IsNaN(s.StdErr()))
	for _, confidence := range []float64{0, 0.5, 0.99, 1 - 0x1p-53} {
		lo, hi := s.Interval(confidence)
		require.True(t, lo >= 0 && lo <= hi, "[%v, %v]", lo, hi)
	}
	require.True(t, s.Guarantee().Promises())
	if other := *s; s.bits != nil {
		other.id = other.id.Derive(1)
		within(t, s, &other)
		third := other
		third.id = third.id.Derive(1)
		union := dptest.OK(Union(s, &other, &third))(t)
		lo, hi := union.Interval(0.9)
		require.True(t, lo <= hi, "[%v, %v]", lo, hi)
	}
	require.NotContains(t, s.String(), "NaN")
}

func FuzzRestorePrivateState(f *testing.F) {
	f.Add(privateBytes(f, builder(f, small, 1, 2, 3)))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := builder(t, small, 9)
		dptest.RestoresOrStays(t, b, data)
		dptest.OK(b.Release())(t)
	})
}
