// Package estimates shows what the readings of a Misra-Gries release are off by, on baskets with
// seasons.
//
//	evidence estimates [flags]
//
// The first table counts the baskets as one stream, in their order, and deals the elements to
// several sketches, at random or in blocks of time, whose sum it releases: the mean error of Lower
// (the estimate of the paper) and of Estimate over the released keys, and in brackets over those of
// the ten most frequent that are released. The second table is of sums of sketches alone: how many
// keys the methods of a Sum show, and a Combine, and how far they are off. At the end are the most
// frequent words of the King James Bible.
//
// The baskets are generated, from what sets/NAME.txt knows of public sets of baskets: how much each
// of several hundred articles and groups of articles sold in each of 16 to 512 blocks of time. Flag
// -data takes a file of baskets instead.
//
// The exit code is 0, 1 when reading or writing failed, or 2 for a wrong flag or parameter.
package estimates

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/misragries"
)

// Main runs the command on the command line.
func Main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	sets, data        string
	baskets, releases int
	seed              uint64
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("estimates", flag.ContinueOnError)
	flags.StringVar(&opts.sets, "sets", "retail,bms1,bms2,t10,kosarak", "`names` of the sets that baskets are generated after")
	flags.StringVar(&opts.data, "data", "", "`file` of baskets in the place of generated ones: numbers, a line each basket")
	flags.IntVar(&opts.baskets, "baskets", math.MaxInt, "`number` of baskets of the file, from its beginning")
	flags.IntVar(&opts.releases, "releases", 20, "`number` of streams that errors are averaged over")
	flags.Uint64Var(&opts.seed, "seed", 1, "of the baskets and how they are dealt; the noise is fresh each time")
	return flags
}

func (opts *options) Check() error {
	switch {
	case opts.releases < 1 || opts.releases > 10_000:
		return fmt.Errorf("-releases = %d: want 1 to 10000", opts.releases)
	case opts.baskets < 1:
		return fmt.Errorf("-baskets = %d: want 1 or more", opts.baskets)
	}
	return nil
}

// set is a stream with a name, or many that are drawn alike.
type set struct {
	name   string
	stream func(seed uint64) []uint64
}

// load returns what the tables are about.
func (opts *options) load() ([]set, error) {
	if opts.data != "" {
		stream, err := read(opts.data, opts.baskets)
		if err == nil && len(stream) < slots {
			err = fmt.Errorf("%s: %d elements, want %d or more", opts.data, len(stream), slots)
		}
		return []set{{"file", func(uint64) []uint64 { return stream }}}, err
	}
	var list []set
	for name := range strings.SplitSeq(opts.sets, ",") {
		a, err := load(name)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("-sets: %w", err))
		}
		list = append(list, set{name, a.draw})
	}
	return list, nil
}

// row is a line of a table: one stream if sketches is 1, else their sum.
type row struct {
	k, sketches int
	blocks      bool              // of time; else at random
	method      misragries.Method // of the sum; 0 for what NewSum chooses
	averages
}

func rows() (one, sums []*row) {
	for _, k := range []int{64, 256, 1024, 4096} {
		one = append(one, &row{k: k, sketches: 1})
	}
	for _, k := range []int{256, 1024} {
		sums = append(sums, &row{k: k, sketches: 8}, &row{k: k, sketches: 64}, &row{k: k, sketches: 64, blocks: true})
	}
	return one, sums
}

// Run prints the tables.
func (opts *options) Run(out io.Writer) error {
	sets, err := opts.load()
	if err != nil {
		return err
	}
	w := &printer{out: out}
	w.print("Mean |error| of the released keys [of the true top 10], ε = 1, δ = 1e-6\n\n%-8s %8s %6s %4s %-6s %8s %6s %15s %15s\n",
		"baskets", "elements", "k", "M", "dealt", "n/(k+1)", "shown", "Lower", "Estimate")
	for _, s := range sets {
		one, sums := rows()
		n := 0
		for release := range opts.releases {
			progress("%s: stream %d of %d ", s.name, release+1, opts.releases)
			stream := s.stream(opts.seed + uint64(release))
			truth := count(stream)
			heavy := top(truth, 10)
			for _, r := range slices.Concat(one, sums) {
				for _, h := range r.release(stream, opts.seed+uint64(release)) {
					r.add(h, truth, heavy)
				}
			}
			n += len(stream)
		}
		n /= opts.releases
		progress("")
		for _, r := range slices.Concat(one, sums) {
			w.print("%-8s %8d %6d %4d %-6s %8.0f %6.0f %15s %15s\n", s.name, n, r.k, r.sketches, r.dealt(), float64(n)/float64(r.k+1), r.shown/float64(r.releases), r.cell(lower), r.cell(best))
		}
	}
	opts.sums(w, sets)
	if opts.data == "" {
		words(w)
	}
	return w.err
}

// dealt says how the elements came to the sketches.
func (r *row) dealt() string {
	switch {
	case r.sketches == 1:
		return ""
	case r.blocks:
		return "blocks"
	}
	return "random"
}

// noises is how often the sketch of one stream is released: all its keys share a part of the noise,
// which is most of the error where nothing is lost, so its mean needs more draws than the stream.
// Each release costs its ε, so this is for measuring alone.
const noises = 20

// progress writes a line over the last one, where somebody sees it.
func progress(format string, args ...any) {
	if cli.Terminal(os.Stderr) {
		fmt.Fprintf(os.Stderr, "\r\x1b[K"+format, args...)
	}
}

// release returns releases of the stream, by as many sketches.
func (r *row) release(stream []uint64, seed uint64) []*misragries.Histogram[uint64] {
	list := r.deal(stream, seed)
	if r.sketches == 1 {
		return releases(list[0], r.params())
	}
	sum := cli.Must(misragries.NewSum[uint64](r.params()))
	for _, b := range list {
		cli.OK(sum.Add(b))
	}
	return []*misragries.Histogram[uint64]{cli.Must(sum.Release())}
}

func (r *row) params() misragries.Params {
	return misragries.Params{Counters: r.k, Epsilon: 1, Delta: 1e-6, Method: r.method}
}

// deal returns the sketches of the stream.
func (r *row) deal(stream []uint64, seed uint64) []*misragries.Builder[uint64] {
	list := make([]*misragries.Builder[uint64], r.sketches)
	for i := range list {
		list[i] = cli.Must(misragries.New[uint64](r.params()))
	}
	if r.sketches == 1 {
		list[0].AddSlice(stream)
		return list
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	for i, key := range stream {
		at := i * r.sketches / len(stream)
		if !r.blocks {
			at = rng.IntN(r.sketches)
		}
		list[at].Add(key)
	}
	return list
}

// releases returns releases of the Builder that differ in their noise.
func releases(b *misragries.Builder[uint64], p misragries.Params) []*misragries.Histogram[uint64] {
	state := cli.Must(b.AppendPrivateState(nil))
	list := make([]*misragries.Histogram[uint64], noises)
	for i := range list {
		again := cli.Must(misragries.New[uint64](p))
		cli.OK(again.RestorePrivateState(state))
		list[i] = cli.Must(again.Release())
	}
	return list
}

// words prints the words that `go run ./examples/heavyhitters` begins with, by its Params.
func words(w *printer) {
	stream := slices.Collect(cli.Must(kjv.Load()).Tokens())
	truth := count(stream)
	b := cli.Must(misragries.New[string](misragries.Params{Counters: 1024, Epsilon: 1, Delta: 1e-9}))
	b.AddSlice(stream)
	h := cli.Must(b.Release())
	w.print("\nThe most frequent words of the King James Bible, k = 1024, ε = 1, δ = 1e-9\n\n%-8s %9s %9s %9s\n", "word", "true", "Lower", "Estimate")
	for word, estimate := range h.Top(10) {
		w.print("%-8s %9.0f %9.0f %9.0f\n", word, truth[word], h.Lower(word), estimate)
	}
}

// count returns the true counts.
func count[K hashing.Key](stream []K) map[K]float64 {
	truth := map[K]float64{}
	for _, key := range stream {
		truth[key]++
	}
	return truth
}

// printer prints until the first error.
type printer struct {
	out io.Writer
	err error
}

func (w *printer) print(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}
