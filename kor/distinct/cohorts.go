package distinct

import (
	"fmt"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// CohortBuilder counts the distinct keys that are new on each day, and how many of them are back on
// a later day. One release at the end covers all days and spends ε once. It holds private data,
// like a [Builder].
type CohortBuilder struct {
	base[cohortState, *cohortState]
}

// cohortState is what a CohortBuilder holds: of each cell the first and the last day on which a key
// was there. A release tells how many cells have each pair of days, which are as private as those
// of a WindowBuilder (classes_proof.md).
type cohortState struct {
	place  placement
	stamps []uint16 // of each cell: first·2⁸ + last, 0 for never
	params Params
	law    noise.DiscreteLaplace
	today  int
	days   int
	src    noise.Source
}

const mostDays = 31 // the noise of a sum over half of the classes grows as their number's root does

// cohortLaw returns the noise of each class.
func (p Params) cohortLaw() (noise.DiscreteLaplace, error) {
	law, err := p.classLaw()
	if err == nil && uint64(p.Cells)*uint64(p.Levels) > maxBits/16 {
		err = bad("Cells", p.Cells, "at most 2²⁹ cells in all, two bytes each")
	}
	return law, err
}

// NewCohortBuilder returns a CohortBuilder whose clock shows day 1 of the given number of days, in
// [2, 31], or an error that wraps [ErrParams]. To cover a longer time, let a day stand for a week.
// Keys that came before day 1 count as new on day 1. CountShare must be 0 or 1.
//
// For experiments an ε above 20 is accepted too, which protects hardly anybody.
func NewCohortBuilder(p Params, days int) (*CohortBuilder, error) {
	p = p.normal()
	law, err := p.cohortLaw()
	if err = p.windowless(err); err == nil && (days < 2 || days > mostDays) {
		err = bad("days", days, "an integer in [2, 31]")
	}
	if err != nil {
		return nil, err
	}
	empty := private.New(cohortState{
		place: newPlacement(p.Seed, p.Cells, p.Cells, p.Levels), stamps: make([]uint16, p.Cells*p.Levels), params: p, law: law, today: 1, days: days,
	})
	return &CohortBuilder{base[cohortState, *cohortState]{empty, p, p.twoMoves()}}, nil
}

// Add adds keys that come on the current day; see [Builder.Add].
func (b *CohortBuilder) Add(keys ...uint64) { private.Use(b.secret, (*cohortState).setAll, keys) }

func (b *CohortBuilder) addOne(key uint64) { b.Add(key) }

func (s *cohortState) setAll(keys []uint64) {
	place, stamps, today := &s.place, s.stamps, uint16(s.today)
	for _, key := range keys {
		if cell := place.cell(key); cell < uint64(len(stamps)) {
			first := stamps[cell] &^ 0xff
			if first == 0 {
				first = today << 8
			}
			stamps[cell] = first | today
		}
	}
}

// Advance moves the clock to a later day, at most the last one. Move it without looking at the
// data: on days without keys, too. The error wraps [ErrParams] for any other day, and
// [ErrReleased].
func (b *CohortBuilder) Advance(day int) error {
	s := private.Enter(b.secret)
	if s == nil {
		return private.Missing(b.secret, "distinct: Advance: the CohortBuilder")
	}
	defer private.Leave(b.secret)
	if day <= s.today || day > s.days {
		return bad("day", day, fmt.Sprintf("one after %d, up to %d", s.today, s.days))
	}
	s.today = day
	return nil
}

// Merge adds the keys of the other CohortBuilder, which gives up its data. The error wraps
// [ErrMismatch] if the Params, the days or the clocks differ or other is b itself, and
// [ErrReleased] if one was released. On an error nothing changes.
func (b *CohortBuilder) Merge(other *CohortBuilder) error {
	return b.merge(&orZero(other).base, (*cohortState).absorb)
}

func (s *cohortState) absorb(o *cohortState) error {
	if err := check.Equal("distinct", s.params, o.params); err != nil {
		return err
	}
	if s.days != o.days || s.today != o.today {
		return check.MismatchError("distinct", "day", fmt.Sprintf("%d of %d", s.today, s.days), fmt.Sprintf("%d of %d", o.today, o.days))
	}
	for i, y := range o.stamps {
		switch x := s.stamps[i]; {
		case x == 0:
			s.stamps[i] = y
		case y != 0:
			s.stamps[i] = min(x&^0xff, y&^0xff) | max(x&0xff, y&0xff)
		}
	}
	return nil
}

// Release spends ε and returns the counts of all days, once the clock shows the last one: before,
// it returns an error that wraps [ErrParams] and changes nothing, as days would look empty whose
// Advance was forgotten. The CohortBuilder gives up its data; a second Release returns an error
// that wraps [ErrReleased].
func (b *CohortBuilder) Release() (*Cohorts, error) {
	const doing = "distinct: Release: the CohortBuilder"
	s := private.Enter(b.secret)
	if s == nil {
		return nil, private.Missing(b.secret, doing)
	}
	today, days := s.today, s.days
	if private.Leave(b.secret); today < days {
		return nil, bad("day", today, fmt.Sprintf("the last one: Advance to %d before the Release, also where no keys come", days))
	}
	s, err := private.Take(b.secret, doing)
	if err != nil {
		return nil, err
	}
	n := s.classes()
	n.addNoise(s.law, &s.src)
	return &Cohorts{release{s.params, n}, s.days}, nil
}

// classes returns the numbers of cells by last day, and by first day within that; the empty cells
// come last.
func (s *cohortState) classes() numbers {
	n := make(numbers, pairsOf(s.days)+1)
	for _, stamp := range s.stamps {
		class := pairsOf(s.days)
		if stamp != 0 {
			class = pairsOf(int(stamp&0xff)-1) + int(stamp>>8) - 1
		}
		n[class]++
	}
	return n
}

// pairsOf returns the number of pairs of days, the first one not after the last.
func pairsOf(days int) int { return days * (days + 1) / 2 }

func (*cohortState) kind() (kind byte, builder string) { return privateCohorts, "CohortBuilder" }

func (s *cohortState) public() *Params { return &s.params }

func (s *cohortState) append(dst []byte) []byte {
	dst = append(dst, byte(s.days), byte(s.today))
	for _, stamp := range s.stamps {
		dst = append(dst, byte(stamp>>8), byte(stamp))
	}
	return dst
}

func (s *cohortState) read(r *wire.Reader, _ int) (replace func(), err error) {
	days, today := int(r.Uint8()), int(r.Uint8())
	if r.Err() == nil && (days != s.days || today < 1 || today > days || r.Remaining() != 2*len(s.stamps)) {
		r.Fail("another number of days, or not as many cells as the Params say")
	}
	stamps := make([]uint16, len(s.stamps))
	data := r.Bytes(2 * len(stamps))
	for i := 0; i < len(data); i += 2 {
		first, last := data[i], data[i+1]
		if first > last || int(last) > today || first == 0 && last != 0 {
			r.Fail("impossible days")
			break
		}
		stamps[i/2] = uint16(first)<<8 | uint16(last)
	}
	return func() { s.stamps, s.today = stamps, today }, nil
}
