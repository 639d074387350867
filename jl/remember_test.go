package jl

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/hashing"
)

// A second New of equal Params has the matrix of the first. Each field that selects the matrix
// makes another one, and no other field does.
func TestMatricesAreRemembered(t *testing.T) {
	of := func(p Params) *state {
		b, err := New(p)
		require.NoError(t, err)
		return peek(b)
	}
	for name, p := range cases() {
		p.Seed, p.Epsilon, p.Delta = seed(77), 1, 1e-6
		first, same := of(p), p
		same.Epsilon, same.Delta, same.Change.size = 2, 1e-3, 3
		require.Same(t, first.matrix, of(same).matrix, name)
		for change, other := range map[string]Params{
			"Seed":         with(p, func(p *Params) { p.Seed = seed(78) }),
			"Dim":          with(p, func(p *Params) { p.Dim++ }),
			"Rows":         with(p, func(p *Params) { p.Rows *= 2; p.Dim *= 2 }),
			"Norm":         with(p, func(p *Params) { p.Change = L2(1) }),
			"Sparsity":     with(p, func(p *Params) { p.Transform, p.Rows, p.Sparsity = SJLT, 16, 2 }),
			"Independence": with(p, func(p *Params) { p.Transform, p.Sparsity, p.Independence = Rademacher, 0, 8 }),
			"Transform":    with(p, func(p *Params) { p.Transform, p.Sparsity, p.Rows = FJLT, 0, 9 }),
		} {
			got := of(other)
			require.NotSame(t, first.matrix, got.matrix, "%s: %s", name, change)
			require.Equal(t, other.newMatrix(), got.matrix, "%s: %s", name, change)
		}
	}
}

func with(p Params, change func(*Params)) Params {
	change(&p)
	return p
}

// What is said of the memory of a matrix is not less than that of its parts, and a table of the
// greatest length is kept.
func TestBytesOfMatrices(t *testing.T) {
	p := Params{Dim: 1000, Rows: 60, Seed: seed(1), Epsilon: 1}
	require.GreaterOrEqual(t, p.newMatrix().bytes(), 4000)
	p.Sparsity = 60 // of which the functions are no small part
	function := int(reflect.TypeFor[hashing.Polynomial]().Size()) + 8*p.independence()
	require.GreaterOrEqual(t, p.newMatrix().bytes(), 60*(4000+function))
	p.Sparsity = 0
	p.Transform = SRHT
	require.GreaterOrEqual(t, p.newMatrix().bytes(), 8*60+1000/8)
	p.Transform, p.Independence = Rademacher, 1024
	require.GreaterOrEqual(t, p.newMatrix().bytes(), 8*1024)
	p.Transform, p.Independence = FJLT, 0
	require.GreaterOrEqual(t, float64(p.newMatrix().bytes()), 6*0.8*p.density()*1024*60)
	require.GreaterOrEqual(t, mostMatrices, 4*maxTable+1<<20)
}
