// Command prio3 has three clients report a number each through Prio3Sum, a verifiable distributed
// aggregation function (VDAF), and two aggregators add noise, so that the collector learns a
// private sum and nobody learns a number.
//
//	prio3 [numbers]
//
// A client shares its number, in 0 … 10, between the aggregators, in the field of p = 2⁶⁴ − 2³² + 1
// elements, with a proof that it is in the range. An aggregator checks the proof, sums its shares,
// and adds its [arete.Share] of the noise, whose Modulus is p, before it sends its sum to the
// collector. The noise is calibrated for one aggregator alone (Share(2, 1)): the collector may
// collude with either, and the other's noise still hides each client.
//
// The sum in the field is p − 5 for −5: [arete.Share.Sum] reads it as signed. An int64 of the word
// would be −4294967300. Words modulo 2⁶⁴ would not even add up in the field.
//
// The numbers are those of three clients, 0 by default, so that the noisy sum is below 0 in nearly
// half of all runs. The exit code is 1 where something failed.
package main

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"strconv"

	"github.com/cloudflare/circl/vdaf/prio3/sum"

	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	prime       = 1<<64 - 1<<32 + 1 // of the field of Prio3Sum
	aggregators = 2
	most        = 10 // of a client's number, checked by the proof
)

func main() {
	numbers := []uint64{0, 0, 0}
	if len(os.Args) > 1 {
		numbers = nil
	}
	for _, text := range os.Args[min(1, len(os.Args)):] {
		n, err := strconv.ParseUint(text, 10, 64)
		fail(err)
		numbers = append(numbers, n)
	}
	v, err := release(numbers)
	fail(err)
	lo, hi := v.Interval(0.95)
	fmt.Printf("sum of %d numbers: %v, with probability 95 %% in [%v, %v]\n%v\n", len(numbers), v.Estimate(), lo, hi, v.Guarantee())
}

// fail ends the program where there is an error.
func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "prio3:", err)
		os.Exit(1)
	}
}

// params are those of the noise: a client's number is replaced by another, which moves the sum by
// at most 10. On integers a step of the lattice is 1, as in the field.
func params() arete.Params {
	return arete.Params{Epsilon: 1, Sensitivity: most, Integers: true, Relation: budget.Replace, Modulus: prime}
}

// release runs the protocol of all clients, aggregators and the collector.
func release(numbers []uint64) (*arete.Value, error) {
	vdaf, err := sum.New(aggregators, most, []byte("dpsketch example"))
	if err != nil {
		return nil, err
	}
	var key sum.VerifyKey // the aggregators share it
	if _, err := rand.Read(key[:]); err != nil {
		return nil, err
	}
	totals := []sum.AggShare{vdaf.AggregateInit(), vdaf.AggregateInit()}
	for _, x := range numbers {
		if err := report(vdaf, &key, totals, x); err != nil {
			return nil, err
		}
	}
	m, err := arete.New(params())
	if err != nil {
		return nil, err
	}
	if m.Lattice().Step() != 1 {
		return nil, fmt.Errorf("the noise has a step of %v, and the numbers one of 1", m.Lattice().Step())
	}
	var share *arete.Share
	for i := range totals { // each aggregator for itself
		if share, err = m.Share(aggregators, 1); err != nil {
			return nil, err
		}
		if err := addNoise(vdaf, &totals[i], uint64(share.Noise())); err != nil {
			return nil, err
		}
	}
	total, err := vdaf.Unshard(totals, uint(len(numbers))) // the collector
	if err != nil {
		return nil, err
	}
	return share.Sum(int64(*total), aggregators)
}

// report is the report of one client: both aggregators check it and add it to their totals.
func report(vdaf *sum.Sum, key *sum.VerifyKey, totals []sum.AggShare, x uint64) error {
	params := vdaf.Params()
	random := make([]byte, params.RandSize())
	var nonce sum.Nonce
	if _, err := rand.Read(random); err != nil {
		return err
	}
	if _, err := rand.Read(nonce[:]); err != nil {
		return err
	}
	public, inputs, err := vdaf.Shard(x, &nonce, random)
	if err != nil {
		return err
	}
	var states []*sum.PrepState
	var shares []sum.PrepShare
	for i, input := range inputs {
		state, share, err := vdaf.PrepInit(key, &nonce, uint8(i), public, input)
		if err != nil {
			return err
		}
		states, shares = append(states, state), append(shares, *share)
	}
	message, err := vdaf.PrepSharesToPrep(shares)
	if err != nil {
		return err
	}
	for i, state := range states {
		out, err := vdaf.PrepNext(state, message)
		if err != nil {
			return err
		}
		vdaf.AggregateUpdate(&totals[i], out)
	}
	return nil
}

// addNoise adds an element of the field to an aggregator's total, in the encoding of the VDAF:
// eight bytes, little-endian. It refuses a word that is none of the field.
func addNoise(vdaf *sum.Sum, total *sum.AggShare, word uint64) error {
	params := vdaf.Params()
	out := new(sum.OutShare).New(&params)
	if err := out.UnmarshalBinary(binary.LittleEndian.AppendUint64(nil, word)); err != nil {
		return err
	}
	vdaf.AggregateUpdate(total, out)
	return nil
}
