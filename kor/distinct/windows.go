package distinct

import (
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
)

// WindowBuilder counts the distinct keys of the last Params.Spans days. Each release, at most one a
// day, spends ε.
type WindowBuilder struct {
	base[windowState, *windowState]
}

// windowState is what a WindowBuilder holds.
type windowState struct {
	place placement
	// of each cell: today's, one less for each day since, down to 0, also for never; from the
	// release of the day on as of the next one
	stamps []uint8
	today  uint8
	params Params
	law    noise.DiscreteLaplace
	day    int
	last   int64 // the last day that was released, −1 at first
	src    noise.Source
}

// windowLaw returns the noise of each class of cells: those last set today, within the second span
// but not the first, …, and before the longest or never.
func (p Params) windowLaw() (noise.DiscreteLaplace, error) {
	law, err := p.classLaw()
	if err == nil && uint64(p.Cells)*uint64(p.Levels) > maxBits/8 {
		err = bad("Cells", p.Cells, "at most 2³⁰ cells in all, a byte each")
	}
	return law, err
}

// NewWindowBuilder returns an empty WindowBuilder on a day ≥ 0, since 1970 in UTC, say. An ε above
// 20 protects hardly anybody.
func NewWindowBuilder(p Params, day int) (*WindowBuilder, error) {
	p = p.normal().windowed()
	law, err := p.windowLaw()
	if err != nil {
		return nil, err
	}
	if !validDay(day) {
		return nil, badDay(day)
	}
	empty := private.New(windowState{
		place: newPlacement(p.Seed, p.Cells, p.Cells, p.Levels), stamps: make([]uint8, p.Cells*p.Levels), today: uint8(slices.Max(p.Spans[:])),
		params: p, law: law, day: day, last: -1,
	})
	return &WindowBuilder{base[windowState, *windowState]{empty, p, p.twoMoves()}}, nil
}

func validDay(day int) bool { return day >= 0 && day <= maxSlots }

func badDay(day int) error { return bad("day", day, "an integer in [0, 2³¹)") }

// Released reports a released day, or a zero builder.
func (b *WindowBuilder) Released() bool {
	s := private.Enter(b.secret)
	if s == nil {
		return true
	}
	defer private.Leave(b.secret)
	return s.done()
}

// done reports whether the current day was released.
func (s *windowState) done() bool { return s.last == int64(s.day) }

// Add adds keys on the current day or, after its Release, on the day that Advance moves to.
func (b *WindowBuilder) Add(keys ...uint64) { private.Use(b.secret, (*windowState).setAll, keys) }

func (b *WindowBuilder) addOne(key uint64) { b.Add(key) }

func (s *windowState) setAll(keys []uint64) {
	place, stamps, today := &s.place, s.stamps, s.today
	for _, key := range keys {
		if cell := place.cell(key); cell < uint64(len(stamps)) {
			stamps[cell] = today
		}
	}
}

// Advance moves the clock to a later day.
func (b *WindowBuilder) Advance(day int) error {
	s := private.Enter(b.secret)
	if s == nil {
		return private.Missing(b.secret, "distinct: Advance: the WindowBuilder")
	}
	defer private.Leave(b.secret)
	switch {
	case !validDay(day):
		return badDay(day)
	case day <= s.day:
		return bad("day", day, fmt.Sprintf("one after %d", s.day))
	}
	by := uint8(min(day-s.day, int(s.today)))
	if s.done() { // and has aged by a day: what is set today is the new day's
		s.age(by-1, s.today-1)
	} else {
		s.age(by, s.today)
	}
	s.day = day
	return nil
}

// age moves the stamps that are at most most back by that many days.
func (s *windowState) age(by, most uint8) {
	for i, stamp := range s.stamps {
		if stamp <= most {
			s.stamps[i] = max(stamp, by) - by
		}
	}
}

// Merge is [Builder.Merge], of equal clocks, on days not released.
func (b *WindowBuilder) Merge(other *WindowBuilder) error {
	return b.merge(&sets.OrZero(other).base, (*windowState).absorb)
}

func (s *windowState) absorb(o *windowState) error {
	switch err := check.Equal("distinct", s.params, o.params); {
	case err != nil:
		return err
	case s.done() || o.done():
		return check.NoDataError("distinct: Merge: a WindowBuilder", "is already released on its day")
	case s.day != o.day:
		return check.MismatchError("distinct", "day", s.day, o.day)
	}
	for i, stamp := range o.stamps {
		s.stamps[i] = max(s.stamps[i], stamp)
	}
	return nil
}

// Release spends ε, closes the current day and returns the windows that end with it; [ErrReleased]
// if closed.
func (b *WindowBuilder) Release() (*Windows, error) {
	s := private.Enter(b.secret)
	if s == nil {
		return nil, private.Missing(b.secret, "distinct: Release: the WindowBuilder")
	}
	defer private.Leave(b.secret)
	if s.done() {
		return nil, fmt.Errorf("distinct: Release: the day %d is %w", s.day, check.ErrReleased)
	}
	s.last = int64(s.day)
	n := s.classes()
	n.addNoise(s.law, &s.src)
	s.age(1, s.today)
	return &Windows{release{s.params, n}, s.day}, nil
}

// classes returns the numbers of cells of each class.
func (s *windowState) classes() numbers {
	spans := s.params.windows()
	n := make(numbers, len(spans)+1)
	var of [math.MaxUint8 + 1]int // the class of each stamp
	for stamp := range s.today {
		of[stamp+1], _ = slices.BinarySearch(spans, int(s.today-stamp))
	}
	of[0] = len(spans)
	for _, stamp := range s.stamps {
		n[of[stamp]]++
	}
	return n
}

// Windows count the distinct keys of the last Params.Spans days. Other lengths are NaN.
type Windows struct {
	release
	day int
}

// Day returns the last day, that of the release.
func (w *Windows) Day() int { return w.day }

// count returns the count of a window.
func (w *Windows) count(days int) (c count) {
	if some := w.params.window(days); w.valid() && some > 0 {
		c = *w.params.union(w.numbers, func(class int) bool { return class < some })
	}
	return c
}

// fit returns the count of a window with an estimate that agrees with those of the others.
func (w *Windows) fit(days int) fitted {
	spans, at := w.params.windows(), w.params.window(days)-1
	if !w.valid() || at < 0 {
		return fitted{count{}, math.NaN()}
	}
	sizes := make([]count, len(spans))
	for i, days := range spans {
		sizes[i] = w.count(days)
	}
	return fitted{sizes[at], ascendingSizes(sizes)[at]}
}

// Estimate returns the number of keys in the window.
func (w *Windows) Estimate(days int) float64 { return w.fit(days).Estimate() }

// StdErr returns the standard error, see [Plan.WindowStdErr].
func (w *Windows) StdErr(days int) float64 { return w.count(days).StdErr() }

// Interval is [Sketch.Interval] of the window.
func (w *Windows) Interval(days int, confidence float64) (lo, hi float64) {
	return w.fit(days).Interval(confidence)
}

// String describes the release.
func (w *Windows) String() string {
	return w.text("distinct.Windows", w.Guarantee(), "counts of keys in %v days up to day %d", w.params.windows(), w.day)
}

// The encoding of Windows, little-endian, version 2; floating-point numbers are IEEE 754 bits:
//
//	bytes  field
//	6      header: "dpsk", kind 14, version 2
//	40     Epsilon, CountShare (1), Cells, Levels, Seed, as in a Sketch
//	4·8    Spans, ascending, the first at least 1, zeros behind the last
//	4      day
//	8·k    noisy numbers of cells last set within the first span, within the second but not the
//	       first, …, before the longest or never; two's complement
//
// No other bytes decode to the same Windows.
func (w *Windows) layout() layout {
	more := append(w.params.spanFields(), wire.Int(&w.day, maxSlots))
	return layout{wire.KindWindows, 2, &w.release, more, Params.windowLaw, func() int {
		spans := len(w.params.windows())
		return min(spans, 1) * (spans + 1)
	}}
}

// AppendBinary appends the encoding.
func (w *Windows) AppendBinary(dst []byte) ([]byte, error) { return w.layout().append(dst) }

// MarshalBinary encodes.
func (w *Windows) MarshalBinary() ([]byte, error) { return w.AppendBinary(nil) }

// UnmarshalBinary decodes.
func (w *Windows) UnmarshalBinary(data []byte) error { return decode(w, data) }
