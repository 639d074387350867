package distinct

import (
	"fmt"
	"math"

	"github.com/dpsketch/dpsketch/internal/fault"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// spans are the lengths of the windows in days.
var spans = [3]int{1, 7, 30}

// today is the stamp of a cell that was set on the current day; every day it is one less, down to
// 0, which is also that of a cell that was never set.
const today = 30

type windowSecret = private.State[windowState]

// WindowBuilder counts the distinct keys of the last day, the last 7 and the last 30 days. For each
// cell it keeps the last day on which a key was there, and a release tells how many cells are how
// old. Each release, one a day at most, spends ε. It holds private data, like a [Builder].
type WindowBuilder struct {
	windowSecret
	params    Params
	guarantee budget.Guarantee
}

// windowState is what a WindowBuilder holds.
type windowState struct {
	place  placement
	stamps []uint8 // of each cell, level by level
	params Params
	law    noise.DiscreteLaplace
	day    int
	done   bool // this day was released
	src    noise.Source
}

// windowLaw returns the noise of each class of cells.
//
// Theorem. A release is ε-private when a key is added with all its occurrences on all days, or
// removed. Proof. The classes are the cells last set today, 1 to 6 days ago, 7 to 29 days ago. A
// key is in one cell, and with it that cell is in a newer class, in the same, or in one instead of
// none. So one class gains a cell and at most one other loses one: the three numbers have ℓ₁
// sensitivity 2, and with discrete Laplace noise of scale 2/ε in each they are ε-private. The
// windows are their sums. ∎ k releases, on k days, are kε-private: a key that comes every day is
// seen in each of them.
func (p Params) windowLaw() (noise.DiscreteLaplace, error) {
	law, err := p.runningLaw() // the same scale
	if err == nil && uint64(p.Cells)*uint64(p.Levels) > maxBits/8 {
		err = bad("Cells", p.Cells, "at most 2³⁰ cells in all, a byte each")
	}
	return law, err
}

// window returns the curve of a window; its noise is that of all classes in it.
func (p Params) window(days int) (c curve, ok bool) {
	classes, ok := classesOf(days)
	if _, err := p.windowLaw(); err != nil || !ok {
		return curve{}, false
	}
	return p.overTime(classes)
}

// classesOf returns the number of classes in a window.
func classesOf(days int) (classes int, ok bool) {
	for i, span := range spans {
		if span == days {
			return i + 1, true
		}
	}
	return 0, false
}

// NewWindowBuilder returns a WindowBuilder whose clock shows the given day, a number that all
// builders that are merged count alike, such as the days since 1970 in UTC. The error wraps
// [ErrParams]; CountShare must be 0 or 1.
//
// What is asked for may be far too much, for experiments: an ε above 20 or a δ above .01 protects
// hardly anybody.
func NewWindowBuilder(p Params, day int) (*WindowBuilder, error) {
	p = p.normal()
	law, err := p.windowLaw()
	if err != nil {
		return nil, err
	}
	if !validDay(day) {
		return nil, badDay(day)
	}
	empty := private.New(windowState{
		place: newPlacement(p.Seed, p.Cells, p.Cells, p.Levels), stamps: make([]uint8, p.Cells*p.Levels), params: p, law: law, day: day,
	})
	return &WindowBuilder{empty, p, p.Guarantee()}, nil
}

func validDay(day int) bool { return day >= 0 && day <= maxSlots }

func badDay(day int) error { return bad("day", day, "an integer in [0, 2³¹)") }

// Guarantee returns what one release promises: ε-differential privacy for one key with all its
// occurrences on all days. Every release spends it.
func (b *WindowBuilder) Guarantee() budget.Guarantee { return b.guarantee }

// Released reports whether the current day has been released, or the WindowBuilder is one that
// NewWindowBuilder did not make.
func (b *WindowBuilder) Released() bool {
	s := private.Enter(b.windowSecret)
	if s == nil {
		return true
	}
	defer private.Leave(b.windowSecret)
	return s.done
}

// Add adds keys that come on the current day; see [Builder.Add]. Those that come after the Release
// of the day are in the windows of later days.
func (b *WindowBuilder) Add(keys ...uint64) {
	private.OneOrMany(b, keys, (*WindowBuilder).addOne, (*WindowBuilder).addMany)
}

func (b *WindowBuilder) addOne(key uint64) {
	private.Use(b.windowSecret, (*windowState).set, key)
}

func (b *WindowBuilder) addMany(keys []uint64) {
	private.Use(b.windowSecret, (*windowState).setAll, keys)
}

func (s *windowState) set(key uint64) {
	if cell := s.place.cell(key); cell < uint64(len(s.stamps)) {
		s.stamps[cell] = today
	}
}

func (s *windowState) setAll(keys []uint64) {
	for _, key := range keys {
		s.set(key)
	}
}

// Advance moves the clock to a later day: every cell ages. The error wraps [ErrParams] if the day
// is not later than the current one, and [ErrReleased] for a WindowBuilder that NewWindowBuilder
// did not make.
func (b *WindowBuilder) Advance(day int) error {
	s := private.Enter(b.windowSecret)
	if s == nil {
		return private.Missing(b.windowSecret, "distinct: Advance: the WindowBuilder")
	}
	defer private.Leave(b.windowSecret)
	switch {
	case !validDay(day):
		return badDay(day)
	case day <= s.day:
		return bad("day", day, fmt.Sprintf("one after %d", s.day))
	}
	age(s.stamps, day-s.day)
	s.day, s.done = day, false
	return nil
}

// age makes all stamps older by a number of days.
func age(stamps []uint8, days int) {
	by := uint8(min(days, today))
	for i, stamp := range stamps {
		stamps[i] = max(stamp, by) - by
	}
}

// Merge makes the WindowBuilder that of the keys of both; the other one gives up its data. The
// error wraps [ErrMismatch] if the Params or the days of the clocks differ or other is b itself,
// and [ErrReleased] if one was released on the current day. Then nothing has changed.
func (b *WindowBuilder) Merge(other *WindowBuilder) error {
	if other == nil {
		other = new(WindowBuilder)
	}
	return private.Merge(b.windowSecret, other.windowSecret, "distinct: Merge", "WindowBuilder", func(s, o *windowState) error {
		if err := sameParams(b.params, other.params); err != nil {
			return err
		}
		if s.done || o.done {
			return fault.NoData("distinct: Merge: a WindowBuilder", "is already released on its day")
		}
		if s.day != o.day {
			return fault.Mismatch("distinct", "day", s.day, o.day)
		}
		for i, stamp := range o.stamps {
			s.stamps[i] = max(s.stamps[i], stamp)
		}
		return nil
	})
}

// Release spends ε and returns the counts of the windows that end with the current day. A second
// Release on one day returns an error that wraps [ErrReleased].
func (b *WindowBuilder) Release() (*Windows, error) {
	s := private.Enter(b.windowSecret)
	if s == nil {
		return nil, private.Missing(b.windowSecret, "distinct: Release: the WindowBuilder")
	}
	defer private.Leave(b.windowSecret)
	if s.done {
		return nil, fmt.Errorf("distinct: Release: the day %d is %w", s.day, fault.ErrReleased)
	}
	s.done = true
	w := &Windows{params: s.params, day: s.day, classes: classes(s.stamps)}
	for i := range w.classes {
		w.classes[i] += s.law.SampleInt(&s.src)
	}
	return w, nil
}

// classes returns the numbers of cells last set today, 1 to 6 days ago, and 7 to 29 days ago.
func classes(stamps []uint8) (numbers [3]int64) {
	var of [today + 1]int64
	for _, stamp := range stamps {
		of[stamp]++
	}
	class := 0
	for days := range today {
		if days == spans[class] {
			class++
		}
		numbers[class] += of[today-days]
	}
	return numbers
}

// Windows are released counts of distinct keys in the last 1, 7 and 30 days, the day of the release
// included: public, immutable, safe for concurrent readers. Its methods answer NaN on the zero
// Windows and for other days.
type Windows struct {
	params  Params
	day     int
	classes [3]int64 // noisy
}

// valid reports whether it is no zero value.
func (w *Windows) valid() bool { return w != nil && w.params != Params{} }

// Params returns the parameters of the release.
func (w *Windows) Params() Params { return w.params }

// Guarantee returns the guarantee of this release by itself; those of other days add up.
func (w *Windows) Guarantee() budget.Guarantee { return w.params.Guarantee() }

// Day returns the last day of the windows.
func (w *Windows) Day() int { return w.day }

// count returns the noisy number of ones of a window.
func (w *Windows) count(days int) (sum float64) {
	n, _ := classesOf(days)
	for _, x := range w.classes[:n] {
		sum += float64(x)
	}
	return sum
}

// Estimate returns the estimated number of distinct keys in the last 1, 7 or 30 days.
func (w *Windows) Estimate(days int) float64 {
	c, ok := w.params.window(days)
	if !ok {
		return math.NaN()
	}
	return c.estimate(w.count(days))
}

// StdErr returns the standard error of the estimate; see [Plan.WindowStdErr].
func (w *Windows) StdErr(days int) float64 {
	c, ok := w.params.window(days)
	if !ok {
		return math.NaN()
	}
	return c.stdErr(max(c.estimate(w.count(days)), 0))
}

// Interval returns bounds of the number of keys in one of the windows; see [Sketch.Interval].
func (w *Windows) Interval(days int, confidence float64) (lo, hi float64) {
	c, ok := w.params.window(days)
	if !ok || !limits.Confidence(confidence) {
		return math.NaN(), math.NaN()
	}
	return c.interval(w.count(days), confidence)
}

// String says what was released under which guarantee.
func (w *Windows) String() string {
	if !w.valid() {
		return "distinct.Windows (empty)"
	}
	return fmt.Sprintf("distinct.Windows: counts of keys in 1, 7 and 30 days up to day %d, %d levels of %d cells, %v", w.day,
		w.params.Levels, w.params.Cells, w.Guarantee())
}

// The encoding of Windows, little-endian, version 1; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 14, version 1
//	40     Epsilon, CountShare (1), Cells, Levels, Seed, as in a Sketch
//	4      day
//	8·3    noisy numbers of cells last set 0, 1 to 6, 7 to 29 days ago, two's complement
//
// No other bytes decode to the same Windows.
func (w *Windows) fields() []wire.Field {
	return append(w.params.fields(), wire.Int(&w.day, maxSlots), wire.Signed(&w.classes[0]), wire.Signed(&w.classes[1]),
		wire.Signed(&w.classes[2]))
}

// AppendBinary appends the encoding to dst. The error, which wraps [ErrFormat], is for Windows that
// are neither released nor decoded.
func (w *Windows) AppendBinary(dst []byte) ([]byte, error) {
	if !w.valid() {
		return dst, fault.Format("distinct", "Windows that were not released have no encoding")
	}
	copied := *w
	return appendFields(dst, wire.KindWindows, copied.fields()), nil
}

// MarshalBinary returns the encoding.
func (w *Windows) MarshalBinary() ([]byte, error) { return w.AppendBinary(nil) }

// UnmarshalBinary decodes what AppendBinary encoded. It returns an error that wraps [ErrFormat],
// and leaves the receiver as it was, for any other bytes.
func (w *Windows) UnmarshalBinary(data []byte) error {
	var d Windows
	err := readFields(data, wire.KindWindows, d.fields(), &d.params, Params.windowLaw, func(in *wire.Reader) {
		for _, x := range d.classes {
			if x > maxOnes/4 || x < -maxOnes/4 {
				in.Fail("a count out of range")
			}
		}
	})
	if err == nil {
		*w = d
	}
	return err
}
