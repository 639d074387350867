package hashing

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var bigP = big.NewInt(mersenne)

func TestFieldIsPrime(t *testing.T) { require.True(t, bigP.ProbablyPrime(20)) }

// TestMulAdd compares with math/big at random and at the limits of the stated ranges.
func TestMulAdd(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	as := []uint64{0, 1, mersenne - 1, mersenne, mersenne + 1, 1<<62 - 1}
	zs := []uint64{0, 1, 2, mersenne - 1, mersenne}
	for i := range 20_000 {
		a, z, c := rng.Uint64()>>2, rng.Uint64()>>3, rng.Uint64()>>3
		if i < 1000 {
			a, z, c = as[i%len(as)], zs[i/6%len(zs)], zs[i/30%len(zs)]
		}
		got := mulAdd(a, z, c)
		require.Less(t, got, uint64(2*mersenne))
		want := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(z))
		want.Add(want, new(big.Int).SetUint64(c)).Mod(want, bigP)
		require.Equal(t, want.Uint64(), canonical(got), "%d·%d + %d", a, z, c)
	}
}

func TestDivMod(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	check := func(x uint64) {
		quo, rem := divMod(x)
		require.Equal(t, x/mersenne, quo, "x = %d", x)
		require.Equal(t, x%mersenne, rem, "x = %d", x)
	}
	for range 10_000 {
		check(rng.Uint64() >> rng.IntN(64))
	}
	for m := range uint64(9) {
		for d := range uint64(20) {
			check(m*mersenne + d - 10)
			check(m<<61 + d - 10)
		}
	}
}

// evaluate is the definition of Polynomial.Hash in math/big.
func evaluate(h Polynomial, x uint64) uint64 {
	key := new(big.Int).SetUint64(x)
	quo, z := new(big.Int).DivMod(key, bigP, new(big.Int))
	z.Add(z, quo.Mul(quo, new(big.Int).SetUint64(h.alpha)))
	v := new(big.Int)
	for _, c := range h.coef {
		v.Mul(v, z).Add(v, new(big.Int).SetUint64(c)).Mod(v, bigP)
	}
	return v.Uint64()
}

func FuzzPolynomial(f *testing.F) {
	f.Add([]byte("seed"), uint64(1<<61), 5, uint64(1000))
	f.Add([]byte{}, uint64(mersenne), 2, uint64(1))
	f.Add([]byte("x"), uint64(1<<64-1), 1024, uint64(1<<64-1))
	f.Fuzz(func(t *testing.T, s []byte, x uint64, k int, n uint64) {
		var seed Seed
		copy(seed[:], s)
		h, err := NewPolynomial(seed, k)
		if (err == nil) != (k >= 2 && k <= MaxIndependence) {
			t.Fatalf("k = %d: %v", k, err)
		}
		if err != nil {
			return
		}
		v := h.Hash(x)
		if want := evaluate(h, x); v != want || v >= mersenne {
			t.Fatalf("Hash(%d) = %d, want %d", x, v, want)
		}
		product := new(big.Int).Mul(new(big.Int).SetUint64(v), new(big.Int).SetUint64(n))
		if got := h.Into(x, n); got != product.Rsh(product, 61).Uint64() || n > 0 && got >= n {
			t.Fatalf("Into(%d, %d) = %d", x, n, got)
		}
		if h.Sign(x) != 1-2*int(v%2) {
			t.Fatal("sign")
		}
	})
}

// TestKWise shows that the values at k keys can be anything: for random distinct keys and random
// targets it interpolates coefficients in math/big, and the code under test hits all targets.
// Coefficients and k-tuples of values are equally many, so each k-tuple has exactly one polynomial,
// which is k-wise independence.
func TestKWise(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for k := 1; k <= 12; k++ {
		h := Polynomial{alpha: rng.Uint64N(mersenne), coef: make([]uint64, k)}
		keys, images, targets := make([]uint64, k), make([]*big.Int, k), make([]*big.Int, k)
		for i := range keys {
			keys[i] = rng.Uint64()
			if k%2 == 0 {
				keys[i] = rng.Uint64N(mersenne)
			}
			// The image in the field, read off the polynomial z.
			images[i] = new(big.Int).SetUint64(Polynomial{h.alpha, []uint64{1, 0}}.Hash(keys[i]))
			targets[i] = new(big.Int).SetUint64(rng.Uint64N(mersenne))
		}
		for i, c := range interpolate(images, targets) {
			h.coef[k-1-i] = c.Uint64()
		}
		for i, key := range keys {
			require.Equal(t, targets[i].Uint64(), h.Hash(key), "k = %d", k)
		}
	}
}

// interpolate returns c₀, c₁, … of the polynomial over the field through the points (Lagrange).
func interpolate(xs, ys []*big.Int) []*big.Int {
	sum := make([]*big.Int, len(xs))
	for i := range sum {
		sum[i] = new(big.Int)
	}
	for i := range xs {
		basis, scale := []*big.Int{big.NewInt(1)}, new(big.Int).Set(ys[i])
		for j := range xs {
			if i == j {
				continue
			}
			next := make([]*big.Int, len(basis)+1) // basis·(z − xⱼ)
			for d := range next {
				next[d] = new(big.Int)
				if d > 0 {
					next[d].Set(basis[d-1])
				}
				if d < len(basis) {
					next[d].Sub(next[d], new(big.Int).Mul(basis[d], xs[j]))
				}
				next[d].Mod(next[d], bigP)
			}
			basis = next
			inverse := new(big.Int).Sub(xs[i], xs[j])
			inverse.ModInverse(inverse.Mod(inverse, bigP), bigP)
			scale.Mul(scale, inverse).Mod(scale, bigP)
		}
		for d := range basis {
			sum[d].Add(sum[d], basis[d].Mul(basis[d], scale)).Mod(sum[d], bigP)
		}
	}
	return sum
}

// TestKeyMap: the map from keys to the field is injective for one quotient, and collides for
// exactly one α, which is found by solving, for two.
func TestKeyMap(t *testing.T) {
	image := func(alpha, x uint64) uint64 { return Polynomial{alpha, []uint64{1, 0}}.Hash(x) }
	require.Equal(t, uint64(123), image(77, 123), "keys below p are their own image")
	rng := rand.New(rand.NewPCG(13, 14))
	for range 1000 {
		x, y := rng.Uint64(), rng.Uint64()
		qx, rx := divMod(x)
		qy, ry := divMod(y)
		if qx == qy {
			alpha := rng.Uint64N(mersenne)
			require.NotEqual(t, image(alpha, x), image(alpha, y))
			continue
		}
		// rx + α·qx = ry + α·qy
		d := new(big.Int).Sub(new(big.Int).SetUint64(qx), new(big.Int).SetUint64(qy))
		alpha := new(big.Int).Sub(new(big.Int).SetUint64(ry), new(big.Int).SetUint64(rx))
		alpha.Mul(alpha, d.ModInverse(d.Mod(d, bigP), bigP)).Mod(alpha, bigP)
		require.Equal(t, image(alpha.Uint64(), x), image(alpha.Uint64(), y))
		other := rng.Uint64N(mersenne)
		require.Equal(t, other == alpha.Uint64(), image(other, x) == image(other, y))
	}
}
