package kor

import (
	"testing"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/stretchr/testify/require"
)

// Every occurrence of a key, weighted or not, tosses a coin of its own: of 4000 streams with one key of weight 1, half have flipped its bit, whether it
// came once or twice. Without coins it is all of them, or none. The number is binomial with mean 2000 and standard deviation 31.6; it is more than 200 off with a
// probability of at most 4.2e-9 in each of the four cases (Hoeffding: 2·e^{−2·200²/4000}).
func TestEveryOccurrenceTossesACoin(t *testing.T) {
	p := Params{Epsilon: 1, Cells: 64, Levels: 4, Seed: hashing.Seed{3}}
	for name, add := range map[string]func(b *StreamBuilder){
		"Add": func(b *StreamBuilder) { b.Add(7) }, "AddWeighted": func(b *StreamBuilder) { b.AddWeighted(7, 1) },
	} {
		for times := 1; times <= 2; times++ {
			flipped := 0
			for range 4000 {
				b, err := NewStream(p)
				require.NoError(t, err)
				for range times {
					add(b)
				}
				table := (*b.state).table
				ones := distance(table, make([]uint64, len(table)))
				require.LessOrEqual(t, ones, 1)
				flipped += ones
			}
			require.InDelta(t, 2000, flipped, 200, "%s, %d times", name, times)
		}
	}
}

// A merged StreamBuilder has given its data away: nothing of it can be released a second time.
func TestMergedStreamIsReleased(t *testing.T) {
	a, err := NewStream(small)
	require.NoError(t, err)
	b, err := NewStream(small)
	require.NoError(t, err)
	require.NoError(t, a.Merge(b))
	require.True(t, b.Released())
	require.False(t, a.Released())
	_, err = b.Release()
	require.ErrorIs(t, err, ErrReleased)
	require.ErrorIs(t, a.Merge(b), ErrReleased)
	_, err = a.Release()
	require.NoError(t, err)
}
