package main

import (
	"bytes"
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Small tables run, and say that two passes are better than none.
func TestTables(t *testing.T) {
	var out, progress bytes.Buffer
	require.Zero(t, run(context.Background(), []string{"-tables", "A,C,binary,speed", "-runs", "1", "-scale", "32", "-baselines"}, &out, &progress), progress.String())
	for _, want := range []string{"Gaussian A", "Gaussian C", "Binary, α = 0.25", "Binary, α = 0.75", "Speed", "published IOME", "IOME"} {
		require.Contains(t, out.String(), want)
	}
	require.Contains(t, progress.String(), "release 1 of ")
	require.NotContains(t, out.String(), "NaN")
}

// The table of the text has the methods in the order that theory says.
func TestTextTable(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	var out, progress bytes.Buffer
	require.Zero(t, run(context.Background(), []string{"-tables", "text", "-runs", "1"}, &out, &progress), progress.String())
	require.Regexp(t, regexp.MustCompile(`two passes +[12]\.\d+ +(1|0\.\d+|1\.\d+) +0\.[45]\d*`), out.String())
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"-tables", "D"}, {"-runs", "0"}, {"-scale", "0"}, {"-scale", "99"}, {"-workers", "0"}, {"x"}, {"-nonsense"}} {
		var out, errors bytes.Buffer
		require.Equal(t, 2, run(context.Background(), args, &out, &errors), strings.Join(args, " "))
		require.Empty(t, out.String())
		require.NotEmpty(t, errors.String())
	}
	require.Zero(t, run(context.Background(), []string{"-h"}, &bytes.Buffer{}, &bytes.Buffer{}))
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	require.Equal(t, 1, run(stopped, []string{"-tables", "A", "-scale", "64"}, &bytes.Buffer{}, &bytes.Buffer{}))
}
