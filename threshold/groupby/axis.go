package groupby

import (
	"math"

	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// axis is how values are summed: in integer steps, so that no order matters, and then placed
// within [Min, Max].
type axis struct {
	least, most, middle, half float64
	step                      float64 // a power of 2, about 2⁻⁴⁰ of the larger end of the range
}

// mostSteps is where one value is cut off, at 2¹⁰ times the larger end or more. The values of a
// user in a key are added up in 64 bits that wrap around, so their sum depends on no order, and on
// no other user's rows. It is exact if it is below 2²² times the larger end: of 2¹² values that are
// cut off, or of 2²² within the range. Beyond, it is some number, which counts within [Min, Max].
const mostSteps = 1 << 51

// axis returns that of Min and Max.
func (p Params) axis() axis {
	_, exponent := math.Frexp(max(math.Abs(p.Min), math.Abs(p.Max)))
	return axis{p.Min, p.Max, p.middle(), p.half(), math.Ldexp(1, exponent-41)}
}

// steps returns a value in steps, rounded; 0 for NaN.
func (a *axis) steps(value float64) int64 {
	if value != value {
		return 0
	}
	return int64(math.RoundToEven(min(max(value/a.step, -mostSteps), mostSteps)))
}

// row returns a row's value in steps, which counts within [Min, Max] if the average of rows does.
// So the sum of up to 2²² rows is exact.
func (a *axis) row(value float64, average bool) int64 {
	if average {
		value = min(max(value, a.least), a.most)
	}
	return a.steps(value)
}

// average returns a sum of steps over a number of rows, rounded. It is an integer operation on a
// user's own rows: no order of theirs, and nobody else's, matters.
func average(sum, rows int64) int64 {
	quotient, rest := sum/rows, sum%rows
	switch {
	case rest >= rows-rest:
		return quotient + 1
	case -rest >= rows+rest:
		return quotient - 1
	}
	return quotient
}

// averages replaces the sums of a user's values in each key by their averages, over so many rows.
func (p *Params) averages(sums, rows []int64) {
	for n, rows := range rows {
		if !p.Values {
			sums[n] = average(sums[n], rows)
			continue
		}
		sums[2*n], sums[2*n+1] = ranges.Split(ranges.Join(sums[2*n], sums[2*n+1]) / float64(rows))
	}
}

// scaled returns x·z rounded towards 0, where z in [−1, 1] is the place of a sum of steps in [Min,
// Max] from its middle. The absolute value is at most x, whatever float64 rounds: x is an integer.
func (a *axis) scaled(x, steps int64) int64 {
	z := (min(max(float64(steps)*a.step, a.least), a.most) - a.middle) / a.half
	return int64(float64(x) * min(max(z, -1), 1))
}

// middle and half are the centre of [Min, Max] and half its width.
func (p Params) middle() float64 { return p.Min/2 + p.Max/2 }
func (p Params) half() float64   { return p.Max/2 - p.Min/2 }
