package kor

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/limits"
	"github.com/stretchr/testify/require"
)

func TestInvalidParams(t *testing.T) {
	good := Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	bad := map[string][]Params{}
	set := func(field string, change func(*Params)) {
		p := good
		change(&p)
		bad[field] = append(bad[field], p)
	}
	for _, x := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, 0x1p-31, 44.1} {
		set("Epsilon", func(p *Params) { p.Epsilon = x })
	}
	for _, x := range []float64{-1, math.NaN(), math.Inf(1), 1, 2, -math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64, 1 - 0x1p-53} {
		set("CountShare", func(p *Params) { p.CountShare = x })
	}
	for _, x := range []int{0, -1, math.MinInt, math.MaxInt, 1<<31 - 1} {
		set("Cells", func(p *Params) { p.Cells = x })
	}
	for _, x := range []int{0, -1, math.MinInt, math.MaxInt, 65} {
		set("Levels", func(p *Params) { p.Levels = x })
	}
	set("Seed", func(p *Params) { p.Seed = hashing.Seed{} })
	for field, list := range bad {
		for _, p := range list {
			_, err := New(p)
			require.ErrorIs(t, err, ErrParams, "%+v", p)
			require.Contains(t, err.Error(), "kor: "+field+" = ", "%+v", p)
			_, err = NewStreamBuilder(p)
			require.ErrorIs(t, err, ErrParams, "%+v", p)
			_, err = Aggregate(p, 1, nil)
			require.ErrorIs(t, err, ErrParams, "%+v", p)
			for _, x := range []float64{p.FlipProb(), p.StdErr(1, 1), p.StreamStdErr(1, 1), p.RelativeError(1), p.StreamRelativeError(1), p.Largest()} {
				require.True(t, math.IsNaN(x), "%+v", p)
			}
			require.Zero(t, p.Size())
			require.True(t, math.IsInf(p.Guarantee().EpsilonAt(0), 1), "%+v", p)
		}
	}
	huge := good
	huge.Cells, huge.Levels = 1<<28, 64
	_, err := New(huge)
	require.ErrorContains(t, err, fmt.Sprint(uint64(1)<<31), "the size is in the message")
	counted := good
	counted.CountShare = 0.1
	_, err = NewStreamBuilder(counted)
	require.ErrorIs(t, err, ErrParams)
	for _, p := range []Params{
		{Epsilon: limits.MinEpsilon, Cells: 1, Levels: 1, Seed: hashing.Seed{1}}, {Epsilon: maxEpsilon, Cells: 1, Levels: 64, Seed: hashing.Seed{15: 1}},
		{Epsilon: 1, Cells: 63, Levels: 2, Seed: hashing.Seed{1}, CountShare: math.Copysign(0, -1)},
	} {
		s := released(t, p, 1, 2, 3)
		want := p
		want.CountShare += 0
		require.Equal(t, want, s.Params())
		require.False(t, math.Signbit(s.Params().CountShare))
		require.Equal(t, p.Epsilon, s.Guarantee().EpsilonAt(0))
		require.Equal(t, p.Guarantee(), s.Guarantee())
		require.False(t, math.IsNaN(s.Estimate()))
	}
	for _, x := range []float64{good.StdErr(-1, 1), good.StdErr(math.NaN(), 1), good.StdErr(1, 0), good.RelativeError(0), good.StreamRelativeError(-1), good.StreamStdErr(-1, 1)} {
		require.True(t, math.IsNaN(x))
	}
}

func TestPlan(t *testing.T) {
	for _, epsilon := range []float64{0.1, 0.5, 1, 4, 20} {
		for _, relative := range []float64{0.02, 0.1, 0.5} {
			for _, sketches := range []int{1, 2} {
				plan, err := Params{Epsilon: epsilon}.Plan(relative, 1e9, sketches)
				if err != nil {
					require.ErrorContains(t, err, "cells")
					continue
				}
				p := plan.Params
				p.Seed = hashing.Seed{1}
				require.Equal(t, p.RelativeError(sketches), plan.RelativeError)
				require.Equal(t, p.Size(), plan.Bytes)
				require.LessOrEqual(t, p.RelativeError(sketches), relative)
				require.GreaterOrEqual(t, p.Largest(), 1e9)
				fewer := p
				if fewer.Cells -= 64; fewer.Cells > 0 {
					require.Greater(t, fewer.RelativeError(sketches), relative)
				}
				if fewer = p; fewer.Levels > 1 {
					fewer.Levels--
					require.Less(t, fewer.Largest(), 1e9)
				}
				plan, err = Params{Epsilon: epsilon}.PlanStream(relative, 1e9, sketches)
				if err == nil {
					p = plan.Params
					p.Seed = hashing.Seed{1}
					require.Equal(t, p.StreamRelativeError(sketches), plan.RelativeError)
					require.LessOrEqual(t, p.StreamRelativeError(sketches), relative)
				}
			}
		}
	}
	for _, bad := range [][4]float64{
		{0, 0.1, 10, 1}, {math.NaN(), 0.1, 10, 1}, {45, 0.1, 10, 1}, {1, 0, 10, 1}, {1, math.NaN(), 10, 1}, {1, 2, 10, 1}, {1, 0.1, 0, 1},
		{1, 0.1, math.Inf(1), 1}, {1, 0.1, math.NaN(), 1}, {1, 0.1, 10, 0}, {1, 1e-6, 10, 1}, {1e-3, 0.01, 1e9, 2}, {1, 0.1, 10, 2000}, {limits.MinEpsilon, 0.1, 10, 1},
		// few keys in many cells
		{1, 1e-300, 10, 1}, {1, 0.02, 20_000, 1}, {4, 0.05, 100, 1}, {1, 0.1, 1, 2},
	} {
		_, err := Params{Epsilon: bad[0]}.Plan(bad[1], bad[2], int(bad[3]))
		require.ErrorIs(t, err, ErrParams, "%v", bad)
		_, err = Params{Epsilon: bad[0]}.PlanStream(bad[1], bad[2], int(bad[3]))
		require.ErrorIs(t, err, ErrParams, "%v", bad)
	}
}

// What Plan returns has the error that was asked for, at the largest size and from 2n (4n) keys on.
func TestPlannedError(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 4, 12} {
		for _, sketches := range []int{1, 2} {
			for _, largest := range []float64{2000, 1e5, 1e12} {
				plan, err := Params{Epsilon: epsilon}.Plan(0.15, largest, sketches)
				if err == nil {
					p := plan.Params
					p.Seed = hashing.Seed{1}
					for _, size := range []float64{min(2*float64(p.Cells), largest), largest} {
						require.LessOrEqual(t, p.StdErr(size, sketches)/size, 0.15*1.15, "ε = %v, %v keys", epsilon, size)
					}
				}
				plan, err = Params{Epsilon: epsilon}.PlanStream(0.15, largest, sketches)
				if err == nil {
					p := plan.Params
					p.Seed = hashing.Seed{1}
					for _, size := range []float64{min(4*float64(p.Cells), largest), largest} {
						require.LessOrEqual(t, p.StreamStdErr(size, sketches)/size, 0.15*1.15, "ε = %v, %v keys", epsilon, size)
					}
				}
			}
		}
	}
	_, err := Params{Epsilon: 1}.Plan(0.15, 1e5, 1)
	require.NoError(t, err)
	_, err = Params{Epsilon: 1}.PlanStream(0.15, 1e5, 1)
	require.NoError(t, err)
	_, err = Params{Epsilon: 1, CountShare: 0.1}.PlanStream(0.15, 1e5, 1)
	require.ErrorIs(t, err, ErrParams)
	whole, err := Params{Epsilon: 1}.Plan(0.05, 1e6, 2)
	require.NoError(t, err)
	shared, err := Params{Epsilon: 1, CountShare: 0.1}.Plan(0.05, 1e6, 2)
	require.NoError(t, err)
	require.Greater(t, shared.Params.Cells, whole.Params.Cells, "the count takes from the ε of the bits")
}

// A level ratio of 4 gives the same information for the same bits, with a ripple of 2 %; at 8 it is
// 13 to 15 %.
func TestLevelRatio(t *testing.T) {
	error := func(ratio, size, c float64) float64 { // relative, for 1 cell an octave
		info := 0.0
		for i := range 200 {
			x := size * math.Pow(ratio, float64(20-i))
			e := c * c * math.Exp(-2*x)
			info += math.Log2(ratio) * x * x * e / (1 - e)
		}
		return 1 / math.Sqrt(info)
	}
	for _, c := range []float64{0.2, 0.46, 0.76} {
		want := math.Sqrt(4 * math.Ln2 / dilog(c*c))
		for ratio, ripple := range map[float64]float64{2: 1e-3, 4: 0.025, 8: 0.16} {
			worst := 0.0
			for k := range 100 {
				worst = max(worst, math.Abs(error(ratio, math.Pow(ratio, float64(k)/100), c)/want-1))
			}
			require.Less(t, worst, ripple, "ratio %v, c = %v", ratio, c)
			require.Greater(t, worst, ripple/25, "ratio %v, c = %v", ratio, c)
		}
	}
}
