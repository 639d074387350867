package misragries

import (
	"encoding/binary"
	"iter"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// counted has what is the same for all mechanisms that release integer counts of units: all but
// SparseVector.
type counted[K hashing.Key] struct{}

func (counted[K]) name(h *Histogram[K]) string { return h.law.method.String() }

func (counted[K]) length(h *Histogram[K]) int { return len(h.counts) }

func (counted[K]) find(h *Histogram[K], key K) (v float64, found bool) {
	i, found := slices.BinarySearchFunc(h.counts, key, func(c sketch.Counter[K], key K) int { return wire.Compare(c.Key, key) })
	if !found {
		return 0, false
	}
	return h.law.counts(h.counts[i].Count), true
}

func (counted[K]) all(h *Histogram[K]) iter.Seq2[K, float64] {
	return func(yield func(K, float64) bool) {
		for _, c := range h.counts {
			if !yield(c.Key, h.law.counts(c.Count)) {
				return
			}
		}
	}
}

func (counted[K]) threshold(h *Histogram[K]) float64 { return h.law.lowest() }

func (counted[K]) certain(h *Histogram[K]) float64 { return h.law.lowest() }

// candidateOf returns what a planned Histogram costs.
func candidateOf[K hashing.Key](h *Histogram[K], by method[K]) Candidate {
	c := Candidate{Method: h.law.method, Threshold: by.threshold(h), StdDev: by.stdDev(h, Upper), Bias: h.offsets()}
	if !math.IsInf(c.Threshold, -1) { // else all keys are released
		c.Hidden95 = max(c.Threshold, 0) + by.reach(h, 0.05) + c.Bias
	}
	return c
}

// numbers are the fields that the counts follow in an encoding.
func (h *Histogram[K]) numbers() []wire.Field {
	l := &h.law
	return []wire.Field{
		wire.Float(&l.epsilon), wire.Float(&l.scale), wire.Signed(&l.from), wire.Signed(&l.threshold), wire.Float(&l.shift),
		wire.Signed(&l.offset), wire.Float(&l.lost), wire.Signed(&h.lost),
	}
}

func (counted[K]) encode(h *Histogram[K], dst []byte) ([]byte, error) {
	keys := wire.KeysOf[K]()
	dst = wire.AppendFields(dst, h.numbers())
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(h.counts)))
	for _, c := range h.counts {
		dst = keys.Append(dst, c.Key)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(c.Count))
	}
	return dst, nil
}

// decodeNumbers reads the numbers, which are not checked.
func (h *Histogram[K]) decodeNumbers(r *wire.Reader, per float64) calibration {
	h.law.per = per
	r.Fields(h.numbers())
	return h.law
}

// decodeCounts reads at least and at most so many counts, if the numbers before are ok.
func (h *Histogram[K]) decodeCounts(r *wire.Reader, ok bool, least, most int) {
	if r.Err() == nil && !ok {
		r.Fail("invalid noise")
	}
	keys := wire.KeysOf[K]()
	n := r.Count(most, keys.MinSize()+8)
	if r.Err() == nil && n < least {
		r.Fail("a wrong number of keys")
	}
	if r.Err() != nil {
		return
	}
	h.counts = make([]sketch.Counter[K], n)
	for i := range h.counts {
		c := &h.counts[i]
		c.Key = keys.Read(r)
		c.Count = r.Int64()
		switch {
		case i > 0 && keys.Compare(h.counts[i-1].Key, c.Key) >= 0:
			r.Fail("keys not in ascending order")
		case h.params.Dim > 0 && sketch.Outside(c.Key, h.params.Dim):
			r.Fail("a key outside Dim")
		case h.law.threshold > 0 && c.Count < h.law.threshold:
			r.Fail("a count below the threshold")
		}
		if r.Err() != nil {
			return
		}
	}
}
