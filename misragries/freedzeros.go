package misragries

import (
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
	"github.com/dpsketch/dpsketch/noise"
)

// freedZeros is keptZeros for the positive counters alone, with a threshold for sketches of which
// neighbours may differ in k keys: see freedzeros_delta.go.
type freedZeros[K hashing.Key] struct{ keptZeros[K] }

func (freedZeros[K]) calibrate(p Params, in Input, _ bool) (calibration, error) {
	return p.calibrateShared(FreedZeros, in, leastStandardThreshold)
}

func (freedZeros[K]) prepare(_ *noise.Source, _ calibration, s *sketch.Sketch[K]) contents[K] {
	return contents[K]{counters: s.Positive(), lost: s.Decrements()}
}

func (freedZeros[K]) draw(src *noise.Source, h *Histogram[K], held contents[K]) error {
	h.counts, h.lost = releaseShared(src, h.law, held.counters, held.lost)
	if !h.knowsDecrements() {
		h.lost = 0
	}
	return nil
}

func (freedZeros[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.decodeShared(r, func(epsilon, wantLogDelta float64) bool {
		return logStandardDelta(h.params.Counters, epsilon, float64(h.law.threshold)) <= wantLogDelta
	})
}
