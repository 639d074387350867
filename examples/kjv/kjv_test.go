package kjv

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T) *Text {
	t.Helper()
	text, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The counts that the examples and their documentation rely on.
func TestCounts(t *testing.T) {
	text := load(t)
	verses, pairs, most := 0, 0, 0
	for set := range text.Baskets() {
		verses++
		pairs += len(set)
		most = max(most, len(set))
	}
	tokens := 0
	for range text.Tokens() {
		tokens++
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"verses", verses, 31_102},
		{"words", len(text.Words()), 12_824},
		{"(verse, word) pairs", pairs, 616_271},
		{"words of the longest verse", most, 53},
		{"tokens", tokens, 789_684},
		{"Len", text.Len(), 789_684},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %d, want %d", c.what, c.got, c.want)
		}
	}
}

// The digest was computed from the text that the program bible prints, by other means than this
// package: the words of a verse joined by spaces, one verse a line.
func TestDigest(t *testing.T) {
	const want = "177b53c37f6197ae1e76fd9b162764ca72e48cf13ba269dd2dd4ae1075967339"
	sum := sha256.New()
	for verse := range load(t).Verses() {
		sum.Write([]byte(strings.Join(verse, " ") + "\n"))
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		t.Errorf("the text has SHA-256 %s, want %s", got, want)
	}
}

// Tokens, Verses and Baskets are three views of one text.
func TestViewsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second: in the default run")
	}
	text := load(t)
	words := text.Words()
	if !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Error("the words are not in increasing order")
	}
	var fromVerses []string
	var sets [][]int
	for set := range text.Baskets() {
		sets = append(sets, slices.Clone(set))
	}
	for verse := range text.Verses() {
		fromVerses = append(fromVerses, verse...)
		distinct := slices.Compact(slices.Sorted(slices.Values(verse)))
		set := sets[0]
		sets = sets[1:]
		if len(set) != len(distinct) {
			t.Fatalf("a basket has %d words, its verse %d", len(set), len(distinct))
		}
		for i, w := range set {
			if words[w] != distinct[i] {
				t.Fatalf("a basket has the word %q, its verse %q", words[w], distinct[i])
			}
		}
	}
	if !slices.Equal(fromVerses, slices.Collect(text.Tokens())) {
		t.Error("the verses, joined, are not the tokens")
	}
	for range text.Tokens() {
		break // stopping early must not panic, here and below
	}
	for range text.Verses() {
		break
	}
	for range text.Baskets() {
		break
	}
}

func TestDamaged(t *testing.T) {
	for n := 0; n < len(data); n += len(data)/12 + 1 {
		if _, err := decode(data[:n]); err == nil {
			t.Errorf("the first %d bytes of the file decode", n)
		}
	}
	// Payloads that inflate, and of which exactly the first is a text: "a" twice, then "b", in
	// verses of 2 and 1.
	for i, payload := range [][]byte{
		{2, 0, 1, 'a', 2, 0, 1, 'b', 1, 2, 2, 1, 0, 0, 1},
		{2, 0, 1, 'a', 2, 0, 1, 'b', 1, 2, 2, 1, 0, 0, 1, 0}, // a byte follows
		{2, 0, 1, 'a', 2, 0, 1, 'b', 1, 2, 2, 1, 0, 0},       // a token is missing
		{2, 0, 1, 'a', 2, 0, 1, 'b', 1, 2, 2, 1, 0, 1, 1},    // b twice
		{2, 0, 1, 'a', 2, 0, 1, 'b', 1, 2, 2, 1, 0, 0, 2},    // no such rank
		{2, 0, 1, 'a', 2, 0, 1, 'b', 1, 2, 2, 2, 0, 0, 1},    // lengths exceed the tokens
		{2, 0, 1, 'a', 2, 0, 1, 'b', 1, 2, 1, 1, 0, 0, 1},    // lengths fall short
		{2, 0, 1, 'a', 2, 0, 1, 'a', 1, 2, 2, 1, 0, 0, 1},    // the words do not increase
		{2, 0, 1, 'a', 2, 2, 1, 'b', 1, 2, 2, 1, 0, 0, 1},    // shares more than there is
		{2, 0, 1, 'a', 2, 0, 99, 'b', 1, 2, 2, 1, 0, 0, 1},   // a word longer than the file
		{0xff, 0xff, 0xff, 0xff, 0x0f},
		{},
	} {
		var file bytes.Buffer
		w, err := flate.NewWriter(&file, flate.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(payload)
		w.Close()
		text, err := decode(file.Bytes())
		if i == 0 {
			if err != nil || strings.Join(slices.Collect(text.Tokens()), " ") != "a a b" {
				t.Errorf("the sound payload gives %v", err)
			}
		} else if err != errData {
			t.Errorf("payload %d: got error %v, want %v", i, err, errData)
		}
	}
	// Four megabytes and more of zeros, in a few kilobytes.
	var bomb bytes.Buffer
	w, err := flate.NewWriter(&bomb, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(make([]byte, 8<<20))
	w.Close()
	if _, err := decode(bomb.Bytes()); err != errData {
		t.Errorf("a stream that inflates too far gives %v", err)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(); err != nil {
			b.Fatal(err)
		}
	}
}
