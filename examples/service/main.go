// Command service collects events over HTTP and publishes, window by window, the frequent keys
// among them with differential privacy.
//
//	go run ./examples/service -dir /var/lib/service
//
//	POST /events           JSON lines such as {"key":"/index.html"}; all of them are taken, or none, and the answer says how many
//	GET  /releases         the numbers of the windows released so far
//	GET  /releases/7       one release as JSON; as encoded bytes with Accept: application/octet-stream
//	GET  /budget           what is spent and what remains
//
// and on a second address, for the operator alone, GET /metrics: exact counts are private data.
//
// What is protected is one event. The ledger counts what somebody with an event in every window has
// spent, so the service ends when the budget does. A window's budget is spent, and written to disk,
// before the first event of the window is taken; the release is drawn when the window ends. Events
// live in memory only: a crash loses the window it falls into and its budget, and nothing of it is
// on the disk.
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
	"runtime"
	"syscall"
	"time"
)

// config is what the flags say.
type config struct {
	address, operator string
	dir               string
	window, grace     time.Duration
	shards            int
	counters          int
	epsilon, delta    float64 // of one window
	budget, slack     float64 // ε and δ of the ledger
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(program(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// parse reads the flags.
func parse(args []string, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("service", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.address, "address", "127.0.0.1:8080", "where events come in and releases go out")
	flags.StringVar(&c.operator, "operator", "127.0.0.1:8081", "where the metrics are, for the operator alone")
	flags.StringVar(&c.dir, "dir", "service-data", "folder for the budget's journal and the releases")
	flags.DurationVar(&c.window, "window", time.Minute, "length of a window")
	flags.DurationVar(&c.grace, "grace", 5*time.Second, "how long the requests under way may still take when the service ends")
	flags.IntVar(&c.shards, "shards", runtime.GOMAXPROCS(0), "builders that take events side by side")
	flags.IntVar(&c.counters, "counters", 1024, "counters of each builder")
	flags.Float64Var(&c.epsilon, "epsilon", 1, "ε of one window")
	flags.Float64Var(&c.delta, "delta", 1e-9, "δ of one window")
	flags.Float64Var(&c.budget, "budget", 100, "ε of all windows together")
	flags.Float64Var(&c.slack, "slack", 1e-6, "δ of all windows together")
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
	c, err := parse(args, stderr)
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

// serve listens, releases a window after the other, and on the way out answers the requests under
// way and releases the last window.
func serve(ctx context.Context, c config, stdout io.Writer, log *slog.Logger) error {
	s, err := open(c)
	if err != nil {
		return err
	}
	public, err := net.Listen("tcp", c.address)
	if err != nil {
		return errors.Join(err, s.close())
	}
	operator, err := net.Listen("tcp", c.operator)
	if err != nil {
		return errors.Join(err, public.Close(), s.close())
	}
	fmt.Fprintf(stdout, "events and releases: http://%s\nmetrics: http://%s\n", public.Addr(), operator.Addr())
	servers := []*http.Server{
		{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute},
		{Handler: s.metrics.handler(), ReadHeaderTimeout: 10 * time.Second},
	}
	failed := make(chan error, len(servers))
	for i, listener := range []net.Listener{public, operator} {
		go func() { failed <- servers[i].Serve(listener) }()
	}
	tick := time.NewTicker(c.window)
	defer tick.Stop()
	for err == nil {
		select {
		case <-tick.C:
			if err := s.rotate(); err != nil {
				log.Warn("window", "error", err)
			}
		case err = <-failed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	grace, cancel := context.WithTimeout(context.Background(), c.grace)
	defer cancel()
	for _, server := range servers {
		if err := server.Shutdown(grace); err != nil {
			log.Warn("requests under way are cut off", "error", err)
		}
	}
	err = errors.Join(err, s.close()) // after the last request is answered
	for _, server := range servers {
		err = errors.Join(err, server.Close())
	}
	return err
}
