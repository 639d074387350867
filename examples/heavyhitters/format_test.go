package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

func TestGrouped(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 789684: "789,684", 1234567: "1,234,567",
		-1: "-1", -999: "-999", -1000: "-1,000", 0.4: "0", -0.4: "0", 999.6: "1,000",
		math.Inf(1): "+Inf", math.Inf(-1): "-Inf",
	} {
		if got := grouped(x); got != want {
			t.Errorf("%v: got %q, want %q", x, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	long := strings.Repeat("é", maxShown)
	for key, want := range map[string]string{
		"king's":    "king's",
		"日本":        "日本",
		"a\x1b[2Jb": `"a\x1b[2Jb"`,
		"a\tb":      `"a\tb"`,
		"\xff":      `"\xff"`,
		long:        long,
		long + "é":  long[:2*(maxShown-1)] + "…",
	} {
		if got := printable(key); got != want {
			t.Errorf("%q: got %q, want %q", key, got, want)
		}
	}
}

func TestProgress(t *testing.T) {
	if p := newProgress(new(bytes.Buffer)); p != nil {
		t.Error("a buffer counts as a terminal")
	}
	var none *progress
	none.update(progressLines, 1)
	none.clear()

	var terminal bytes.Buffer
	start := time.Now().Add(-time.Second)
	p := &progress{w: &terminal, start: start, next: time.Now().Add(time.Hour)}
	for range progressLines {
		p.update(1, 1)
	}
	p.clear()
	if terminal.Len() != 0 {
		t.Errorf("a short input shows %q", &terminal)
	}
	p.next = start
	for range progressLines {
		p.update(1_000_000, 1)
	}
	p.clear()
	got := terminal.String()
	if strings.Count(got, "1,000,000 lines") != 1 || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("a long input shows %q", got)
	}
}
