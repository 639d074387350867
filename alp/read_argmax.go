package alp

import "math"

// Argmax returns the paper's estimate of an entry (Algorithm 3). Let f(n) be the number of ones
// minus the number of zeros among its first n bits: the estimate is the average of the n that
// maximise f, times the width of a column. A listed key has its list value, as in Algorithm 8.
// Argmax is for unary codes, Levels = 2, and uses neither the load nor a prior. NaN if Levels is
// not 2, and for a Projection that was neither released nor decoded; 0 for an index outside Dim.
func (p *Projection) Argmax(index uint64) float64 {
	var buffer [fewColumns]uint8
	positive, negative, ok := p.read(index, buffer[:0])
	switch {
	case p.decoder == nil || p.shape.code.levels != 2:
		return math.NaN()
	case !ok:
		return 0
	}
	s := &p.shape
	if value := p.decoder.list.find(index); value != 0 {
		return s.inUnits(s.unphi(value))
	}
	at := peak(positive)
	if negative != nil {
		at = peakOfBoth(positive, negative)
		if s.params.TwoVectors {
			at = peak(positive) - peak(negative)
		}
	}
	return s.inUnits(sign(s.valueAt(math.Abs(at)*float64(s.width)), at < 0))
}

// peak returns the average of the arguments n ≥ 0 at which the ones exceed the zeros the most among
// the first n bits.
func peak(bits []uint8) float64 {
	at, n, _ := peaks(bits)
	return float64(at) / float64(n)
}

// peaks returns the sum of these arguments, their number, and the excess.
func peaks(bits []uint8) (at, n, most int) {
	n = 1
	f := 0
	for i, b := range bits {
		f += 2*int(b) - 1
		switch {
		case f > most:
			at, n, most = i+1, 1, f
		case f == most:
			at, n = at+i+1, n+1
		}
	}
	return at, n, most
}

// peakOfBoth does the same on the axis from −m to m: bits below 0 count when they are 1, outwards.
func peakOfBoth(positive, negative []uint8) float64 {
	a, n, most := peaks(positive)
	b, k, below := peaks(negative)
	switch {
	case most > below:
		return float64(a) / float64(n)
	case most < below:
		return -float64(b) / float64(k)
	case most == 0: // both have 0 among theirs, which counts once
		return float64(a-b) / float64(n+k-1)
	}
	return float64(a-b) / float64(n+k)
}
