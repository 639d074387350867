package misragries

import (
	"math"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/logs"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise"
)

// shiftedUniverse is pureUniverse for a sketch that is reduced by a private shift: Theorem 2 of
// shiftedsum.go, where no key escapes, as all of the universe have noise.
type shiftedUniverse[K hashing.Key] struct{ pureUniverse[K] }

func (shiftedUniverse[K]) pure() bool { return false }

// calibrate looks for the β at which the count that is released with a probability of 95 % is about
// least. The offset and the reach of the shift are about β·A there, A = ln 10/δ, and the k-th
// largest noise and the reach of the own one b·B, B = ln max(Dim/2k, 1) + ln 10. With εβ = 1 + y
// and εb = (k+1)·(1 + 1/y) their sum is least at y² = (k+1)·B/A.
func (shiftedUniverse[K]) calibrate(p Params, in Input, unknown bool) (calibration, error) {
	if err := p.refuseUniverse(ShiftedUniverse); err != nil {
		return calibration{}, err
	}
	epsilon, delta, ok := p.element()
	if !ok {
		return calibration{}, p.refuseGroup()
	}
	return p.calibrateReduced(ShiftedUniverse, in, unknown, epsilon, 1, func(epsilon float64) (law sumLaw, ok bool) {
		k := float64(p.Counters)
		ratio := (k + 1) * (math.Log(10 * max(float64(p.Dim)/(2*k), 1))) / (math.Log(10) - math.Log(delta))
		spent := epsilon / (1 + math.Sqrt(ratio))
		law.shift = 1 / spent * (1 + 0x1p-50)
		scale, err := noise.LaplaceScale((epsilon-spent)*(1-0x1p-50), float64(p.Counters)+1)
		if law.scale = scale; err != nil || !law.valid() {
			return law, false
		}
		law.offset = leastReach(law.shift, delta)
		return law, true
	})
}

func (shiftedUniverse[K]) prepare(src *noise.Source, c calibration, s *sketch[K]) contents[K] {
	return shiftedSum[K]{}.prepare(src, c, s)
}

func (shiftedUniverse[K]) decode(h *Histogram[K], r *wire.Reader) {
	h.decodeReduced(r, false, true, h.params.element, 1, func(epsilon, wantLogDelta float64) bool {
		return 1/h.law.shift+(float64(h.params.Counters)+1)/h.law.scale <= epsilon && logs.Reach(h.law.shift, h.law.offset) <= wantLogDelta
	})
}
