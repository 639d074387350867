package main

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/kjv"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/kor"
)

func program(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, &out, &errs)
	return code, out.String(), errs.String()
}

func TestProgram(t *testing.T) {
	code, out, errs := program()
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, want := range []string{"A is Genesis, B is Exodus", "2-DP under AddRemove", "95 % interval", "\n  A∪B ", "\n  A∩B ", "\n  A∆B ", "\n  A∖B ", "\n  B∖A "} {
		if !strings.Contains(out, want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
	code, out, _ = program("-a", "matthew", "-b", "LUKE", "-share", "0", "-cells", "64", "-levels", "5", "-epsilon", "0.1", "-confidence", "0.5")
	if code != 0 || !strings.Contains(out, "A is Matthew, B is Luke") || !strings.Contains(out, "50 % interval") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{
		{"-epsilon", "0"}, {"-epsilon", "NaN"}, {"-cells", "0"}, {"-levels", "65"}, {"-share", "1"}, {"-confidence", "1"}, {"-a", "Nobody"}, {"-b", ""},
		{"file"}, {"-nonsense"},
	} {
		if code, out, errs := program(args...); code != 2 || out != "" || errs == "" {
			t.Errorf("%q: exit code %d, printed %q and %q", args, code, out, errs)
		}
	}
	if code, _, errs := program("-h"); code != 0 || !strings.Contains(errs, "-epsilon") {
		t.Errorf("-h: exit code %d, printed %q", code, errs)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken") }

func TestBrokenOutput(t *testing.T) {
	if code := run(nil, broken{}, broken{}); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

// The verses of the books are those of the text, and their words what they are known to be: the books begin and end with them.
func TestBooks(t *testing.T) {
	text, err := kjv.Load()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, b := range books {
		total += b.verses
	}
	if total != 31102 {
		t.Errorf("%d verses", total)
	}
	starts := map[int]string{0: "in the beginning god", 1533: "now these are the", 31102 - 404: "the revelation of jesus"}
	verse := 0
	for words := range text.Verses() {
		if want := starts[verse]; want != "" && !strings.HasPrefix(strings.Join(words, " "), want) {
			t.Errorf("verse %d begins %q", verse, words)
		}
		verse++
	}
	genesis, exodus := words(text, books[0]), words(text, books[1])
	if !genesis["rebekah"] || genesis["sinai"] || !exodus["sinai"] {
		t.Error("words in the wrong book")
	}
}

// Every estimate is within the interval of confidence 1 − 1e-9 and 8 standard errors, and so are those of sketches without counts. The errors
// are nearly normal: beyond 8 of the standard errors lies 1e-15, and for the skew of these 1e-9; 14 rows.
func TestAccuracy(t *testing.T) {
	text, err := kjv.Load()
	if err != nil {
		t.Fatal(err)
	}
	first, second := words(text, books[0]), words(text, books[1])
	for _, share := range []float64{0, 0.1} {
		p := kor.Params{Epsilon: 2, Cells: 4096, Levels: 12, Seed: hashing.NewSeed(), CountShare: share}
		a, err := party(p, first)
		if err != nil {
			t.Fatal(err)
		}
		b, err := party(p, second)
		if err != nil {
			t.Fatal(err)
		}
		r, err := compare(a, b)
		if err != nil {
			t.Fatal(err)
		}
		r.tell(first, second)
		for _, row := range r.rows {
			truth := float64(row.truth)
			lo, hi := row.size.Interval(1 - 1e-9)
			count := row.name == "A" || row.name == "B" // of Laplace noise, of which 8 standard errors are e^{−11}
			if truth < lo || truth > hi || !count && math.Abs(row.size.Estimate()-truth) > 8*row.size.StdErr() {
				t.Errorf("share %v, %s: %v ± %v in [%v, %v], truth %v", share, row.name, row.size.Estimate(), row.size.StdErr(), lo, hi, truth)
			}
		}
	}
	if _, err := compare(nil, nil); !errors.Is(err, kor.ErrFormat) {
		t.Error(err)
	}
}
