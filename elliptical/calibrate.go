package elliptical

import (
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/internal/calibrated"
	"github.com/dpsketch/dpsketch/noise"
)

// gridNoise is calibrated noise on grids: its coordinates, and after them the count if there is
// one.
type gridNoise struct {
	kind        kind
	replace     bool // neighbours differ in one row replaced
	dim         int
	coordinates []coordinate
	lower       [][]float64 // the rows of L for an Ellipsoid, whose coordinates are those of z
	radius      int64       // in steps, where NormBound is given
	groups      []group     // of Box
}

// kind says which noise there is: one file each for what is particular to it, gaussian and laplace
// in this file, uniform, which is that of Box, in box.go and radius.go.
type kind uint8

const (
	gaussian kind = iota
	laplace
	uniform
)

// String names the noise.
func (k kind) String() string { return [...]string{"Gaussian", "Laplace", "box"}[k] }

// noise returns the distribution of each coordinate's noise, if coordinates are independent.
func (k kind) noise() calibrated.Kind {
	if k == laplace {
		return calibrated.Laplace
	}
	return calibrated.Gaussian
}

// kind returns the kind of noise of resolved Params whose Shape is settled.
func (p Params) kind() kind {
	switch {
	case !p.pure():
		return gaussian
	case p.Shape == Box:
		return uniform
	}
	return laplace
}

// settled returns valid Params with the Shape that Optimal stands for, and their noise on grids of
// 2^bits steps to the width.
func (p Params) settled(bits int) (Params, gridNoise, error) {
	switch {
	case p.NormBound > 0:
		l, err := p.calibrateBall()
		return p, l, err
	case p.Ellipsoid.Len() > 0:
		l, err := p.calibrateEllipsoid()
		return p, l, err
	}
	c := p.classes()
	if !p.pure() || p.Shape != Optimal {
		l, err := c.calibrate(bits)
		return p, l, err
	}
	together := c
	p.Shape, c.Shape, together.Shape = Independent, Independent, Box
	var box draft
	least := math.Inf(1) // the error of Box
	if d, err := together.draft(bits); err == nil {
		box, least = d, c.shapedError(d)
	}
	if least < c.leastLaplace()*(1-0x1p-20) {
		p.Shape = Box
		return p, c.expand(box), nil
	}
	l, err := c.draft(bits)
	if box.dim > 0 && (err != nil || least < c.shapedError(l)) {
		p.Shape, l, err = Box, box, nil
	}
	if err != nil {
		return p, gridNoise{}, err
	}
	return p, c.expand(l), nil
}

// leastLaplace returns a lower bound on the error of Independent, up to its last digits:
// 2·(Σ aᵢ^{2/3})³/ε², which is the least for sensitivities a by the inequality in shape.go. The
// grids only make these larger, and a count only adds an error.
func (c classes) leastLaplace() float64 {
	sum := 0.0
	for i, n := range c.many {
		a := math.Cbrt(c.sensitivity(c.interval(i)) / c.unit(i))
		sum += float64(n) * a * a
	}
	return math.Exp(math.Ln2 + 3*math.Log(sum) - 2*math.Log(c.Epsilon))
}

func (c classes) calibrate(bits int) (gridNoise, error) {
	l, err := c.draft(bits)
	if err != nil {
		return gridNoise{}, err
	}
	return c.expand(l), nil
}

// draft returns the noise of the classes.
func (c classes) draft(bits int) (draft, error) {
	if c.kind() == uniform {
		return c.calibrateBox(bits)
	}
	return c.calibrateIndependent(bits)
}

// sensitivities returns those of all coordinates, and the middles of the intervals.
func (p Params) sensitivities() (sensitivity, middle []float64) {
	d := p.Min.Len()
	sensitivity, middle = make([]float64, d, d+1), make([]float64, d)
	for i := range d {
		v := p.interval(i)
		sensitivity[i], middle[i] = p.sensitivity(v), v.middle()
	}
	return sensitivity, middle
}

// sensitivity returns an upper bound on the change of a coordinate's sum by one row, apart from the
// grid.
func (p *Params) sensitivity(v interval) float64 {
	switch {
	case p.replace():
		return v.width()
	case p.Count:
		return v.width() / 2
	}
	return max(math.Abs(v.low), math.Abs(v.high))
}

// calibrateIndependent returns noise that is independent in each coordinate. The scales
// are found twice: the grids need them, and move the sensitivities by a step or two.
func (p classes) calibrateIndependent(bits int) (draft, error) {
	sensitivity, middle := p.sensitivities()
	d := len(sensitivity)
	tau, many := p.shape(sensitivity, middle, p.many), p.many
	if p.Count {
		sensitivity, many = append(sensitivity, 1), append(slices.Clone(many), 1)
	}
	scales, err := p.scales(sensitivity, tau, many)
	if err != nil {
		return draft{}, err
	}
	l := gridNoise{kind: p.kind(), replace: p.replace(), dim: d, coordinates: make([]coordinate, len(tau))}
	for i := range d {
		l.coordinates[i] = p.gridded(i, scales[i], bits)
	}
	if p.Count {
		l.coordinates[d] = counted(scales[d], bits)
	}
	for i, c := range l.coordinates {
		sensitivity[i] = float64(c.change(p.replace())) * c.step
	}
	if scales, err = p.scales(sensitivity, tau, many); err != nil {
		return draft{}, err
	}
	for i, scale := range scales {
		l.coordinates[i].scale = scale
	}
	// It cannot be drawn exactly where the second scales are much larger than the first: if the
	// noise is so much larger than the widths that one step of the grid, 2⁻⁴⁵ of the noise,
	// times d is more than all widths.
	drawable := func(c coordinate) bool { return c.scale > 0 && c.scale <= maxScale*c.step }
	if slices.ContainsFunc(l.coordinates, func(c coordinate) bool { return !drawable(c) }) {
		return draft{}, bad("Min.Len()", len(p.of), "fewer coordinates: for such a small privacy loss the steps of their grids add up to more than the widths")
	}
	return p.whole(l), nil
}

// scales returns the scales τᵢ·s with the least s that the guarantee allows for the sensitivities
// a, sensitivity i being that of many[i] coordinates. S = ‖a/τ‖ is rounded up, and so is each
// scale: then ‖a/scale‖ ≤ S/s, and s is calibrated to S (Lemmas 4.1, 4.2 and 4.4).
func (p Params) scales(a, tau []float64, many []int) ([]float64, error) {
	// A quotient, a square, a product and the compensated sum are off by a relative 2⁻⁵⁰ at most,
	// the root by half of that and 2⁻⁵³.
	const slack = 1 + 0x1p-48
	var norm float64
	if p.pure() {
		norm = accurateSum(a, tau, many, func(x float64) float64 { return x })
	} else {
		norm = math.Sqrt(accurateSum(a, tau, many, square))
	}
	n, err := calibrated.Calibrate(p.kind().noise(), p.Epsilon, p.Delta, p.Rho, slack*norm)
	if err != nil {
		return nil, err
	}
	scales := make([]float64, len(tau))
	for i, t := range tau {
		scales[i] = math.Nextafter(n.Scale*t, math.Inf(1))
	}
	return scales, nil
}

// accurateSum returns Σ nᵢ·f(aᵢ/τᵢ), all summands ≥ 0, with Neumaier's compensation: the sum itself
// is off by a relative 2⁻⁵² at most.
func accurateSum(a, tau []float64, n []int, f func(float64) float64) float64 {
	sum, lost := 0.0, 0.0
	for i := range a {
		x := float64(n[i]) * f(a[i]/tau[i])
		next := sum + x
		if sum >= x {
			lost += (sum - next) + x
		} else {
			lost += (x - next) + sum
		}
		sum = next
	}
	return sum + lost
}

// Gaussian and Laplace noise, independent in each coordinate.

// sample draws the noise of one coordinate, in steps. The scale is at most maxScale steps, see
// drawable, so that the draw is exact.
func (l gridNoise) sample(src *noise.Source, c coordinate) int64 {
	return calibrated.Noise{Kind: l.kind.noise(), Scale: c.scale, Step: c.step}.Sample(src)
}

// gaussianMoment returns E|X|ᵖ = σᵖ·2^{p/2}·Γ((p+1)/2)/√π (Lemma 4.3).
func gaussianMoment(sigma, p float64) float64 {
	gamma, _ := math.Lgamma((p + 1) / 2)
	return math.Exp(p*math.Log(math.Sqrt2*sigma) + gamma - math.Log(math.Pi)/2)
}

// laplaceMoment returns E|X + Y|ᵖ for X and Y Laplace of scales s and t: Γ(p+1)·sᵖ for t = 0 (Lemma
// 4.5). The sum has the density (s²·f_s − t²·f_t)/(s² − t²), as 1/((1+s²ω²)(1+t²ω²)) is the same
// combination of 1/(1+s²ω²) and 1/(1+t²ω²), so its moment is Γ(p+1)·(s^{p+2} − t^{p+2})/(s² − t²).
func laplaceMoment(s, t, p float64) float64 {
	s, t = max(s, t), min(s, t)
	gamma, _ := math.Lgamma(p + 1)
	factor := 1.0
	switch ratio := t / s; {
	case ratio == 1:
		factor = (p + 2) / 2
	case ratio > 0:
		factor = math.Expm1((p+2)*math.Log(ratio)) / math.Expm1(2*math.Log(ratio))
	}
	return math.Exp(p*math.Log(s)+gamma) * factor
}

// gaussianReach returns the least x with Pr[|X| > x] ≤ tail.
func gaussianReach(sigma, tail float64) float64 {
	normal, _ := noise.NewGaussian(sigma) // or NaN
	return -normal.Quantile(tail / 2)
}

// classes are the coordinates, grouped by all that a calibration needs: their Min, Max and weight.
// Where there are many coordinates these are often the same few, and the shape, the groups and the
// scales take time in proportion to the number of classes. A sum over coordinates is one over
// classes, each term times the number of its coordinates: another rounding of 2⁻⁵³, relative.
type classes struct {
	Params         // with the Min, Max and Weights of one coordinate of each class
	of     []int32 // the class of each coordinate
	many   []int   // the number of coordinates of each class
}

// mostClasses is how many classes are looked for. Where there are more, or fewer coordinates, each
// coordinate is a class of its own.
const mostClasses = 1 << 12

// classes returns the classes of valid Params, in the order in which they come up first.
func (p Params) classes() classes {
	if p.Min.Len() > mostClasses {
		if c, ok := p.find(); ok {
			return c
		}
	}
	return p.singly()
}

// singly returns classes of one coordinate each.
func (p Params) singly() classes {
	d := p.Min.Len()
	c := classes{p, make([]int32, d), make([]int, d)}
	for i := range d {
		c.of[i], c.many[i] = int32(i), 1
	}
	return c
}

// find looks for at most mostClasses classes, by a hash table.
func (p Params) find() (classes, bool) {
	type key struct{ low, high, weight uint64 }
	const slots = 4 * mostClasses
	d := p.Min.Len()
	var table [slots]int32 // 1 + the class
	var keys []key
	c := classes{Params: p, of: make([]int32, d)}
	last, class := key{}, int32(-1)
	for i := range d {
		k := key{p.Min.word(i), p.Max.word(i), p.Weights.word(i)}
		if class < 0 || k != last {
			at := (k.low*0x9e3779b97f4a7c15 ^ bits.RotateLeft64(k.high*0xc2b2ae3d27d4eb4f, 31) ^ k.weight*0x165667b19e3779f9) * 0x9fb21c651e98df25 >> 50
			for table[at] != 0 && keys[table[at]-1] != k {
				at = (at + 1) % slots
			}
			if table[at] == 0 {
				if len(keys) == mostClasses {
					return classes{}, false
				}
				keys, c.many = append(keys, k), append(c.many, 0)
				table[at] = int32(len(keys))
			}
			last, class = k, table[at]-1
		}
		c.of[i] = class
		c.many[class]++
	}
	first := make([]int, 0, len(keys))
	for i, class := range c.of {
		if int(class) == len(first) {
			first = append(first, i)
		}
	}
	c.Min, c.Max, c.Weights = p.Min.pick(first), p.Max.pick(first), p.Weights.pick(first)
	return c, true
}

// portion is some of the coordinates of a class, which have one grid and one noise.
type portion struct{ class, n int }

// draft is the noise of portions: its coordinates stand for n coordinates each, and its groups have
// no members, but as many as they will have. The first portions are one of each class, in order,
// and further ones of a class follow in the order in which they take its coordinates.
type draft struct {
	gridNoise
	portions []portion
}

// expectedError returns the sum of the moments over the coordinates.
func (l draft) expectedError(p float64) float64 {
	return l.errorOf(p, func(i int) float64 { return float64(l.portions[i].n) })
}

// shapedError returns the error that the noise of a draft is shaped for.
func (c classes) shapedError(l draft) (sum float64) {
	if !c.Relative {
		return l.expectedError(2)
	}
	for i, some := range l.portions {
		sum += float64(some.n) * square(l.deviation(i)/c.unit(some.class))
	}
	return sum
}

// whole returns the draft of classes with one portion each, all with equal noise.
func (c classes) whole(l gridNoise) draft {
	portions := make([]portion, len(c.many))
	for i, n := range c.many {
		portions[i] = portion{i, n}
	}
	return draft{l, portions}
}

// expand returns the noise of all coordinates.
func (c classes) expand(l draft) gridNoise {
	if l.groups == nil && len(c.many) == len(c.of) {
		return l.gridNoise
	}
	full := l.gridNoise
	for g := range full.groups {
		full.groups[g].members = full.groups[g].members[:0]
	}
	if len(c.many) == len(c.of) { // each coordinate is there
		for i := range full.coordinates {
			g := &full.groups[full.coordinates[i].group]
			g.members = append(g.members, i)
		}
		return full
	}
	left := make([]int, len(l.portions)) // coordinates that a portion has room for
	next := make([]int32, len(l.portions))
	turn, last := make([]int32, len(c.many)), make([]int32, len(c.many)) // portions of a class
	for i, part := range l.portions {
		left[i] = part.n
		if i < len(c.many) {
			turn[i] = int32(i)
		} else {
			next[last[part.class]] = int32(i)
		}
		last[part.class] = int32(i)
	}
	full.coordinates, full.dim = make([]coordinate, len(c.of), len(c.of)+1), len(c.of)
	for i, class := range c.of {
		from := turn[class]
		if left[from] == 0 {
			from = next[from]
			turn[class] = from
		}
		left[from]--
		full.coordinates[i] = l.coordinates[from]
		if full.groups != nil {
			g := &full.groups[l.coordinates[from].group]
			g.members = append(g.members, i)
		}
	}
	for _, count := range l.coordinates[l.dim:] {
		if full.coordinates = append(full.coordinates, count); full.groups != nil {
			g := &full.groups[count.group]
			g.members = append(g.members, full.dim)
		}
	}
	return full
}
