package alp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// acceptedOf is accept by the definition: it tests the pvalues of each bin at the logarithm of its
// odds.
func acceptedOf(d *decoder, key limitsKey, outputs []uint8) (a accepted) {
	p, v := d.flat[key.side], d.pvalues()[key.side]
	behind := make([]float64, p.columns+1)
	behind[p.columns] = p.tail.mass
	for j := p.columns - 1; j >= 0; j-- {
		i := p.at(j, outputs[j])
		behind[j] = min(p.mass[i]+p.ratio[i]*behind[j+1], math.MaxFloat64)
	}
	point := func(x float64) int { return int(min(max(x/oddsSpacing+oddsMiddle, 0), oddsPoints-1)) }
	before := func(log float64) int { return point(math.Floor(log/oddsSpacing) * oddsSpacing) }
	after := func(log float64) int { return point(math.Ceil(log/oddsSpacing) * oddsSpacing) }
	first, last, ahead := p.used, -1, 0.0
	for j := range p.columns {
		i := p.at(j, outputs[j])
		for b := j * p.count; b < min((j+1)*p.count, p.used); b++ {
			down, up := p.halves(i, b-j*p.count)
			larger, smaller := up+p.ratio[i]*behind[j+1], down+ahead
			const least = math.SmallestNonzeroFloat64
			log := math.Log(max(larger, least) / max(smaller, least))
			lower, upper := float64(v.lower[b*oddsPoints+before(log)]), float64(v.upper[b*oddsPoints+after(log)])
			absent := d.list.absent(d.shape.valueAt(p.point(b, 1)))
			if 1-absent*(1-lower) > key.smaller && d.list.absent(d.shape.valueAt(p.point(b, 0)))*upper > key.larger {
				first, last = min(first, b), b
			}
		}
		ahead = min((ahead+p.mass[i])/p.ratio[i], math.MaxFloat64)
	}
	a.zero = v.zero[before(math.Log(behind[0]))] > key.smaller
	if last < 0 {
		total, k := p.weight(outputs)
		a.lo = d.shape.valueAt(p.find(outputs, total/2, k))
		a.hi = a.lo
		return a
	}
	a.lo, a.hi = d.shape.valueAt(max(p.point(first, -0.5), 0)), d.shape.valueAt(p.point(last, 1.5))
	if last == p.used-1 {
		a.hi = d.beyond(key.larger)
	}
	return a
}

// Limits on the odds accept what the pvalues accept, whatever the cells show: cells of entries,
// random ones, and thousands that contradict one another.
func TestOddsWithinLimits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, params := range []Params{
		{Epsilon: 1, Sparsity: 100, Max: 40, Structure: ColumnsOnly, Signed: true},
		{Epsilon: 1, Delta: 1e-6, Sparsity: 100, Bits: 200},
		{Epsilon: 1, Delta: 1e-6, Sparsity: 100, Integers: true, Structure: Composition, Variant: Variant{Levels: 4, Alpha: 3}},
		{Epsilon: 1, Sparsity: 2, Max: 2500, Structure: ColumnsOnly, Variant: Variant{Levels: 2, Alpha: 2}},
	} {
		t.Run(fmt.Sprint(params), func(t *testing.T) {
			b := dptest.OK(New(params))(t)
			for i := range params.Sparsity {
				b.Add(uint64(i), float64(i))
			}
			p := dptest.OK(b.Release())(t)
			d, hulls := p.decoder, 0
			check := func(outputs []uint8) {
				for side := range d.flat {
					for _, miss := range []float64{0.001, 0.05, 0.2, 0.45} {
						key := limitsKey{side, miss / 2, miss}
						a := d.accept(key, outputs)
						require.Equal(t, acceptedOf(d, key, outputs), a)
						if a.lo < a.hi {
							hulls++
						}
					}
				}
			}
			outputs := make([]uint8, d.bins.columns)
			for index := range uint64(100) {
				positive, negative, _ := p.read(index, nil)
				check(positive)
				if negative != nil {
					check(negative)
				}
				for j := range outputs {
					outputs[j] = uint8(random.IntN(d.bins.levels))
				}
				check(outputs)
				if d.bins.columns > 100 && index >= 5 {
					break
				}
			}
			for _, from := range []int{0, len(outputs) / 2, len(outputs)} { // then the largest
				clear(outputs)
				for j := from; j < len(outputs); j++ {
					outputs[j] = uint8(d.bins.levels - 1)
				}
				check(outputs)
			}
			require.Greater(t, hulls, 10)
		})
	}
}
