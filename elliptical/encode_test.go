package elliptical

import (
	"hash/crc32"
	"math"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/exact"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

// values are noisy sums in steps, one beyond 64 bits.
var values = []exact.Int128{exact.Int128Of(-12345678901), exact.Product128(1<<60, 1<<20), exact.Int128Of(7)}

// samples are Sums of each form, made without randomness.
func samples() map[string]*Sum {
	list := map[string]*Sum{}
	for name, p := range map[string]Params{
		"gaussian.hex": {Min: VectorOf(-2, -0.5, -0.05), Max: VectorOf(2, 0.5, 0.05), Rho: 0.5, Relation: budget.Replace},
		"laplace.hex":  {Min: VectorOf(0, -3.5), Max: VectorOf(4, -2.5), Epsilon: 0.5, Relation: budget.AddRemove, Shape: Independent},
		"weighted.hex": {Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Epsilon: 0.5, Delta: 1e-9, Relation: budget.Replace, Weights: VectorOf(1, 3)},
		"count.hex":    {Min: VectorOf(0, 0.25), Max: VectorOf(4, 1.25), Epsilon: 0.5, Relation: budget.AddRemove, Count: true, Shape: Independent},
		"box.hex":      {Min: VectorOf(0, 0.25), Max: VectorOf(4, 1.25), Epsilon: 0.5, Relation: budget.AddRemove, Count: true, Shape: Box},
		"group.hex":    {Min: VectorOf(-2, -0.5, -0.05), Max: VectorOf(2, 0.5, 0.05), Epsilon: 0.5, Relation: budget.Replace, Shape: Box},
	} {
		l := gridNoise{kind: p.kind(), replace: p.replace(), dim: p.Min.Len()}
		for i := range p.Min.Len() {
			l.coordinates = append(l.coordinates, p.box(p.interval(i), coordinate{step: math.Ldexp(1, i-30), scale: 3.25 + float64(i)}))
		}
		if p.Count {
			l.coordinates = append(l.coordinates, coordinate{step: 0x1p-20, scale: 7.5, high: 1 << 20})
		}
		if l.kind == uniform {
			l.groups = []group{{members: []int{0, 2}, bits: 17, offset: 76543, scale: 0x1p19}, {members: []int{1}, bits: 16, offset: 12345, scale: 0x1p19}}
			for at := range l.groups {
				g := &l.groups[at]
				g.square = math.Exp(g.logMoment(2))
				for _, i := range g.members {
					l.coordinates[i].scale, l.coordinates[i].group = 0, at
				}
			}
		}
		list[name] = &Sum{calibration{p, l}, values[:len(l.coordinates)]}
	}
	p := Params{Ellipsoid: PackSymmetric(tilted), Rho: 0.5, Relation: budget.Replace}
	rows, _ := factor(p.Ellipsoid)
	c := coordinate{step: 0x1p-27, scale: 1.5, low: -radiusSteps, high: radiusSteps}
	list["ellipsoid.hex"] = &Sum{calibration{p, gridNoise{replace: true, dim: 3, coordinates: []coordinate{c, c, c}, lower: rows}}, values}
	p = Params{NormBound: 3, Dim: 2, Rho: 0.5, Relation: budget.AddRemove, Count: true}
	p, l, err := p.settled(fineness)
	if err != nil {
		panic(err)
	}
	// on every machine
	l.coordinates[0].scale, l.coordinates[1].scale, l.coordinates[2].scale = 3.75, 3.75, 1.5
	list["ball.hex"] = &Sum{calibration{p, l}, values[:3]}
	return list
}

// sample returns what makes one of them anew.
func sample(name string) func() *Sum { return func() *Sum { return samples()[name] } }

func TestCodec(t *testing.T) {
	for _, s := range samples() {
		dptest.Codec[Sum](t, s, dptest.DeepEqual)
	}
}

// The layout is fixed: what is written today can be read by every later version.
func TestGoldenFiles(t *testing.T) {
	dptest.GoldenDumps(t, samples())
}

// What a release gives decodes to the same Sum.
func TestCodecOfReleases(t *testing.T) {
	list := []Params{{Ellipsoid: PackSymmetric(tilted), Epsilon: 1, Delta: 1e-6}, Params{Epsilon: 1}.around(skewed(200)...)}
	for _, p := range settings() {
		list = append(list, p)
	}
	for _, p := range list {
		b := dptest.OK(NewBuilder(p))(t)
		b.Add([]float64{1, 0.5})
		s := dptest.OK(b.Release())(t)
		again, _ := dptest.RoundTrip(t, s)
		require.Equal(t, s, again)
	}
}

// Objects that no release produces are not valid encodings.
func TestDecodeRejectsInvalidObjects(t *testing.T) {
	dptest.Spoiled(t, sample("count.hex"), sample("gaussian.hex"), map[string]func(*Sum){
		"no relation":      func(s *Sum) { s.params.Relation = 0 },
		"negative zero":    func(s *Sum) { s.params.Rho = math.Copysign(0, -1) },
		"negative zero δ":  func(s *Sum) { s.params.Delta = math.Copysign(0, -1) },
		"shape":            func(s *Sum) { s.params.Shape = 17 },
		"two guarantees":   func(s *Sum) { s.params.Rho = 1 },
		"width":            func(s *Sum) { s.params.Max = VectorOf(4, -1) },
		"Min −0":           func(s *Sum) { s.params.Min.bits = strings.Repeat("\x00", 7) + "\x80" + s.params.Min.bits[8:] },
		"step":             func(s *Sum) { s.noise.coordinates[0].step = 0.75 },
		"negative step":    func(s *Sum) { s.noise.coordinates[0].step = -0.5 },
		"infinite step":    func(s *Sum) { s.noise.coordinates[0].step = math.Inf(1) },
		"step too fine":    func(s *Sum) { s.noise.coordinates[1].step, s.noise.coordinates[1].scale = 0x1p-60, 0x1p-30 },
		"no noise":         func(s *Sum) { s.noise.coordinates[2].scale = 0 },
		"NaN noise":        func(s *Sum) { s.noise.coordinates[2].scale = math.NaN() },
		"too much noise":   func(s *Sum) { s.noise.coordinates[1].scale = 0x1p30 },
		"unsettled shape":  func(s *Sum) { s.params.Shape = Optimal },
		"count, no middle": func(s *Sum) { s.params.Min = VectorOf(-4, -1.25) },
	})
}

// Groups of a Box that no release has.
func TestDecodeRejectsInvalidBoxes(t *testing.T) {
	dptest.Spoiled(t, sample("box.hex"), sample("gaussian.hex"), map[string]func(*Sum){
		"more than ε":     func(s *Sum) { s.noise.groups[0].bits++ },
		"no bits":         func(s *Sum) { s.noise.groups[1].bits = 0 },
		"many bits":       func(s *Sum) { s.noise.groups[1].bits = 41 },
		"offset":          func(s *Sum) { s.noise.groups[1].offset = 1 << 16 },
		"scale":           func(s *Sum) { s.noise.groups[1].scale = math.NaN() },
		"infinite scale":  func(s *Sum) { s.noise.groups[1].scale = math.Inf(1) },
		"negative scale":  func(s *Sum) { s.noise.groups[1].scale = -1 },
		"no such group":   func(s *Sum) { s.noise.coordinates[1].group = 2 },
		"empty group":     func(s *Sum) { s.noise.coordinates[1].group = 0 },
		"Gaussian noise":  func(s *Sum) { s.params.Delta = 1e-6 },
		"shape":           func(s *Sum) { s.params.Shape = Independent },
		"too many groups": func(s *Sum) { s.noise.groups = append(s.noise.groups, make([]group, maxGroups)...) },
	})
}

// All coordinates of an Ellipsoid have one grid and one noise, and its matrix is one that New
// takes.
func TestDecodeRejectsInvalidEllipsoids(t *testing.T) {
	packed, _ := chain(3)
	dptest.Spoiled(t, sample("ball.hex"), sample("gaussian.hex"), map[string]func(*Sum){
		"another step":  func(s *Sum) { s.noise.coordinates[1].step /= 2 },
		"another noise": func(s *Sum) { s.noise.coordinates[1].scale *= 2 },
		"a fine grid": func(s *Sum) {
			for i := range 2 {
				s.noise.coordinates[i].step *= 0x1p-4
			}
		},
		"another count": func(s *Sum) { s.noise.coordinates[2].step /= 2 },
		"no bound":      func(s *Sum) { s.params.NormBound = 0 },
		"negative":      func(s *Sum) { s.params.NormBound = -3 },
	})
	dptest.Spoiled(t, sample("ellipsoid.hex"), sample("gaussian.hex"), map[string]func(*Sum){
		"unequal noise":          func(s *Sum) { s.noise.coordinates[1].scale *= 1.5 },
		"unequal grids":          func(s *Sum) { s.noise.coordinates[2].step /= 2 },
		"not definite":           func(s *Sum) { s.params.Ellipsoid = VectorOf(1, 2, 1, 0, 0, 1) },
		"as good as singular":    func(s *Sum) { s.params.Ellipsoid = VectorOf(packed...) },
		"a diagonal below 2⁻¹⁰⁰": func(s *Sum) { s.params.Ellipsoid = VectorOf(1, 0, 1, 0, 0, 1e-40) },
	})
}

func TestReaders(t *testing.T) {
	for _, s := range quick() {
		dptest.Readers(t, s)
	}
	m := dptest.OK(New(Params{Min: VectorOf(-2, -0.5), Max: VectorOf(2, 0.5), Rho: 1}))(t)
	for _, public := range []any{&Sum{}, m.Params(), m.Params().Min} {
		dptest.Readers(t, public)
	}
}

func FuzzUnmarshal(f *testing.F) {
	dptest.Seeds(f, samples())
	f.Fuzz(useDecoded)
}

func TestUnmarshalEdges(t *testing.T) { dptest.Edges(t, quick(), useDecoded) }

// quick returns the samples but that whose noise is the sum of two groups, of which some methods
// take a millisecond.
func quick() map[string]*Sum {
	list := samples()
	delete(list, "box.hex")
	return list
}

// useDecoded checks that every method works on what decodes.
func useDecoded(t *testing.T, data []byte) {
	s := dptest.Decoded[Sum](t, data)
	if s == nil {
		return
	}
	for i, x := range s.All() {
		for turn, confidence := range []float64{0, 0.9, 1 - 0x1p-53} {
			if int(crc32.ChecksumIEEE(data)%3) != turn && !dptest.Long() {
				continue
			}
			low, high := s.Interval(i, confidence)
			require.True(t, low <= x && x <= high, "%v not in [%v, %v]", x, low, high)
			if confidence != 0.9 {
				continue
			}
			least, most := s.SimultaneousInterval(i, confidence)
			require.True(t, least <= low && high <= most, "[%v, %v] not in [%v, %v]", low, high, least, most)
			least, most = s.MeanInterval(i, confidence)
			mean := s.Mean(i)
			require.True(t, !s.Params().Count && math.IsNaN(mean) && math.IsNaN(least) || least <= mean && mean <= most, "%v not in [%v, %v]", mean, least, most)
		}
		require.GreaterOrEqual(t, s.StdDev(i), 0.0)
		require.Equal(t, x, s.Estimate(i))
	}
	require.Len(t, s.Values(), s.Len())
	for _, p := range []float64{5e-324, 1, 64, math.MaxFloat64} {
		require.GreaterOrEqual(t, s.noise.expectedError(p), 0.0)
	}
	require.Equal(t, !s.Params().Count, math.IsNaN(s.Count()))
	if s.Len() <= 16 {
		for i := range s.Len() {
			require.InEpsilon(t, square(s.StdDev(i)), s.Covariance().At(i, i), 1e-12)
		}
	}
	require.NotContains(t, s.String(), "NaN")
	require.NotZero(t, s.Guarantee())
}
