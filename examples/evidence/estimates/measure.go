package estimates

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/dpsketch/dpsketch/misragries"
)

// The readings: Lower and Estimate.
const (
	lower = iota
	best
	readings
)

// averages are what the readings are off by, over the released keys, and over those of the ten most
// frequent that are released.
type averages struct {
	all, heavy          [readings]float64 // sums of |error|
	shown, shownOfHeavy float64
	releases            int
}

// top returns the n most frequent keys.
func top(truth map[uint64]float64, n int) []uint64 {
	type counted struct {
		key uint64
		n   float64
	}
	all := make([]counted, 0, len(truth))
	for key, n := range truth {
		all = append(all, counted{key, n})
	}
	slices.SortFunc(all, func(a, b counted) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.key, b.key)) })
	keys := make([]uint64, min(n, len(all)))
	for i := range keys {
		keys[i] = all[i].key
	}
	return keys
}

// add adds one release.
func (a *averages) add(h *misragries.Histogram[uint64], truth map[uint64]float64, heavy []uint64) {
	a.releases++
	for key, estimate := range h.All() {
		isHeavy := slices.Contains(heavy, key)
		a.shown++
		if isHeavy {
			a.shownOfHeavy++
		}
		for i, v := range [readings]float64{h.Lower(key), estimate} {
			off := math.Abs(v - truth[key])
			a.all[i] += off
			if isHeavy {
				a.heavy[i] += off
			}
		}
	}
}

// cell prints the averages of one reading.
func (a *averages) cell(reading int) string {
	if a.shown == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g [%.2g]", a.all[reading]/a.shown, a.heavy[reading]/max(a.shownOfHeavy, 1))
}
