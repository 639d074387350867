package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/iotest"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/misragries"
)

// program runs the command and returns its exit code and what it printed.
func program(stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = cli.Run(&options{stdin: stdin, stderr: &errs}, args, &out, &errs)
	return code, out.String(), errs.String()
}

// released runs the command with -json and returns the estimates. It fails the test unless all went
// well.
func released(t *testing.T, stdin io.Reader, args ...string) map[string]float64 {
	t.Helper()
	code, stdout, stderr := program(stdin, append([]string{"-json"}, args...)...)
	clitest.Not(t, code != 0, "exit code %d: %s", code, stderr)
	var h misragries.Histogram[string]
	if err := json.Unmarshal([]byte(stdout), &h); err != nil {
		t.Fatal(err)
	}
	return maps.Collect(h.All())
}

// near fails the test unless the estimate of a key that lost nothing to the sketch is near its
// count. The noise at ε = 1 is the sum of two discrete Laplace variables of scale 1, which are the
// roundings of such sums by at most one each: it exceeds 60 in absolute value with probability
// below 1e-20.
func near(t *testing.T, estimates map[string]float64, key string, count float64) {
	t.Helper()
	if got, ok := estimates[key]; !ok || got < count-60 || got > count+60 {
		t.Errorf("%q: got %v, want about %v", key, got, count)
	}
}

func TestEmbeddedText(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	code, stdout, stderr := program(nil)
	clitest.Not(t, code != 0 || stderr != "", "exit code %d: %s", code, stderr)
	for _, want := range []string{
		"789,684 words of text, 12,824 of them distinct",
		"Guarantee:",
		"Threshold:",
		"true count",
		"in truth",
		"Hidden by the sketch or the threshold:",
	} {
		clitest.Not(t, !strings.Contains(stdout, want), "the output lacks %q:\n%s", want, stdout)
	}
	rows := regexp.MustCompile(`(?m)^  ([a-z']+) +([0-9,]+) +([0-9,]+) – +([0-9,]+) +([0-9,]+) +(yes|no)$`).FindAllStringSubmatch(stdout, -1)
	clitest.Not(t, len(rows) != 20, "got %d rows, want 20:\n%s", len(rows), stdout)
	// These counts are hundreds apart and more, far more than the noise moves them.
	for i, want := range []string{"the 63,919", "and 51,696", "of 34,618", "to 13,560"} {
		if got := rows[i][1] + " " + rows[i][5]; got != want {
			t.Errorf("row %d: got %s, want %s", i, got, want)
		}
	}
	// The sketch loses at most 770 of a count, and the noise exceeds 60 with a probability below
	// 1e-20 (see near). The upper end of an interval is above the estimate, as the sketch
	// decrements this text by more than 200, which the noise of that number does not make up for.
	for _, row := range rows {
		var n [4]float64 // estimate, interval, true count
		for i := range n {
			x, err := strconv.ParseFloat(strings.ReplaceAll(row[2+i], ",", ""), 64)
			clitest.Not(t, err != nil, "%v", err)
			n[i] = x
		}
		estimate, lo, hi, truth := n[0], n[1], n[2], n[3]
		covered := lo <= truth && truth <= hi
		if estimate < truth-770-61 || estimate > truth+61 || estimate < lo || estimate > hi || covered != (row[6] == "yes") {
			t.Errorf("the row %q makes no sense", row[0])
		}
	}
}

func TestTop(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	// The shared noise can push nearly all counts out of their intervals at once, so a row is one
	// with "no" too.
	rows := func(stdout string) int {
		return strings.Count(stdout, "  yes\n") + strings.Count(stdout, "  no\n")
	}
	for top, want := range map[string]int{"1": 1, "50": 50} {
		_, stdout, _ := program(nil, "-top", top)
		if got := rows(stdout); got != want {
			t.Errorf("-top %s prints %d rows", top, got)
		}
	}
	// 1,052 words occur 60 times or more, and the threshold is 25. To hide 53 of them takes η <
	// −20, of probability below 2e-9, or 53 times an L < −15, each of probability below 1e-6.
	_, stdout, _ := program(nil, "-top", "0", "-k", "20000")
	if got := rows(stdout); got < 1000 {
		t.Errorf("-top 0 prints %d rows", got)
	}
}

func TestLines(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	unix := strings.Repeat("b\n", 300) + strings.Repeat("a\n\nb\n", 500) + strings.Repeat("a", 1) + "\n" + "once"
	for name, input := range map[string]string{
		"LF":               unix,
		"CRLF":             strings.ReplaceAll(unix, "\n", "\r\n"),
		"LF at the end":    unix + "\n",
		"CR at the end":    unix + "\r",
		"blank at the end": unix + "\n\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := released(t, strings.NewReader(input), "-")
			near(t, got, "a", 501)
			near(t, got, "b", 800)
			// A key that occurs once is released with probability at most δ = 1e-9.
			clitest.Not(t, len(got) != 2, "got %v, want a and b", got)
		})
	}
}

func TestFile(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, []byte(strings.Repeat("x y\n", 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	near(t, released(t, nil, name), "x y", 1000)
	code, stdout, stderr := program(nil, name) // the length of the stream is private
	if code != 0 || !strings.Contains(stdout, "x y") || strings.Contains(stdout, "true count") || strings.Contains(stdout, "1,000 lines") || !strings.Contains(stderr, "1,000 lines") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

func TestEmptyStream(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	if got := released(t, strings.NewReader(""), "-"); len(got) != 0 {
		t.Errorf("got %v from an empty stream", got)
	}
	code, stdout, stderr := program(strings.NewReader("\n\r\n"), "-")
	clitest.Not(t, code != 0 || !strings.Contains(stdout, "Released:   0 keys"), "exit code %d: %s%s", code, stdout, stderr)
}

func TestLongLines(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	most := strings.Repeat("m", maxKey)
	for _, end := range []string{"\n", "\r\n"} {
		got := released(t, strings.NewReader(strings.Repeat(most+end, 1000)), "-k", "4", "-")
		near(t, got, most, 1000)
	}
	for _, long := range []string{most + "m", most + "m\n", strings.Repeat("m", 1<<20), strings.Repeat("m", 16*maxKey) + "\n"} {
		code, stdout, stderr := program(strings.NewReader("first\n"+long), "-")
		clitest.Not(t, code != 1 || stdout != "" || stderr != "heavyhitters: line 2 is longer than 4096 bytes\n", "a line of %d bytes: exit code %d, %q, %q", len(long), code, stdout, stderr)
	}
}

// Lines dealt to several sketches: their sum counts what one sketch counts, short of what each
// server takes off, and says so.
func TestServers(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	got := released(t, strings.NewReader(strings.Repeat("a\n", 5000)+strings.Repeat("b\n", 500)), "-servers", "4", "-")
	near(t, got, "a", 5000)
	near(t, got, "b", 500)
	_, stdout, _ := program(nil, "-servers", "4", "-top", "3")
	clitest.Not(t, !strings.Contains(stdout, "Servers:    4, by TrimmedSum"), "no word of the servers:\n%s", stdout)
}

func TestUsage(t *testing.T) {
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		{"-epsilon", "0"}, {"-epsilon", "NaN"}, {"-delta", "0"}, {"-delta", "2"}, {"-servers", "0"}, {"-servers", "1001"}, {"-k", "0"}, {"-k", "9223372036854775807"},
		{"-top", "-1"}, {"-confidence", "95"}, {"one", "two"}, {"file", "-top", "3"}, {""},
	})
	clitest.BrokenOutput(t, new(options))
	clitest.BrokenOutput(t, new(options), "-json")
}

func TestInputErrors(t *testing.T) {
	for _, args := range [][]string{{filepath.Join(t.TempDir(), "absent")}, {t.TempDir()}} {
		code, stdout, stderr := program(nil, args...)
		clitest.Not(t, code != 1 || stdout != "" || strings.Count(stderr, "\n") != 1, "%q: exit code %d, %q, %q", args, code, stdout, stderr)
	}
	trouble := iotest.ErrReader(errors.New("trouble"))
	code, stdout, stderr := program(io.MultiReader(strings.NewReader(strings.Repeat("a\n", 1000)), trouble), "-")
	clitest.Not(t, code != 1 || stdout != "" || stderr != "heavyhitters: trouble\n", "a failing read: exit code %d, %q, %q", code, stdout, stderr)
}

// A key cannot disturb a terminal, or widen the table.
func TestPrintable(t *testing.T) {
	long := strings.Repeat("é", maxShown)
	for key, want := range map[string]string{
		"king's": "king's", "日本": "日本", "a\x1b[2Jb": `"a\x1b[2Jb"`, "a\tb": `"a\tb"`, "\xff": `"\xff"`, long: long, long + "é": long[:2*(maxShown-1)] + "…",
	} {
		if got := printable(key); got != want {
			t.Errorf("%q: got %q, want %q", key, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0", 999: "999", 789684: "789,684", -1000: "-1,000", -0.4: "0", 999.6: "1,000", math.Inf(1): "+Inf"} {
		if got := grouped(x); got != want {
			t.Errorf("%v: got %q, want %q", x, got, want)
		}
	}
}
