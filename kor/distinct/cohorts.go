package distinct

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// CohortBuilder counts keys that are new on each day, and those back on a later day, or from then
// on.
type CohortBuilder struct {
	base[cohortState, *cohortState]
}

// cohortState is what a CohortBuilder holds: of each cell the days on which a key was there. A
// release tells how many cells have each pair of a first and a last day, and how many of those with
// each first day were there on each day between.
type cohortState struct {
	place  placement
	days   []uint32 // of each cell: bit d−1 for day d
	params Params
	noise  cohortNoise
	today  int
	span   int // the number of days
	src    noise.Source
}

const mostDays = 31 // the noise of a sum over half of the classes grows as their number's root does

// cohortNoise is the noise of both parts of a release.
type cohortNoise struct {
	byPair Params // of the numbers by first and last day
	pair   noise.DiscreteLaplace
	visit  noise.DiscreteLaplace // of the visits between these
}

// cohorts returns the noise for a number of days.
//
// Theorem. A release is ε-private. Proof. The numbers by first and last day, the empty cells
// included, are those of classes, with ¾ of ε (classes_proof.md). For a day d that is neither the
// first nor the last, a cell counts for its first day f if f < d and a key was there on d. So it
// counts for one f at most, with a key and without, and as only one cell depends on the key, the
// numbers of d move by 2 in all, and by 1 for d = 2, which has one f. There are D − 2 such days, so
// noise of scale (2D − 5)/(ε/4) makes them ε/4-private. ∎ Of two days there are none between, and
// all of ε is for the classes.
func (p Params) cohorts(days int) (n cohortNoise, err error) {
	if _, err = p.classLaw(); err == nil && uint64(p.Cells)*uint64(p.Levels) > maxBits/32 {
		err = bad("Cells", p.Cells, "at most 2²⁸ cells in all, four bytes each")
	}
	if n.byPair = p; err == nil && days > 2 {
		n.byPair.Epsilon = math.Nextafter(0.75*p.Epsilon, 0)
		n.visit, err = sets.Laplace(p.Epsilon/4, float64(2*days-5))
	}
	if err == nil {
		n.pair, err = n.byPair.classLaw()
	}
	return n, err
}

// cohortGuarantee returns what a release promises.
func (p Params) cohortGuarantee(days int) budget.Guarantee {
	n, err := p.cohorts(days)
	switch {
	case err != nil:
		return budget.Guarantee{}
	case days == 2:
		return p.twoMoves()
	}
	// of one unit, so no error
	parts, _ := budget.Compose(n.byPair.twoMoves(), budget.PureDP(p.Epsilon/4, unit))
	return budget.PureDP(p.Epsilon, unit).WithPair(parts)
}

// NewCohortBuilder returns a CohortBuilder for 2 to 31 days, on day 1, where earlier keys count as
// new. Of more than two days, a quarter of ε is for [Cohorts.On]. An ε above 20 protects hardly
// anybody.
func NewCohortBuilder(p Params, days int) (*CohortBuilder, error) {
	p = p.normal()
	n, err := p.cohorts(max(days, 2))
	if err = p.windowless(err); err == nil && (days < 2 || days > mostDays) {
		err = bad("days", days, "an integer in [2, 31]")
	}
	if err != nil {
		return nil, err
	}
	empty := private.New(cohortState{
		place: newPlacement(p.Seed, p.Cells, p.Cells, p.Levels), days: make([]uint32, p.Cells*p.Levels), params: p, noise: n, today: 1, span: days,
	})
	return &CohortBuilder{base[cohortState, *cohortState]{empty, p, p.cohortGuarantee(days)}}, nil
}

// Add adds keys on the current day.
func (b *CohortBuilder) Add(keys ...uint64) { private.Use(b.secret, (*cohortState).setAll, keys) }

func (b *CohortBuilder) addOne(key uint64) { b.Add(key) }

func (s *cohortState) setAll(keys []uint64) {
	place, days, today := &s.place, s.days, uint32(1)<<(s.today-1)
	for _, key := range keys {
		if cell := place.cell(key); cell < uint64(len(days)) {
			days[cell] |= today
		}
	}
}

// Advance moves the clock to a later day, at most the last.
func (b *CohortBuilder) Advance(day int) error {
	s := private.Enter(b.secret)
	if s == nil {
		return private.Missing(b.secret, "distinct: Advance: the CohortBuilder")
	}
	defer private.Leave(b.secret)
	if day <= s.today || day > s.span {
		return bad("day", day, fmt.Sprintf("one after %d, up to %d", s.today, s.span))
	}
	s.today = day
	return nil
}

// Merge is [Builder.Merge], of equal days and clocks.
func (b *CohortBuilder) Merge(other *CohortBuilder) error {
	return b.merge(&sets.OrZero(other).base, (*cohortState).absorb)
}

func (s *cohortState) absorb(o *cohortState) error {
	if err := check.Equal("distinct", s.params, o.params); err != nil {
		return err
	}
	if s.span != o.span || s.today != o.today {
		return check.MismatchError("distinct", "day", fmt.Sprintf("%d of %d", s.today, s.span), fmt.Sprintf("%d of %d", o.today, o.span))
	}
	for cell, days := range o.days {
		s.days[cell] |= days
	}
	return nil
}

// Release spends ε and returns all counts; [ErrParams] before the last day.
func (b *CohortBuilder) Release() (*Cohorts, error) {
	const doing = "distinct: Release: the CohortBuilder"
	s := private.Enter(b.secret)
	if s == nil {
		return nil, private.Missing(b.secret, doing)
	}
	today, days := s.today, s.span
	if private.Leave(b.secret); today < days {
		return nil, bad("day", today, fmt.Sprintf("the last one: Advance to %d before the Release, also where no keys come", days))
	}
	s, err := private.Take(b.secret, doing)
	if err != nil {
		return nil, err
	}
	n := s.classes()
	n[:pairsOf(days)+1].addNoise(s.noise.pair, &s.src)
	n[pairsOf(days)+1:].addNoise(s.noise.visit, &s.src)
	return &Cohorts{release{s.params, n}, days}, nil
}

// classes returns the numbers of cells by last day, and by first day within that; then of the empty
// cells; then of those that were there on each day from 2 to the last but one, by first day before
// that.
func (s *cohortState) classes() numbers {
	n := make(numbers, pairsOf(s.span)+1+visitsOf(s.span))
	for _, days := range s.days {
		if days == 0 {
			n[pairsOf(s.span)]++
			continue
		}
		first, last := bits.TrailingZeros32(days)+1, bits.Len32(days)
		n[pairsOf(last-1)+first-1]++
		for day := first + 1; day < s.span; day++ {
			n[visitOf(s.span, first, day)] += int64(days >> (day - 1) & 1)
		}
	}
	return n
}

// pairsOf returns the number of pairs of days, the first one not after the last.
func pairsOf(days int) int { return days * (days + 1) / 2 }

// visitsOf returns the number of pairs of a day that is neither the first nor the last, and a first
// day before it; visitOf is where the number of such a pair stands among all.
func visitsOf(days int) int { return pairsOf(days - 2) }

func visitOf(days, first, day int) int { return pairsOf(days) + 1 + pairsOf(day-2) + first - 1 }

func (*cohortState) kind() (kind byte, builder string) { return privateCohorts, "CohortBuilder" }

func (s *cohortState) public() *Params { return &s.params }

func (s *cohortState) append(dst []byte) []byte {
	dst = append(dst, byte(s.span), byte(s.today))
	for _, days := range s.days {
		dst = binary.BigEndian.AppendUint32(dst, days)
	}
	return dst
}

func (s *cohortState) read(r *wire.Reader, _ int) (replace func(), err error) {
	span, today := int(r.Uint8()), int(r.Uint8())
	if r.Err() == nil && (span != s.span || today < 1 || today > span || r.Remaining() != 4*len(s.days)) {
		r.Fail("another number of days, or not as many cells as the Params say")
	}
	days := make([]uint32, len(s.days))
	data := r.Bytes(4 * len(days))
	for i := 0; i < len(data); i += 4 {
		if days[i/4] = binary.BigEndian.Uint32(data[i:]); bits.Len32(days[i/4]) > today {
			r.Fail("impossible days")
			break
		}
	}
	return func() { s.days, s.today = days, today }, nil
}
