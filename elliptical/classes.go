package elliptical

import "math/bits"

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

// draft is a law of portions: its coordinates stand for n coordinates each, and its groups have no
// members, but as many as they will have. The first portions are one of each class, in order, and
// further ones of a class follow in the order in which they take its coordinates.
type draft struct {
	law
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
func (c classes) whole(l law) draft {
	portions := make([]portion, len(c.many))
	for i, n := range c.many {
		portions[i] = portion{i, n}
	}
	return draft{l, portions}
}

// expand returns the law of all coordinates.
func (c classes) expand(l draft) law {
	if l.groups == nil && len(c.many) == len(c.of) {
		return l.law
	}
	full := l.law
	for g := range full.groups {
		full.groups[g].members = full.groups[g].members[:0]
	}
	if len(c.many) == len(c.of) { // each coordinate is there
		for i := range full.at {
			g := &full.groups[full.at[i].group]
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
	full.at, full.dim = make([]coordinate, len(c.of), len(c.of)+1), len(c.of)
	for i, class := range c.of {
		from := turn[class]
		if left[from] == 0 {
			from = next[from]
			turn[class] = from
		}
		left[from]--
		full.at[i] = l.at[from]
		if full.groups != nil {
			g := &full.groups[l.at[from].group]
			g.members = append(g.members, i)
		}
	}
	for _, count := range l.at[l.dim:] {
		if full.at = append(full.at, count); full.groups != nil {
			g := &full.groups[count.group]
			g.members = append(g.members, full.dim)
		}
	}
	return full
}
