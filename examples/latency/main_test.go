package main

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// The largest endpoints are shown, nearly all percentiles lie where they are said to, p99 of small
// ones is unknown, and the picture is well-formed. The noise is always the same.
func TestRun(t *testing.T) {
	clitest.Seed(t)
	name := filepath.Join(t.TempDir(), "latency.svg")
	var out, errs strings.Builder
	require.Zero(t, cli.Run(new(options), []string{"-users", "20000", "-top", "100", "-svg", name}, &out, &errs), errs.String())
	text := out.String()
	require.Contains(t, text, "/endpoint/0 ")
	require.Contains(t, text, "p99 unknown")
	require.Greater(t, strings.Count(text, "\n"), 50)
	svg, err := os.ReadFile(name)
	require.NoError(t, err)
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	require.Greater(t, strings.Count(string(svg), "<circle"), 15)
}

// Percentiles of every endpoint that is shown are within their intervals but for a few in a
// hundred: one value of each user, and those of all requests, are nearly the same here.
func TestIntervals(t *testing.T) {
	clitest.Seed(t)
	var out strings.Builder
	opts := &options{users: 20_000, top: 1000, epsilon: 1, delta: 1e-6, seed: 3}
	require.NoError(t, opts.Run(&out))
	inside, all := 0, 0
	for _, l := range opts.lines {
		for _, p := range l.at {
			all++
			if p.low <= p.truth && p.truth <= p.high {
				inside++
			}
		}
	}
	require.Greater(t, all, 150)
	require.GreaterOrEqual(t, float64(inside), 0.93*float64(all))
}

func TestWrongFlags(t *testing.T) {
	for _, args := range [][]string{{"-users", "0"}, {"-epsilon", "0"}, {"-delta", "2"}} {
		require.Equal(t, 2, cli.Run(new(options), args, io.Discard, io.Discard), "%v", args)
	}
}
