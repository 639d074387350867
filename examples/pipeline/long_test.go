package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/examples/pipeline/dpbeam"
	"github.com/dpsketch/dpsketch/threshold/groupby"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

var long = flag.Bool("long", false, "run the pipeline on 10⁷ rows")

// keepFn keeps a release in a file.
type keepFn struct{ File string }

func (f *keepFn) ProcessElement(encoded []byte) error {
	if _, err := os.Stat(f.File); err == nil {
		return fmt.Errorf("a second release")
	}
	return os.WriteFile(f.File, encoded, 0o600)
}

// A GROUP BY of 10⁷ rows of 10⁶ users over 64 shards has the threshold and the noise of one
// machine, and its counts are off by as much, about the truth:
//
//	go test -run TestLong -v . -long
//
// A count has normal noise: the mean square of hundreds of shown ones is within 40 % of the
// variance, and none is beyond 8 standard deviations, each with probability below 1e-7.
func TestLongUsers(t *testing.T) {
	if !*long {
		t.Skip("only with -long")
	}
	o := small
	o.elements, o.users, o.shards, o.epsilon = 10_000_000, 1_000_000, 64, 1
	p := groupby.Params{Epsilon: 1, Delta: 1e-6, Min: 0, Max: 1000}
	file := filepath.Join(t.TempDir(), "release")
	pipeline, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &keepFn{file}, cli.Must(dpbeam.UserGroups(s, p, rows(s, o))))
	start := time.Now()
	cli.OK(execute(context.Background(), pipeline))
	took := time.Since(start)
	encoded := cli.Must(os.ReadFile(file))
	var g groupby.Groups[string]
	cli.OK(g.UnmarshalBinary(encoded))

	visits := make([][]row, o.users)
	for shard := range o.shards {
		for r := range table(shard, o.shards, o.elements, o.users) {
			visits[r.user] = append(visits[r.user], r)
		}
	}
	start = time.Now()
	single := cli.Must(groupby.New[string](p))
	counts, sums := map[string]float64{}, map[string]float64{}
	for _, user := range visits {
		values := map[string]float64{}
		for _, r := range user {
			values[fmt.Sprintf("/page/%d", r.page)] += r.value
		}
		var keys []string
		var given []float64
		for key, value := range values {
			counts[key]++
			sums[key] += min(value, p.Max)
			keys, given = append(keys, key), append(given, value)
		}
		single.AddUserValues(keys, given)
	}
	one := cli.Must(single.Release())
	t.Logf("%d rows of %d users over %d shards in %v, on one machine in %v; %d bytes", o.elements, o.users, o.shards,
		took.Round(time.Second), time.Since(start).Round(time.Second), len(encoded))

	clitest.Not(t, g.Params() != one.Params() || math.Abs(float64(g.Len()-one.Len())) > 0.1*float64(one.Len()), "%v; one machine: %v", &g, one)
	plan := cli.Must(p.Plan())
	for name, groups := range map[string]*groupby.Groups[string]{"pipeline": &g, "one machine": one} {
		square, most, missed := 0.0, 0.0, 0
		for key, estimate := range groups.All() {
			off := (estimate - counts[key]) / plan.StdDev
			square, most = square+off*off/float64(groups.Len()), max(most, math.Abs(off))
			if lo, hi := groups.SumInterval(key, 1-1e-9); sums[key] < lo || sums[key] > hi {
				missed++
			}
		}
		t.Logf("%s: threshold %.2f, %d keys, counts off by %.2f standard deviations of %.1f, at most by %.2f", name, plan.Threshold, groups.Len(),
			math.Sqrt(square), plan.StdDev, most)
		clitest.Not(t, math.Abs(square-1) > 0.4 || most > 8 || missed > 0 || groups.Len() < 300, "%s: mean square %v, at most %v, %d sums missed", name, square, most, missed)
	}
}

func init() {
	register.DoFn1x1[[]byte, error](&keepFn{})
}
