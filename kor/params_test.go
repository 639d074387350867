package kor

import (
	"fmt"
	"math"
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/stretchr/testify/require"
)

func TestInvalidParams(t *testing.T) {
	good := Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	made := func(p Params) error {
		_, err := New(p)
		require.Equal(t, err == nil, p.Guarantee().Promises(), "%+v", p)
		return err
	}
	stream := func(p Params) error { _, err := NewStreamBuilder(p); return err }
	aggregate := func(p Params) error { _, err := Aggregate(p, 1, make([]byte, 64)); return err }
	plan := func(p Params) error {
		plan, err := p.Plan()
		require.Equal(t, err != nil, math.IsNaN(plan.StdErr(1, 1)), "%+v", p)
		require.Equal(t, err != nil, math.IsNaN(plan.StreamStdErr(1, 1)), "%+v", p)
		return err
	}
	bad := map[string][]any{
		"Epsilon": {0, -1, math.SmallestNonzeroFloat64, 0x1p-31, 44.1}, "Cells": {-1, math.MinInt, math.MaxInt, 1<<31 - 1}, "Levels": {-1, math.MinInt, math.MaxInt, 65},
		"CountShare": {-1, 1, 2, -math.SmallestNonzeroFloat64, math.SmallestNonzeroFloat64, 1 - 0x1p-53},
	}
	dptest.Params(t, "kor", good, bad, map[string]func(Params) error{"New": made, "NewStreamBuilder": stream, "Aggregate": aggregate, "Plan": plan})
	seedless, huge, counted := good, good, good
	seedless.Seed, huge.Cells, huge.Levels, counted.CountShare = hashing.Seed{}, 1<<28, 64, 0.1
	for _, answer := range []func(Params) error{made, stream, aggregate} {
		require.ErrorIs(t, answer(seedless), ErrParams)
	}
	require.NoError(t, plan(seedless))
	require.ErrorContains(t, made(huge), fmt.Sprint(uint64(1)<<31), "the size is in the message")
	require.ErrorIs(t, stream(counted), ErrParams)
	for _, p := range []Params{
		{Epsilon: check.MinEpsilon, Cells: 1, Levels: 1, Seed: hashing.Seed{1}}, {Epsilon: maxEpsilon, Cells: 1, Levels: 64, Seed: hashing.Seed{15: 1}},
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
	q := Params{Epsilon: 1, Seed: hashing.Seed{1}}
	filled := released(t, q, 1).Params()
	require.Equal(t, Params{Epsilon: 1, Cells: 4096, Levels: 24, Seed: hashing.Seed{1}}, filled)
	require.Equal(t, filled, releasedStream(t, q, 1).Params())
	require.Equal(t, filled, dptest.OK(Aggregate(q, 1, share(t, q, 1).Bytes()))(t).Params())
	for _, x := range []float64{planned(good).StdErr(-1, 1), planned(good).StdErr(math.NaN(), 1), planned(good).StdErr(1, 0), planned(good).StreamStdErr(-1, 1)} {
		require.True(t, math.IsNaN(x))
	}
}

func TestFit(t *testing.T) {
	for _, epsilon := range []float64{0.1, 0.5, 1, 4, 20} {
		for _, relative := range []float64{0.02, 0.1, 0.5} {
			for _, sketches := range []int{1, 2} {
				p, err := Params{Epsilon: epsilon, Seed: hashing.Seed{1}}.Fit(relative, 1e9, sketches)
				if err != nil {
					require.ErrorContains(t, err, "cells")
					continue
				}
				plan := dptest.OK(p.Plan())(t)
				require.Equal(t, Plan{p, plan.FlipProb, relativeError(p, 1), p.largest(), p.size()}, plan)
				require.LessOrEqual(t, relativeError(p, sketches), relative)
				require.GreaterOrEqual(t, p.largest(), 1e9)
				fewer := p
				if fewer.Cells -= 64; fewer.Cells > 0 {
					require.Greater(t, relativeError(fewer, sketches), relative)
				}
				if fewer = p; fewer.Levels > 1 {
					fewer.Levels--
					require.Less(t, fewer.largest(), 1e9)
				}
				p, err = Params{Epsilon: epsilon, Seed: hashing.Seed{1}}.FitStream(relative, 1e9, sketches)
				if err == nil {
					require.LessOrEqual(t, streamRelativeError(p, sketches), relative)
				}
			}
		}
	}
	for _, bad := range [][4]float64{
		{0, 0.1, 10, 1}, {math.NaN(), 0.1, 10, 1}, {45, 0.1, 10, 1}, {1, 0, 10, 1}, {1, math.NaN(), 10, 1}, {1, 2, 10, 1}, {1, 0.1, 0, 1},
		{1, 0.1, math.Inf(1), 1}, {1, 0.1, math.NaN(), 1}, {1, 0.1, 10, 0}, {1, 1e-6, 10, 1}, {1e-3, 0.01, 1e9, 2}, {1, 0.1, 10, 2000}, {check.MinEpsilon, 0.1, 10, 1},
		// few keys in many cells
		{1, 1e-300, 10, 1}, {1, 0.02, 20_000, 1}, {4, 0.05, 100, 1}, {1, 0.1, 1, 2},
	} {
		require.ErrorIs(t, dptest.Err(Params{Epsilon: bad[0]}.Fit(bad[1], bad[2], int(bad[3]))), ErrParams, "%v", bad)
		require.ErrorIs(t, dptest.Err(Params{Epsilon: bad[0]}.FitStream(bad[1], bad[2], int(bad[3]))), ErrParams, "%v", bad)
	}
}

// What Fit returns has the error that was asked for, at the largest size and from 2n (4n) keys on.
func TestPlannedError(t *testing.T) {
	for _, epsilon := range []float64{0.5, 1, 4, 12} {
		for _, sketches := range []int{1, 2} {
			for _, largest := range []float64{2000, 1e5, 1e12} {
				p, err := Params{Epsilon: epsilon}.Fit(0.15, largest, sketches)
				if err == nil {
					for _, size := range []float64{min(2*float64(p.Cells), largest), largest} {
						require.LessOrEqual(t, planned(p).StdErr(size, sketches)/size, 0.15*1.15, "ε = %v, %v keys", epsilon, size)
					}
				}
				p, err = Params{Epsilon: epsilon}.FitStream(0.15, largest, sketches)
				if err == nil {
					for _, size := range []float64{min(4*float64(p.Cells), largest), largest} {
						require.LessOrEqual(t, planned(p).StreamStdErr(size, sketches)/size, 0.15*1.15, "ε = %v, %v keys", epsilon, size)
					}
				}
			}
		}
	}
	dptest.OK(Params{Epsilon: 1}.Fit(0.15, 1e5, 1))(t)
	dptest.OK(Params{Epsilon: 1}.FitStream(0.15, 1e5, 1))(t)
	require.ErrorIs(t, dptest.Err(Params{Epsilon: 1, CountShare: 0.1}.FitStream(0.15, 1e5, 1)), ErrParams)
	whole := dptest.OK(Params{Epsilon: 1}.Fit(0.05, 1e6, 2))(t)
	shared := dptest.OK(Params{Epsilon: 1, CountShare: 0.1}.Fit(0.05, 1e6, 2))(t)
	require.Greater(t, shared.Cells, whole.Cells, "the count takes from the ε of the bits")
}
