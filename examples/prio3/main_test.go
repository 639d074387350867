package main

import (
	"testing"

	"github.com/cloudflare/circl/vdaf/prio3/sum"

	"github.com/dpsketch/dpsketch/arete"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// Sums through the VDAF are those of the numbers with the noise of the two aggregators: within 60
// scales of 10 each but for 2·e^−59 a run. Of three zeros half are not positive, and those below 0
// come out as such: fewer than 10 of 200 have probability e^−81 (Hoeffding; a sum of two discrete
// Laplace variables of scale 10 is below 0 with probability .48).
func TestNegativeSumsThroughTheVDAF(t *testing.T) {
	negative := 0
	for range 200 {
		v := cli.Must(release([]uint64{0, 0, 0}))
		if x := v.Estimate(); x < -1200 || x > 1200 {
			t.Fatalf("a sum of %v", x)
		} else if x < 0 {
			negative++
		}
	}
	clitest.Not(t, negative < 10, "%d of 200 sums are negative", negative)
	v := cli.Must(release([]uint64{10, 3, 7}))
	if lo, hi := v.Interval(1 - 1e-12); !(lo <= 20 && 20 <= hi) {
		t.Errorf("20 is not in [%v, %v]", lo, hi)
	}
	if s := v.Guarantee().String(); s != "ε = 1 for one party, replaced" {
		t.Error(s)
	}
	if _, err := release([]uint64{11}); err == nil {
		t.Error("a number out of range was taken")
	}
}

// With noise that is known, the sum through the VDAF is exact: −5 is −5. So it is not with words
// modulo 2⁶⁴, of which the field refuses the small negative ones.
func TestKnownNoise(t *testing.T) {
	vdaf := cli.Must(sum.New(aggregators, most, []byte("test")))
	share := func(p arete.Params) *arete.Share {
		m := cli.Must(arete.New(p))
		s := cli.Must(m.Share(aggregators, 1))
		return s
	}
	total := func(words ...uint64) uint64 {
		totals := []sum.AggShare{vdaf.AggregateInit(), vdaf.AggregateInit()}
		for _, x := range []uint64{1, 2, 3} {
			cli.OK(report(vdaf, new(sum.VerifyKey), totals, x))
		}
		for i, word := range words {
			cli.OK(addNoise(vdaf, &totals[i], word))
		}
		n := cli.Must(vdaf.Unshard(totals, 3))
		return *n
	}
	word := total(prime-7, prime-4) // 6 − 7 − 4
	v, err := share(params()).Sum(int64(word), aggregators)
	clitest.Not(t, err != nil || v.Estimate() != -5, "%v %v", v, err)
	plain := params()
	plain.Modulus = 0
	if v, err = share(plain).Sum(int64(word), aggregators); err != nil || v.Estimate() != -4294967300 {
		t.Errorf("%v %v without the Modulus", v, err)
	}
	words := []int64{-7, -4}
	for i := range words {
		if err := addNoise(vdaf, &[]sum.AggShare{vdaf.AggregateInit()}[0], uint64(words[i])); err == nil {
			t.Errorf("%d modulo 2⁶⁴ is taken for an element of the field", words[i])
		}
	}
}
