package groupby

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/dpsketch/dpsketch/internal/dptest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/stretchr/testify/require"
)

var plain = Params{Epsilon: 1, Delta: 1e-6}

func TestParamsAreChecked(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, wrong := range map[string]Params{
		"zero":       {},
		"no ε":       {Delta: 1e-6},
		"ε NaN":      {Epsilon: nan, Delta: 1e-6},
		"ε < 0":      {Epsilon: -1, Delta: 1e-6},
		"ε tiny":     {Epsilon: 0x1p-11, Delta: 1e-6},
		"ε huge":     {Epsilon: 65, Delta: 1e-6},
		"no δ":       {Epsilon: 1},
		"δ NaN":      {Epsilon: 1, Delta: nan},
		"δ denormal": {Epsilon: 1, Delta: 5e-324},
		"δ large":    {Epsilon: 1, Delta: 0.02},
		"m < 0":      {Epsilon: 1, Delta: 1e-6, MaxKeys: -1},
		"m large":    {Epsilon: 1, Delta: 1e-6, MaxKeys: 4097},
		"share":      {Epsilon: 1, Delta: 1e-6, CountShare: 1},
		"share < 0":  {Epsilon: 1, Delta: 1e-6, CountShare: -0.5},
		"share NaN":  {Epsilon: 1, Delta: 1e-6, CountShare: nan},
		"all shares": {Epsilon: 1, Delta: 1e-6, CountShare: 63. / 64, Others: true},
		"clip":       {Epsilon: 1, Delta: 1e-6, Clip: -1},
		"clip large": {Epsilon: 1, Delta: 1e-6, Clip: 4097},
		"min NaN":    {Epsilon: 1, Delta: 1e-6, Min: nan, Max: 1},
		"max NaN":    {Epsilon: 1, Delta: 1e-6, Max: nan},
		"max Inf":    {Epsilon: 1, Delta: 1e-6, Max: inf},
		"min Inf":    {Epsilon: 1, Delta: 1e-6, Min: -inf},
		"no range":   {Epsilon: 1, Delta: 1e-6, Min: 1, Max: 1},
		"reversed":   {Epsilon: 1, Delta: 1e-6, Min: 1},
		"denormal":   {Epsilon: 1, Delta: 1e-6, Max: 5e-324},
		"relation":   {Epsilon: 1, Delta: 1e-6, Relation: 3},
		"keys, 1":    {Epsilon: 1, Delta: 1e-6, KeysOnly: true, CountShare: 0.5},
		"keys, 2":    {Epsilon: 1, Delta: 1e-6, KeysOnly: true, Clip: 32},
		"keys, 3":    {Epsilon: 1, Delta: 1e-6, KeysOnly: true, Max: 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New[string](wrong)
			require.ErrorIs(t, err, ErrParams)
			require.Equal(t, budget.Guarantee{}, wrong.Guarantee())
			require.True(t, math.IsNaN(wrong.Threshold()) && math.IsNaN(wrong.StdDev()))
			require.Zero(t, wrong.Size(1))
		})
	}
}

// extremes are Params at the ends of their ranges.
func extremes() (all []Params) {
	for _, p := range []Params{{Epsilon: minEpsilon, Delta: minDelta}, {Epsilon: maxEpsilon, Delta: minDelta}, {Epsilon: minEpsilon, Delta: maxDelta}, {Epsilon: maxEpsilon, Delta: maxDelta}} {
		for _, r := range []budget.Relation{budget.AddRemove, budget.Replace} {
			p.Relation = r
			keys, large, small := p, p, p
			keys.KeysOnly, keys.Others, keys.MaxKeys = true, true, maxKeys
			large.CountShare, large.Clip, large.Min, large.Max = 1-minShare, maxClip, -0x1p199, 0x1p199
			small.CountShare, small.Clip, small.Others, small.MaxKeys = minShare, 1, true, 1
			worst := large
			worst.CountShare, worst.Others = minShare, true
			all = append(all, keys, large, small, worst)
		}
	}
	return all
}

// So it is everywhere between the extremes.
func TestRandomParams(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 3))
	for range dptest.Full(300, 5) {
		p := Params{Epsilon: math.Exp2(-10 + 16*rng.Float64()), Delta: math.Pow(10, -2-98*rng.Float64()*rng.Float64()), MaxKeys: 1 + rng.IntN(maxKeys),
			CountShare: minShare + (0.97-minShare)*rng.Float64(), Clip: 1 + rng.IntN(maxClip), Others: rng.IntN(2) == 0, Relation: budget.Relation(1 + rng.IntN(2))}
		if rng.IntN(2) == 0 {
			p.Max = 1
		}
		c, err := p.calibrate()
		require.NoError(t, err, "%+v", p)
		require.LessOrEqual(t, c.kernel.Delta(p.Epsilon, p.users(c)), p.Delta)
	}
}

func TestDefaults(t *testing.T) {
	full := Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 100, CountShare: 0.5, Clip: 32, Relation: budget.AddRemove}
	require.Equal(t, full, plain.normal())
	require.Equal(t, full, full.normal())
	require.Equal(t, plain.Threshold(), full.Threshold())
	require.Equal(t, budget.User(0, budget.AddRemove), plain.Guarantee().Unit())
	_, err := plain.Guarantee().For(budget.User(100, budget.AddRemove))
	require.NoError(t, err)
	keys := Params{Epsilon: 1, Delta: 1e-6, KeysOnly: true}
	require.True(t, math.IsNaN(keys.StdDev()))
	require.InEpsilon(t, 21.422, keys.Threshold(), 3e-3)
	require.InEpsilon(t, 29.88, plain.Threshold(), 3e-3)
	require.InEpsilon(t, 4.2251*math.Sqrt(33*2), plain.StdDev(), 1e-4)
}

// The shares add up to the budget: Σ(Δ/σ)² of all parts, with the sensitivities that
// TestUserVectors checks, is that of the Gaussian mechanism of (ε, 0.998·δ), and what the kernel is
// told is all but the keys' part.
func TestShares(t *testing.T) {
	for _, p := range []Params{
		plain, {Epsilon: 1, Delta: 1e-6, KeysOnly: true}, {Epsilon: 1, Delta: 1e-6, KeysOnly: true, Others: true},
		{Epsilon: 1, Delta: 1e-6, Max: 3, CountShare: 0.3, Clip: 5, Others: true},
		{Epsilon: 1, Delta: 1e-6, Max: 3, CountShare: 0.3, Clip: 5, Others: true, Relation: budget.Replace},
	} {
		p = p.normal()
		c, err := p.sizes()
		require.NoError(t, err)
		keys, counts, values := 1.0, float64(p.Clip+1), float64(p.Clip)
		sigma := 4.22511
		if p.Relation == budget.Replace {
			keys, counts, values = 2, 2*counts, 4*values
			sigma *= math.Sqrt2 // GaussianSigma is linear in the sensitivity
		}
		beside := 0.0
		for _, part := range [][2]float64{{counts, c.count}, {values, c.value}, {othersLimit * othersLimit, c.others}} {
			if part[1] > 0 {
				beside += part[0] / math.Pow(part[1]/unit, 2)
			}
		}
		require.InDelta(t, beside, c.beside, 1e-9*beside)
		require.GreaterOrEqual(t, c.beside, beside)
		total := beside + keys/math.Pow(c.weight/unit, 2)
		require.LessOrEqual(t, total, keys/(sigma*sigma)*(1+1e-4))
		require.Greater(t, total, keys/(sigma*sigma)*(1-2e-2))
	}
}
