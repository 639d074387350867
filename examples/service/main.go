// Command service collects events over HTTP and publishes the frequent keys among them with
// differential privacy, step by step, for as long as it runs. See -h and README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries/series"
)

const usage = `service counts events and publishes, privately: the frequent keys of any window of time, the number
of distinct users, and every day the distinct users of each key.

An event is a line of JSON: the user, the key that is counted, and a value if -min and -max say so.

    {"user":"u-4711","key":"/index.html"}
    {"user":"u-4711","key":"/index.html","value":12.5}

    curl --data-binary @events.jsonl http://127.0.0.1:8080/events

    POST /events            JSON lines, at most 4 MB: all are taken, and on the disk, or none
    GET  /                  a page with all that is published; ?steps=24 chooses the window
    GET  /windows/24        the last 24 steps: keys, estimates and intervals
    GET  /windows/100/124   steps 100 to 123
    GET  /slices/100        what was released at the end of step 100; encoded with Accept: application/octet-stream
    GET  /users             distinct users of each 168 steps, a number after each 24
    GET  /reports           the last day's report: the distinct users of each key, quantiles of values
    GET  /reports/7         the report of day 7, steps 168 to 191; encoded as slices are
    GET  /budget            what is spent on what, once for all time

and on the second address, for the operator alone, as exact counts are private:

    GET  /metrics           for Prometheus; also which share of the events counts

flags:
`

// config is what the flags say.
type config struct {
	address, operator string
	store             string
	step              time.Duration
	grace             time.Duration // how long requests under way may take when the service ends
	epsilon, delta    float64
	elements          int
	reports           float64 // share of ε and δ
	min, max          float64 // of a value; both 0: no values
	known             int
	counters          int
	published         int
}

// keys are the Params of the series.
func (c config) keys() series.Params {
	return series.Params{Epsilon: c.epsilon * (1 - usersShare - c.reports), Delta: c.delta * (1 - c.reports), Spans: [8]int{1, 4, day, week}, Discovery: [8]int{1, day, week},
		Counters: c.counters, MaxKnown: c.known, MaxElements: c.elements}
}

// users are the Params of the number of distinct users of a period. Any 168 steps meet two periods.
// The state takes 12 KB, and the error is about 1.2 % beside the noise.
func (c config) users(seed hashing.Seed) distinct.Params {
	return distinct.Params{Epsilon: c.epsilon * usersShare / 2, Cells: 4096, Levels: 24, Seed: seed}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(program(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// parse reads the flags.
func parse(args []string, stdout, stderr io.Writer) (config, error) {
	c := config{grace: 5 * time.Second}
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stdout, usage)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
	}
	flags.StringVar(&c.address, "address", "127.0.0.1:8080", "where events come in and what is published goes out")
	flags.StringVar(&c.operator, "operator", "127.0.0.1:8081", "where the metrics are, for the operator alone")
	flags.StringVar(&c.store, "store", "service.db", "the one `file` of the service: budget, private state, releases")
	flags.DurationVar(&c.step, "step", time.Hour, "length of a step")
	flags.Float64Var(&c.epsilon, "epsilon", 1, "ε of all that is ever published, for what one user does in any 168 steps")
	flags.Float64Var(&c.delta, "delta", 1e-8, "δ of all that is ever published: choose it far below one over the number of users")
	flags.IntVar(&c.elements, "elements", 10, "how many events of one user count in 168 steps, on average; half of them at once")
	flags.Float64Var(&c.reports, "reports", 0.25, "the daily reports' `share` of ε and δ, at most 0.5; 0 switches them off")
	flags.Float64Var(&c.min, "min", 0, "the smallest `value` of an event, with -max: then reports have quantiles of values")
	flags.Float64Var(&c.max, "max", 0, "the largest `value` of an event: larger ones count as this")
	flags.IntVar(&c.known, "keys", 1000, "the most keys that a step publishes")
	flags.IntVar(&c.counters, "counters", 0, "0 counts all keys exactly; else so many counters bound the memory for keys that are not known yet")
	flags.IntVar(&c.published, "published", 0, "refuse a store with fewer published `steps` than this, such as an old backup")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q", flags.Arg(0))
		fmt.Fprintln(stderr, "service:", err)
		return c, err
	}
	return c, nil
}

// program runs the service until the context ends, and returns the exit code.
func program(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stdout, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	if err := serve(ctx, c, stdout, slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
		fmt.Fprintln(stderr, "service:", err)
		return 1
	}
	return 0
}

// serve listens until the context ends, or the store fails; then it answers the requests under way.
// The events of the open step are in the store: nothing is lost or released on the way out.
func serve(ctx context.Context, c config, stdout io.Writer, log *slog.Logger) (err error) {
	s, err := open(c, time.Now())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.store.db.Close()) }()
	if err := s.catchUp(ctx, time.Now); err != nil || ctx.Err() != nil {
		return err
	}
	public, err := net.Listen("tcp", c.address)
	if err != nil {
		return err
	}
	operator, err := net.Listen("tcp", c.operator)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	fmt.Fprintf(stdout, "page and events: http://%s\nmetrics: http://%s\n", public.Addr(), operator.Addr())

	running, stop := context.WithCancel(context.Background()) // until the last request is answered
	defer stop()
	due, failed := make(chan struct{}), make(chan error, 3)
	go s.head.tick(running, s.published.steps(), due)
	go func() { failed <- s.run(running, due) }()
	servers := []*http.Server{
		{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute},
		{Handler: s.metrics.handler(), ReadHeaderTimeout: 10 * time.Second},
	}
	for i, listener := range []net.Listener{public, operator} {
		go func() { failed <- servers[i].Serve(listener) }()
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	soon, cancel := context.WithTimeout(context.Background(), c.grace)
	defer cancel()
	for _, server := range servers {
		if err := server.Shutdown(soon); err != nil {
			log.Warn("requests under way are cut off", "error", err)
			_ = server.Close()
		}
	}
	stop()
	<-s.stopped
	return err
}
