package groupby

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/internal/quantile"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// spots are the weights of users' values by key and cell: number<<32 | cell. They add up, so they
// depend on no order.
type spots map[uint64]int64

// newSpots returns empty ones, or nil without Levels.
func (p Params) newSpots() spots {
	if p.Levels[0] == 0 {
		return nil
	}
	return spots{}
}

// A pick stands for one value of a user in a key: random bits, not all 0, above the number of its
// cell. The largest of several is one of them, drawn uniformly up to 2⁻³¹ a value.
const pickBits = 32

// pick returns that of a value.
func (s *scale) pick(value float64, uint64N func(uint64) uint64) int64 {
	return int64(1+uint64N(1<<31-1))<<pickBits | int64(s.cell(value))
}

// settled returns a pick without its random bits.
func settled(pick int64) int64 { return 1<<pickBits | int64(uint32(pick)) }

// picked reports whether it is a pick.
func (s *scale) picked(pick int64) bool {
	return pick>>pickBits > 0 && int64(uint32(pick)) < s.cells
}

// larger returns the pick of two that counts.
func larger(a, b int64) int64 { return max(a, b) }

// spread adds a user with these keys, and picks in them, who counts in l keys.
func (s *state[K]) spread(numbers []uint32, picks []int64, l int) {
	x := s.params.spreadWeight(l)
	if x == 0 {
		return
	}
	for n, pick := range picks {
		s.spots.add(uint64(numbers[n])<<32|uint64(uint32(pick)), x)
	}
}

func (s spots) add(at uint64, weight int64) { s[at] = sum(s[at], weight) }

// spot is the weight of a key in a cell.
type spot struct {
	at     uint64
	weight int64
}

// sorted returns the weights in order, of the keys that are wanted, whose numbers are those in to.
func (s spots) sorted(to func(number uint32) (uint32, bool)) []spot {
	all := make([]spot, 0, len(s))
	for at, weight := range s {
		if number, ok := to(uint32(at >> 32)); ok {
			all = append(all, spot{uint64(number)<<32 | uint64(uint32(at)), weight})
		}
	}
	slices.SortFunc(all, func(a, b spot) int { return cmp.Compare(a.at, b.at) })
	return all
}

// append appends the weights, of keys by their ranks.
func (s spots) append(dst []byte, ranks []uint32) []byte {
	if s == nil {
		return dst
	}
	all := s.sorted(func(n uint32) (uint32, bool) { return ranks[n], true })
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(all)))
	for _, e := range all {
		dst = binary.LittleEndian.AppendUint64(dst, e.at)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(e.weight))
	}
	return dst
}

// readSpots reads the weights of so many keys.
func (s *state[K]) readSpots(r *wire.Reader, keys int) spots {
	if s.spots == nil {
		return nil
	}
	all := s.params.newSpots()
	last := uint64(0)
	for i := range r.Count(math.MaxInt32, 16) {
		at, weight := r.Uint64(), r.Int64()
		if i > 0 && at <= last || at>>32 >= uint64(keys) || int64(uint32(at)) >= s.scale.cells || weight <= 0 || weight > limit {
			r.Fail("a weight that is none")
		}
		if r.Err() != nil {
			return nil
		}
		all[at], last = weight, at
	}
	return all
}

// quantiles returns what is released of each shown group: the cells of the quantiles and cuts, and
// the weights between the edges, with noise.
func (s *state[K]) quantiles(groups []group[K], numbers []uint32) {
	if s.spots == nil {
		return
	}
	place := make([]uint32, len(s.table.keys)) // of the group, and one
	for i, n := range numbers {
		place[n] = uint32(i + 1)
	}
	var weights func(i int, cells []quantile.Cell) []quantile.Cell
	if s.way == keeping {
		weights = s.keptSpots(place, len(groups))
	} else {
		all := s.spots.sorted(func(n uint32) (uint32, bool) { return place[n], place[n] > 0 })
		weights = func(i int, cells []quantile.Cell) []quantile.Cell {
			for ; len(all) > 0 && all[0].at>>32 == uint64(i+1); all = all[1:] {
				cells = append(cells, quantile.Cell{Index: uint32(all[0].at), Weight: all[0].weight})
			}
			return cells
		}
	}
	noise := s.noise(s.law.spread.weigh)
	law := s.params.noises(s.law, s.at)
	var of quantile.Spread
	var cells []quantile.Cell
	for i := range groups {
		cells = weights(i, cells[:0])
		of.Set(cells, quantile.Places)
		g := &groups[i]
		g.cells = s.cut(&of, &law, law.users(g.rest, g.weight))
		last := int64(0)
		for _, edge := range edges(g.cells) {
			before := of.Cells(edge)
			g.weights, last = append(g.weights, before-last+noise()), before
		}
		g.weights = append(g.weights, of.Cells(uint32(s.scale.cells))-last+noise())
	}
}

// cut draws, for each level, the cells of the cut below, of the quantile, and of the cut above,
// among about so many users. They are in ascending order.
func (s *state[K]) cut(of *quantile.Spread, law *noises, users float64) (cells []uint32) {
	levels, draws := s.params.levels(), law.draws(s.params.levels(), users)
	end := s.scale.cells * quantile.Places
	found := quantile.Quantiles(end, levels, law.spread.loss, func(i int, c quantile.Choice) int64 {
		d := draws[i]
		c.Whole, c.Steep, c.Fall = d.whole, d.steep, d.fall
		c.Fall.From, c.Fall.Every = c.Fall.From*quantile.Places, c.Fall.Every*quantile.Places
		return of.Draw(c, &s.src)
	})
	from := int64(0)
	for i, x := range found {
		to, before, behind := end, levels[i], 1-levels[i]
		if i > 0 {
			before -= levels[i-1]
		}
		if i+1 < len(found) {
			to, behind = found[i+1], levels[i+1]-levels[i]
		}
		low := of.Draw(quantile.Choice{From: from, To: x, Level: 1, Shift: -law.spread.cutAway(i, before*users), Loss: law.spread.cutLoss}, &s.src)
		high := of.Draw(quantile.Choice{From: x, To: to, Shift: law.spread.cutAway(i, behind*users), Loss: law.spread.cutLoss}, &s.src)
		for _, x := range [3]int64{low, x, high} {
			cells = append(cells, uint32(x/quantile.Places))
		}
		from = high
	}
	return cells
}

// edges returns the four edges of each level, in ascending order, as the cells behind them: before
// the cut below and the quantile, and behind the quantile and the cut above.
func edges(cells []uint32) (all []uint32) {
	for i := 0; i < len(cells); i += 3 {
		all = append(all, cells[i], cells[i+1], cells[i+1]+1, cells[i+2]+1)
	}
	slices.Sort(all)
	return all
}
