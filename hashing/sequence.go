package hashing

// Fill sets dst[i] to Hash(first + i), first + i modulo 2⁶⁴. It costs k − 1 additions per key
// instead of k − 1 multiplications.
func (h Polynomial) Fill(dst []uint64, first uint64) {
	// The (k−1)-th difference of a polynomial of degree below k is a constant, also over a field.
	// With d₀ = h(z) and dₘ the m-th difference at z, dₘ ← dₘ + dₘ₊₁ for m = 0, …, k−2 moves from z
	// to z + 1, exactly mod p. Consecutive keys are consecutive elements of the field as long as
	// their quotients by p are equal; where that changes, the differences are taken anew.
	for len(dst) > 0 {
		quo, z := divMod(first)
		n := mersenne - z // keys of this quotient
		if left := -first; left != 0 {
			n = min(n, left)
		}
		run := dst[:min(n, uint64(len(dst)))]
		if quo != 0 {
			z = canonical(mulAdd(h.alpha, quo, z))
		}
		h.fill(run, z)
		dst, first = dst[len(run):], first+uint64(len(run))
	}
}

// fill sets dst[i] to the value at the element z + i of the field.
func (h Polynomial) fill(dst []uint64, z uint64) {
	k := len(h.coef)
	if k == 0 {
		clear(dst)
		return
	}
	for i := range dst[:min(k, len(dst))] {
		dst[i] = h.at(z)
		z = add(z, 1)
	}
	if len(dst) <= k {
		return
	}
	var space [MaxIndependence]uint64
	d := space[:k]
	copy(d, dst)
	differences(d)
	if k == 4 {
		d0, d1, d2, d3 := d[0], d[1], d[2], d[3]
		for i := range dst {
			dst[i] = d0
			d0, d1, d2 = add(d0, d1), add(d1, d2), add(d2, d3)
		}
		return
	}
	for i := range dst {
		dst[i] = d[0]
		for m, next := range d[1:] {
			d[m] = add(d[m], next)
		}
	}
}

// at returns the value at the element z of the field.
func (h Polynomial) at(z uint64) uint64 {
	var v uint64
	for _, c := range h.coef {
		v = mulAdd(v, z, c)
	}
	return canonical(v)
}

// differences replaces values by the first of them and the first, second, … difference there.
func differences(d []uint64) {
	for m := 1; m < len(d); m++ {
		for i := len(d) - 1; i >= m; i-- {
			d[i] = add(d[i], mersenne-d[i-1])
		}
	}
}

// add returns a + b mod p, for a < p and b ≤ p: the difference wraps around where it is not wanted.
func add(a, b uint64) uint64 {
	sum := a + b
	return min(sum, sum-mersenne)
}
