// Command pipeline finds the frequent keys of a stream that is spread over many machines, as a pipeline of Apache Beam.
//
//	cd examples/pipeline && go run .                           the local runner, generated data
//	go run . -input 'gs://bucket/logs*' -runner dataflow …     a cluster, lines of text; see Beam's own flags with -h
//	go run . -compare                                          three ways to put shards together, measured
//
// Each shard is counted by a Misra-Gries sketch where its elements are. What travels between the machines of the pipeline is the private state
// of sums of reduced sketches, of a size that does not grow with the data; what leaves the pipeline is one release. Its threshold does not grow with the number
// of shards.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/dpsketch/dpsketch/misragries"
)

// options are the flags.
type options struct {
	elements, shards, counters int
	epsilon, delta             float64
	input                      string
	top                        int
	compare                    bool
}

func (o options) params() misragries.Params {
	return misragries.Params{Counters: o.counters, Epsilon: o.epsilon, Delta: o.delta}
}

func main() {
	o := options{}
	flag.IntVar(&o.elements, "elements", 10_000_000, "length of the generated stream")
	flag.IntVar(&o.shards, "shards", 64, "number of shards")
	flag.IntVar(&o.counters, "counters", 1024, "counters of each sketch")
	flag.Float64Var(&o.epsilon, "epsilon", 1, "ε")
	flag.Float64Var(&o.delta, "delta", 1e-9, "δ")
	flag.StringVar(&o.input, "input", "", "files of lines instead of the generated stream; a pattern")
	flag.IntVar(&o.top, "top", 10, "how many keys to print")
	flag.BoolVar(&o.compare, "compare", false, "measure ways to put shards together, without Beam")
	flag.Parse()
	beam.Init()
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, stdout io.Writer) error {
	if o.compare {
		return compare(o, stdout)
	}
	if o.shards < 1 || o.elements < 0 {
		return fmt.Errorf("%d elements over %d shards: want at least 0 over 1", o.elements, o.shards)
	}
	if _, err := misragries.NewSum[string](o.params()); err != nil { // here, not on a worker
		return err
	}
	p, scope := beam.NewPipelineWithRoot()
	var elements beam.PCollection
	if o.input != "" {
		elements = beam.ParDo(scope, &spreadFn{Shards: o.shards}, textio.Read(scope, o.input))
	} else {
		elements = generated(scope, o)
	}
	beam.ParDo0(scope, &printFn{Top: o.top}, FrequentKeys(scope, o.params(), elements))
	output = stdout
	return execute(ctx, p)
}

// execute runs the pipeline within this process, unless a flag names another runner.
func execute(ctx context.Context, p *beam.Pipeline) error {
	if f := flag.Lookup("runner"); f != nil && f.Value.String() != "" && f.Value.String() != f.DefValue {
		return beamx.Run(ctx, p)
	}
	slog.SetLogLoggerLevel(slog.LevelWarn)
	_, err := prism.Execute(ctx, p)
	return err
}

// output is where printFn prints; it works where the pipeline runs in this process, else on the worker's standard output.
var output io.Writer = os.Stdout

// printFn prints a release.
type printFn struct{ Top int }

func (f *printFn) ProcessElement(encoded []byte) error {
	var h misragries.Histogram[string]
	if err := h.UnmarshalBinary(encoded); err != nil {
		return err
	}
	fmt.Fprintf(output, "%v\n", &h)
	for i, k := range top(&h, f.Top) {
		lo, hi := h.Interval(k.Key, 0.95)
		fmt.Fprintf(output, "%3d  %-24s %12.1f   at least %.0f", i+1, k.Key, k.Estimate, lo)
		if hi < 1e18 {
			fmt.Fprintf(output, ", at most %.0f", hi)
		}
		fmt.Fprintln(output)
	}
	return nil
}

func init() {
	register.DoFn1x1[[]byte, error](&printFn{})
	register.DoFn2x0[string, func(int, string)](&spreadFn{})
	register.DoFn2x0[int, func(int, string)](&generateFn{})
	register.Emitter2[int, string]()
	register.Combiner3[*accumulator, string, []byte](&shardFn{})
	register.Combiner3[*accumulator, []byte, []byte](&totalFn{})
	register.Function2x1(dropShard)
}
