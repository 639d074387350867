package distinct

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/kor/internal/sets"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// FrequencyBuilder counts distinct keys, and how many come once, twice, and so on. Its data include
// hashes, from which keys can be guessed.
type FrequencyBuilder struct {
	base[frequencyState, *frequencyState]
}

// frequencyState is what a FrequencyBuilder holds: the table of a Builder, and 3·Cells cells
// without levels. A key belongs to one of them, by ⌊t·m/2⁶⁴⌋ of its word t; f is the rest, without
// its last eight bits. The cell holds the largest f of its keys, and how often that key came, up to
// most times. From its first time on that key is above all others, so its count is complete, and
// what the cell holds is a function of how often each key came. As f has nothing to do with the
// counts, the keys that are held are a simple random sample of all.
type frequencyState struct {
	state
	cells []uint64 // f·2⁸ + count, 0 for an empty cell
	most  int
	users noise.DiscreteLaplace // noise of the number of ones, and laws.count that of the classes
}

// frequencies returns the Params of the two parts of a release, each with half of ε: of the number
// of ones, and of the classes of the cells; and the noise of the latter.
func (p Params) frequencies() (half Params, law noise.DiscreteLaplace, err error) {
	if _, err = p.classLaw(); err == nil && p.Cells > maxBits/64/cellsEach {
		err = bad("Cells", p.Cells, "at most 2³⁰ bytes of cells, 24 for each")
	}
	if err == nil {
		p.Epsilon /= 2
		law, err = p.classLaw()
	}
	return p, law, err
}

// frequencyGuarantee returns what a release promises.
//
// Theorem. It is ε-private. Proof. The number of ones moves by at most one with a key, and has
// noise of scale 1/(ε/2). A key belongs to one cell and moves it from one class to another, or
// none: so the numbers of cells by count, 0 included, are ε/2-private (classes_proof.md). ∎
func (p Params) frequencyGuarantee() budget.Guarantee {
	half, _, err := p.frequencies()
	if err != nil {
		return budget.Guarantee{}
	}
	// of one unit, so no error
	parts, _ := budget.Compose(budget.PureDP(half.Epsilon, unit), half.twoMoves())
	return budget.PureDP(p.Epsilon, unit).WithPair(parts)
}

// cellsEach times Cells is the number of cells without levels: with these the shares are about as
// exact as the number of keys.
const cellsEach = 3

// NewFrequencyBuilder returns an empty FrequencyBuilder for 1, 2, … times, and most or more, in [2,
// 255]. Half of ε pays for Users. A cell takes 24 bytes more. An ε above 20 protects hardly
// anybody.
func NewFrequencyBuilder(p Params, most int) (*FrequencyBuilder, error) {
	p = p.normal()
	half, law, err := p.frequencies()
	if err = p.windowless(err); err == nil && (most < 2 || most > math.MaxUint8) {
		err = bad("most", most, "an integer in [2, 255]")
	}
	if err != nil {
		return nil, err
	}
	l, err := half.laws()
	if err != nil {
		return nil, err
	}
	users := l.count
	l.count = law
	empty := private.New(frequencyState{newState(p, l), make([]uint64, cellsEach*p.Cells), most, users})
	return &FrequencyBuilder{base[frequencyState, *frequencyState]{empty, p, p.frequencyGuarantee()}}, nil
}

// Add adds one occurrence of each key. An event delivered twice counts twice.
func (b *FrequencyBuilder) Add(keys ...uint64) {
	private.Use(b.secret, (*frequencyState).visitAll, keys)
}

func (b *FrequencyBuilder) addOne(key uint64) { b.Add(key) }

func (s *frequencyState) visitAll(keys []uint64) {
	place, table, cells, most := &s.place, s.table, s.cells, uint64(s.most)
	for _, key := range keys {
		word := place.word(key)
		place.mark(table, word)
		cell, f := bits.Mul64(uint64(len(cells)), word)
		meet(&cells[cell], f&^0xff|1, most)
	}
}

// meet puts a key with its count, up to most, into a cell: the larger f stays, and equal ones add
// up.
func meet(cell *uint64, key, most uint64) {
	switch old := *cell; {
	case old>>8 < key>>8 || old == 0:
		*cell = key
	case old>>8 == key>>8:
		*cell = old&^0xff | min(old&0xff+key&0xff, most)
	}
}

// Merge is [Builder.Merge], of equal classes.
func (b *FrequencyBuilder) Merge(other *FrequencyBuilder) error {
	return b.merge(&sets.OrZero(other).base, (*frequencyState).absorb)
}

func (s *frequencyState) absorb(o *frequencyState) error {
	if s.most != o.most && s.params == o.params {
		return bad("most", o.most, fmt.Sprintf("%d, as in the other builder", s.most))
	}
	if err := s.state.absorb(&o.state); err != nil {
		return err
	}
	for cell, key := range o.cells {
		if key != 0 {
			meet(&s.cells[cell], key, uint64(s.most))
		}
	}
	return nil
}

// Release spends ε and returns number and shares.
func (b *FrequencyBuilder) Release() (*Frequencies, error) {
	s, err := private.Take(b.secret, "distinct: Release: the FrequencyBuilder")
	if err != nil {
		return nil, err
	}
	n := s.classes()
	n.addNoise(s.laws.count, &s.src)
	users := ones(s.table) + s.users.SampleInt(&s.src)
	return &Frequencies{release{s.params, append(n, users)}, s.most}, nil
}

// classes returns the numbers of cells by count, the empty ones first.
func (s *frequencyState) classes() numbers {
	n := make(numbers, s.most+1)
	for _, key := range s.cells {
		n[key&0xff]++
	}
	return n
}

func (*frequencyState) kind() (kind byte, builder string) {
	return privateFrequencies, "FrequencyBuilder"
}

func (s *frequencyState) append(dst []byte) []byte {
	dst = append(dst, byte(s.most))
	return s.state.append(sets.AppendTable(dst, s.cells))
}

func (s *frequencyState) read(r *wire.Reader, _ int) (replace func(), err error) {
	if most := r.Uint8(); r.Err() == nil && (int(most) != s.most || r.Remaining() < 8*len(s.cells)) {
		r.Fail("other classes, or not as many cells as the Params say")
	}
	cells := make([]uint64, len(s.cells))
	if data := r.Bytes(8 * len(cells)); r.Err() == nil {
		for i := range cells {
			cells[i] = binary.LittleEndian.Uint64(data[8*i:])
			if count := cells[i] & 0xff; count > uint64(s.most) || count == 0 && cells[i] != 0 {
				r.Fail("an impossible count")
				break
			}
		}
	}
	table := s.params.read(r)
	return func() { s.cells, s.table = cells, table }, nil
}
