// Command pipeline counts the keys of a stream that is spread over many machines, as a pipeline of
// Apache Beam: the frequent ones, the distinct ones, those that are back on the next day, or for
// each key that some tens of users have how many have it, with the sum and the mean of their
// values.
//
//	cd examples/pipeline
//	go run .                                                local, generated data, frequent and
//	                                                        distinct keys under one budget
//	go run . -count distinct -epsilon 0.5 -error 0.02       one answer; all of the budget is its
//	go run . -count returning -before monday.txt -input tuesday.txt -journal days.journal
//	                                                        which keys are back
//	go run . -count users -delta 1e-6 -max 100              GROUP BY for users
//	go run . -count users -list countries.txt -delta 0      the same for a public list of keys
//	go run . -input 'gs://bucket/logs*' -output gs://bucket/answer.txt -journal logs.journal \
//	         -run monday -runner dataflow …                 a cluster, lines of text; Beam's flags
//	                                                        follow those of this command in -h
//
// The transforms are in package dpbeam, for pipelines of your own. Data are sketched where they
// are. What travels between the machines of the pipeline is private state; what leaves it is one
// release of each, whatever is retried. Neither its noise nor its threshold nor its law grows with
// the number of shards.
//
// -epsilon and -delta are for both releases together, as a budget.Ledger adds them up; -share is
// how much of ε the distinct count gets. Together they are (ε, δ)-private for one element of the
// input. The distinct count by itself is ε-private for one key with all its elements; the frequent
// keys are not, for they tell how often a key came. -count users is (ε, δ)-private for one user
// with all rows. Runs on the same data add up too: with -input a run is paid for from -journal
// before it begins. One that fails may have shown a number to a step that did not fail, so it
// counts as released; when it is tried again, under the same -run, it draws other noise, pays again
// and says so.
//
// The machines of the pipeline, and whatever it shuffles through, are trusted with the data, as
// they are trusted with the input.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/dpsketch/dpsketch/examples/pipeline/dpbeam"
)

func main() {
	o := new(options)
	o.register(flag.CommandLine)
	flag.Parse()
	o.arguments = flag.Args()
	log.SetupLogging("error", "text")
	beam.Init()
	if err := run(context.Background(), *o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, stdout io.Writer) error {
	r, err := o.releases()
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	p, err := build(o, r)
	if err != nil {
		return err
	}
	paid, err := o.charge(r)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%v\n%s\n", r.ledger, paid)
	output.to = stdout
	if err := execute(ctx, p); err != nil {
		return fmt.Errorf("%w: the run counts as released, as some of its numbers may have been seen", err)
	}
	return nil
}

// build returns the pipeline.
func build(o options, r releases) (*beam.Pipeline, error) {
	p, s := beam.NewPipelineWithRoot()
	texts, err := answers(s, o, r)
	if err != nil {
		return nil, err
	}
	if all := beam.Flatten(s, texts...); o.output != "" {
		textio.Write(s, o.output, all)
	} else {
		beam.ParDo0(s, &printFn{}, all)
	}
	return p, nil
}

// answers returns the texts of the releases.
func answers(s beam.Scope, o options, r releases) (texts []beam.PCollection, err error) {
	if r.users != nil {
		var encoded beam.PCollection
		if r.keys == nil {
			encoded, err = dpbeam.UserGroups(s, *r.users, rows(s, o))
		} else {
			encoded, err = dpbeam.ListedGroups(s, *r.users, r.keys, rows(s, o))
		}
		return []beam.PCollection{beam.ParDo(s, &usersTextFn{o.top, o.confidence}, encoded)}, err
	}
	elements := source(s, o)
	if o.count == "returning" {
		encoded, err := dpbeam.ReturningKeys(s, *r.distinct, earlier(s, o), elements)
		if err != nil {
			return nil, err
		}
		return []beam.PCollection{beam.ParDo(s, &returningTextFn{o.confidence}, encoded)}, nil
	}
	if r.frequent != nil {
		encoded, err := dpbeam.FrequentKeys(s, *r.frequent, elements)
		if err != nil {
			return nil, err
		}
		texts = append(texts, beam.ParDo(s, &frequentTextFn{o.top, o.confidence}, encoded))
	}
	if r.distinct != nil {
		encoded, err := dpbeam.DistinctKeys(s, *r.distinct, elements)
		if err != nil {
			return nil, err
		}
		texts = append(texts, beam.ParDo(s, &distinctTextFn{o.confidence}, encoded))
	}
	return texts, nil
}

// execute runs the pipeline on this machine, unless a flag names another runner.
func execute(ctx context.Context, p *beam.Pipeline) error {
	if f := flag.Lookup("runner"); f != nil && f.Value.String() != "" && f.Value.String() != f.DefValue {
		return beamx.Run(ctx, p)
	}
	_, err := prism.Execute(ctx, p)
	return err
}
