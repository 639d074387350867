// Command latency finds the median, p90 and p99 of the load times of each endpoint of a web server,
// for endpoints that nobody lists, from a log in any order.
//
//	latency [flags]
//
// It makes the log: users request some of 300 endpoints, some of them often, and each endpoint has
// load times of its own. Users are protected, with all their requests: of several requests of a
// user to an endpoint one counts. Endpoints that too few users have are hidden, and percentiles
// that too few users are above are unknown. Beside each number stands the truth, which a server
// would not print. With -svg it draws the percentiles with their intervals, on a logarithmic axis.
//
// The exit code is 0, 1 when writing failed, or 2 for a wrong flag or parameter.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

func main() {
	cli.Main(new(options))
}

// options is what the command line asks for, and the command.
type options struct {
	users, top     int
	epsilon, delta float64
	seed           uint64
	svg            string

	lines []line // what was printed
}

func (opts *options) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet("latency", flag.ContinueOnError)
	flags.IntVar(&opts.users, "users", 50_000, "make a log of this `number` of users")
	flags.IntVar(&opts.top, "top", 12, "print this `number` of endpoints, those of most users")
	flags.Float64Var(&opts.epsilon, "epsilon", 1, "privacy loss `ε` for a user")
	flags.Float64Var(&opts.delta, "delta", 1e-6, "and its `δ`")
	flags.Uint64Var(&opts.seed, "seed", 1, "`seed` of the log; the noise has none")
	flags.StringVar(&opts.svg, "svg", "", "write a picture to this `file`")
	return flags
}

func (opts *options) Check() error {
	if opts.users < 1 || opts.top < 1 {
		return fmt.Errorf("-users = %d, -top = %d: want positive numbers", opts.users, opts.top)
	}
	return nil
}

// levels are the percentiles that are released.
var levels = [8]float64{0.5, 0.9, 0.99}

// request is a line of the log: private.
type request struct {
	user, endpoint int
	milliseconds   float64
}

// requests returns a log, in no order.
func requests(users int, seed uint64) (all []request) {
	const endpoints = 300
	rng := rand.New(rand.NewPCG(seed, seed))
	var place, spread, often [endpoints]float64
	total := 0.0
	for i := range endpoints {
		place[i], spread[i] = math.Log(80)+rng.NormFloat64(), 0.3+0.6*rng.Float64()
		total += 1 / float64(i+1)
		often[i] = total
	}
	for user := range users {
		for range 1 + int(6*rng.ExpFloat64()) {
			endpoint, _ := slices.BinarySearch(often[:], rng.Float64()*total)
			all = append(all, request{user, endpoint, math.Exp(place[endpoint] + spread[endpoint]*rng.NormFloat64())})
		}
	}
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func (opts *options) Run(out io.Writer) error {
	p := groupby.Params{Epsilon: opts.epsilon, Delta: opts.delta, Levels: levels, Min: 1, Max: 60_000}
	plan, err := p.Plan()
	if err != nil {
		return cli.Usage(err)
	}
	rows, err := groupby.NewRows[int, string](p)
	if err != nil {
		return cli.Usage(err)
	}
	truth := map[string][]float64{}
	for _, r := range requests(opts.users, opts.seed) {
		name := fmt.Sprintf("/endpoint/%d", r.endpoint)
		rows.AddValue(r.user, name, r.milliseconds)
		truth[name] = append(truth[name], r.milliseconds)
	}
	groups, err := rows.Release()
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%v\np50, p90 and p99 are off by about %.0f, %.0f and %.0f users; milliseconds, with what they are at 95 %%, and the truth\n",
		groups, plan.RankError[0], plan.RankError[1], plan.RankError[2]); err != nil {
		return err
	}
	opts.lines = nil
	for name, users := range groups.Top(opts.top) {
		l := line{name: name, users: users}
		slices.Sort(truth[name])
		for i, level := range levels[:len(l.at)] {
			low, high := groups.QuantileInterval(name, level, 0.95)
			l.at[i] = percentile{groups.Quantile(name, level), low, high, truth[name][int(level*float64(len(truth[name])))]}
		}
		opts.lines = append(opts.lines, l)
		if _, err := fmt.Fprintln(out, l); err != nil {
			return err
		}
	}
	if opts.svg == "" {
		return nil
	}
	return os.WriteFile(opts.svg, []byte(picture(opts.lines)), 0o666)
}

// percentile is what is released of one, and the truth.
type percentile struct{ value, low, high, truth float64 }

// line is an endpoint with its users and percentiles.
type line struct {
	name  string
	users float64
	at    [3]percentile
}

func (l line) String() string {
	text := fmt.Sprintf("%-14s %6.0f users", l.name, l.users)
	for i, p := range l.at {
		value := "unknown"
		if p.value == p.value {
			value = fmt.Sprintf("%.4g", p.value)
		}
		text += fmt.Sprintf("  p%v %s [%.4g, %.4g] (%.4g)", 100*levels[i], value, p.low, p.high, p.truth)
	}
	return text
}
