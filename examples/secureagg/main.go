// Command secureagg simulates parties that release the sum of their numbers though they trust
// nobody with it.
//
//	secureagg [flags]
//
// Every party rounds its number to a lattice, at random so that the mean is right, adds its share
// of the noise, and sends the result under a mask: uniform words, one for each other party, which
// the other adds where this one subtracts. The server sees words that are uniform, and their sum,
// in which the masks cancel. So it learns the sum with the noise of one trusted party, not with
// that of every party, although no one ever held the sum without it.
//
// Some parties may drop out before they send: the noise is calibrated for those who stay. (Real
// protocols recover the masks of the others; here they are known.) The program compares the error
// with that of Laplace noise shared likewise, and with local noise, where every party protects its
// own number. It exits with 0, 1 when writing failed, or 2 for a wrong flag or parameter.
//
// Masks here are words of 64 bits; examples/prio3 has a protocol in a prime field.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/noise"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	epsilon        float64
	parties        int
	missing, drops int
	rounds         int
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("secureagg", flag.ContinueOnError)
	flags.Float64Var(&opts.epsilon, "epsilon", 6, "privacy parameter `ε`")
	flags.IntVar(&opts.parties, "n", 200, "`number` of parties, each with a number in [0, 1]")
	flags.IntVar(&opts.missing, "missing", 20, "`parties` that may drop out or collude with the server")
	flags.IntVar(&opts.drops, "drops", 10, "`parties` that do drop out")
	flags.IntVar(&opts.rounds, "rounds", 50, "repeat the release this `number` of times, to measure the error")
	return flags
}

// Check leaves ε to the mechanism.
func (opts *options) Check() error {
	switch {
	case opts.parties < 1 || opts.parties > 10_000:
		return fmt.Errorf("-n = %d: want a number in [1, 10000]", opts.parties)
	case opts.missing < 0 || opts.missing >= opts.parties:
		return fmt.Errorf("-missing = %d: want a number in [0, n)", opts.missing)
	case opts.drops < 0 || opts.drops > opts.missing:
		return fmt.Errorf("-drops = %d: want at most -missing, %d: with fewer shares the sum would not be private", opts.drops, opts.missing)
	case opts.rounds < 1 || opts.rounds > 100_000:
		return fmt.Errorf("-rounds = %d: want a number in [1, 100000]", opts.rounds)
	}
	return nil
}

// Run simulates all rounds.
func (opts *options) Run(out io.Writer) error {
	r, err := simulate(*opts)
	if err != nil {
		return cli.Usage(err)
	}
	_, err = io.WriteString(out, r.text(*opts))
	return err
}

// result is what the rounds gave.
type result struct {
	last   *arete.Value
	truth  float64 // the sum of those who stayed
	law    *arete.Lattice
	errors [3]float64 // mean absolute errors: here, shared Laplace noise, local noise
	stdErr [3]float64 // of these
	theory [3]float64 // and what they should be
}

// simulate runs all rounds: the numbers are public here, drawn by a generator of no secrecy.
func simulate(opts options) (*result, error) {
	m, err := arete.New(arete.Params{Epsilon: opts.epsilon, Sensitivity: 1, Parties: opts.parties})
	if err != nil {
		return nil, err
	}
	laplace, err := arete.New(arete.Params{Epsilon: opts.epsilon, Sensitivity: 1, Parties: opts.parties, Law: arete.DiscreteLaplace})
	if err != nil {
		return nil, err
	}
	local, err := noise.NewLaplace(1 / opts.epsilon)
	if err != nil {
		return nil, err
	}
	numbers, random := make([]float64, opts.parties), rand.New(rand.NewPCG(1, 2)) // always the same
	for i := range numbers {
		numbers[i] = random.Float64()
	}
	present := numbers[opts.drops:]
	r := &result{law: m.Lattice()}
	for _, x := range present {
		r.truth += x
	}
	ours, err := newParties(m, opts)
	if err != nil {
		return nil, err
	}
	theirs, err := newParties(laplace, opts)
	if err != nil {
		return nil, err
	}
	var src noise.Source
	var squares [3]float64
	rounds := float64(opts.rounds)
	for range opts.rounds {
		if r.last, err = ours.aggregate(present); err != nil {
			return nil, err
		}
		other, err := theirs.aggregate(present)
		if err != nil {
			return nil, err
		}
		alone := 0.0
		for _, x := range present {
			alone += x + local.Sample(&src, 0x1p-30)
		}
		for i, estimate := range []float64{r.last.Estimate(), other.Estimate(), alone} {
			off := math.Abs(estimate - r.truth)
			r.errors[i] += off / rounds
			squares[i] += off * off / rounds
		}
	}
	for i, mean := range r.errors {
		r.stdErr[i] = math.Sqrt(max(squares[i]-mean*mean, 0) / rounds)
	}
	spare := float64(len(present)) / float64(opts.parties-opts.missing)
	r.theory = [3]float64{
		bound(m.Lattice(), spare, len(present)),
		bound(laplace.Lattice(), spare, len(present)),
		math.Sqrt(2/math.Pi*2*float64(len(present))) / opts.epsilon, // nearly normal
	}
	return r, nil
}

// bound is an upper bound on the mean absolute error of a sum: E|Z| grows no faster than the number
// of shares, and each of n roundings has a variance of at most a quarter.
func bound(l *arete.Lattice, spare float64, n int) float64 {
	return (l.MeanAbs()*spare + math.Sqrt(float64(n))/2) * l.Step()
}

// parties are all parties with their shares of the noise.
type parties []*arete.Share

func newParties(m *arete.Mechanism, opts options) (parties, error) {
	all := make(parties, opts.parties)
	for i := range all {
		var err error
		if i > 0 && i >= opts.parties-opts.drops {
			break // these drop out
		}
		if all[i], err = m.Share(opts.parties, opts.missing); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// aggregate is one round among those who are present: masked words, and their sum modulo 2⁶⁴.
func (all parties) aggregate(numbers []float64) (*arete.Value, error) {
	words := make([]uint64, len(numbers))
	var masks noise.Source // stands for the keys that each two parties have in common
	for i, x := range numbers {
		words[i] += uint64(all[i].Mask(x))
		for j := range i {
			mask := masks.Uint64()
			words[i] += mask
			words[j] -= mask
		}
	}
	total := uint64(0)
	for _, word := range words { // all that the server sees
		total += word
	}
	return all[0].Sum(int64(total), len(numbers))
}

// text prints the comparison.
func (r *result) text(opts options) string {
	var b strings.Builder
	present := opts.parties - opts.drops
	fmt.Fprintf(&b, "%d parties, of whom %d may drop out or collude; %d did drop out.\n", opts.parties, opts.missing, opts.drops)
	fmt.Fprintf(&b, "Guarantee: %v; a party has one number in [0, 1]\n", r.last.Guarantee())
	fmt.Fprintf(&b, "Noise: %v on a lattice of step 1/%.0f; each party adds 1/%d of it\n\n", r.law.Params().Law, 1/r.law.Step(), opts.parties-opts.missing)
	lo, hi := r.last.Interval(0.95)
	fmt.Fprintf(&b, "Last release: %.4f, with probability 95 %% the sum is between %.4f and %.4f. It is %.4f.\n\n", r.last.Estimate(), lo, hi, r.truth)
	fmt.Fprintf(&b, "Mean absolute error of the sum of %d numbers, measured in %d rounds with its standard error, and expected:\n\n", present, opts.rounds)
	fmt.Fprintf(&b, "  %-34s %19s   %14s\n", "", "measured", "expected")
	for i, name := range []string{"shares of this noise", "shares of Laplace noise", "every party its own Laplace noise"} {
		relation := []string{"at most", "at most", "about"}[i]
		fmt.Fprintf(&b, "  %-34s %10.4f ± %6.4f   %7s %6.4f\n", name, r.errors[i], r.stdErr[i], relation, r.theory[i])
	}
	return b.String()
}
