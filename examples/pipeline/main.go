// Command pipeline finds the frequent keys of a stream that is spread over many machines, and
// counts the distinct ones, as a pipeline of Apache Beam.
//
//	cd examples/pipeline && go run .                        the local runner, generated data, both answers under one budget
//	go run . -count distinct -epsilon 0.5 -error 0.02       one answer; all of the budget is its
//	go run . -input 'gs://bucket/logs*' -output gs://bucket/answer.txt -runner dataflow …
//	                                                        a cluster, lines of text; see Beam's own flags with -h
//	go run . -compare                                       ways to put shards together, measured
//
// Each shard is sketched where its elements are: by a Misra-Gries sketch for the frequent keys
// (package misragries, frequent.go), by a pre-sampled sketch for the distinct ones (package kor,
// distinct.go). What travels between the machines of the pipeline is private state, of a size that
// does not grow with the data: the sums of reduced Misra-Gries sketches, and the table of a
// kor.StreamBuilder, which takes duplicates, within a shard and across shards. What leaves the
// pipeline is one release of each. Neither its noise nor its threshold nor its law grows with the
// number of shards.
//
// -epsilon and -delta are for both releases together, as a budget.Ledger adds them up; -share is
// how much of ε the distinct count gets. Together they are (ε, δ)-private for one element of the
// input. The distinct count by itself is ε-private for one key with all its elements; the frequent
// keys are not, for they tell how often a key came. Runs on the same data add up too, and no ledger
// of this command knows of another run.
//
// The machines of the pipeline, and whatever it shuffles through, are trusted with the data, as
// they are trusted with the input.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
)

func main() {
	o := options{}
	flag.StringVar(&o.count, "count", "both", "what to release: frequent, distinct or both")
	flag.IntVar(&o.elements, "elements", 10_000_000, "length of the generated stream")
	flag.IntVar(&o.shards, "shards", 64, "number of shards")
	flag.IntVar(&o.counters, "counters", 1024, "counters of each sketch of frequent keys")
	flag.Float64Var(&o.relative, "error", 0.03, "relative standard error of the distinct count")
	flag.Float64Var(&o.largest, "largest", 1e9, "largest distinct count that has this error")
	flag.Float64Var(&o.epsilon, "epsilon", 1, "ε of all that is released")
	flag.Float64Var(&o.delta, "delta", 1e-9, "δ of all that is released; the distinct count needs none")
	flag.Float64Var(&o.share, "share", 0.5, "part of ε for the distinct count, if both are released")
	flag.StringVar(&o.input, "input", "", "files of lines instead of the generated stream; a pattern")
	flag.StringVar(&o.output, "output", "", "file for the answers instead of the standard output, which on a cluster is that of a worker")
	flag.IntVar(&o.top, "top", 10, "how many frequent keys to print")
	flag.Float64Var(&o.confidence, "confidence", 0.95, "confidence of the printed bounds")
	flag.BoolVar(&o.compare, "compare", false, "measure ways to put shards together, without Beam")
	flag.Parse()
	o.arguments = flag.Args()
	beam.Init()
	if err := run(context.Background(), o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, stdout io.Writer) error {
	r, err := o.releases()
	switch {
	case err != nil:
		return err
	case len(o.arguments) > 0:
		return fmt.Errorf("unexpected arguments %q", o.arguments)
	case o.compare && o.input != "":
		return errors.New("-compare measures the generated stream: it shows the truth, and takes no -input")
	case o.shards < 1 || o.elements < 0:
		return fmt.Errorf("%d elements over %d shards: want at least 0 over 1", o.elements, o.shards)
	case !(o.confidence >= 0 && o.confidence < 1):
		return fmt.Errorf("-confidence %v: want a number in [0, 1)", o.confidence)
	case o.compare:
		return compare(o, r, stdout)
	}
	p, err := build(o, r)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%v\n\n", r.ledger)
	output.to = stdout
	return execute(ctx, p)
}

// build returns the pipeline.
func build(o options, r releases) (*beam.Pipeline, error) {
	p, s := beam.NewPipelineWithRoot()
	elements := source(s, o)
	var texts []beam.PCollection
	if r.frequent != nil {
		encoded, err := FrequentKeys(s, *r.frequent, elements)
		if err != nil {
			return nil, err
		}
		texts = append(texts, beam.ParDo(s, &frequentTextFn{o.top, o.confidence}, encoded))
	}
	if r.distinct != nil {
		encoded, err := DistinctKeys(s, *r.distinct, elements)
		if err != nil {
			return nil, err
		}
		texts = append(texts, beam.ParDo(s, &distinctTextFn{o.confidence}, encoded))
	}
	if all := beam.Flatten(s, texts...); o.output != "" {
		textio.Write(s, o.output, all)
	} else {
		beam.ParDo0(s, &printFn{}, all)
	}
	return p, nil
}

// execute runs the pipeline within this process, unless a flag names another runner.
func execute(ctx context.Context, p *beam.Pipeline) error {
	if f := flag.Lookup("runner"); f != nil && f.Value.String() != "" && f.Value.String() != f.DefValue {
		return beamx.Run(ctx, p)
	}
	log.SetupLogging("warn", "text")
	_, err := prism.Execute(ctx, p)
	return err
}
