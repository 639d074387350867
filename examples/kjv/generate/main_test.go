package main

import (
	"bytes"
	"compress/flate"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/kjv"
)

// The decoded text, encoded again, is the data file. The comparison is before compression, since
// another Go version may compress otherwise.
func TestRoundTrip(t *testing.T) {
	text, err := kjv.Load()
	if err != nil {
		t.Fatal(err)
	}
	var verses [][]string
	for verse := range text.Verses() {
		verses = append(verses, slices.Clone(verse))
	}
	file, err := os.ReadFile("../kjv.bin")
	if err != nil {
		t.Fatal(err)
	}
	want, err := io.ReadAll(flate.NewReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(encode(verses), want) {
		t.Error("encoding the decoded text does not give the data file")
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	in, fromFile, fromStdin := filepath.Join(dir, "text"), filepath.Join(dir, "a"), filepath.Join(dir, "b")
	const text = "Ge1:1 In the beginning, God's WORD.\n2Sm1:1 Thee-ward: (the end)\n"
	if err := os.WriteFile(in, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-o", fromFile, in}, nil); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-o", fromStdin}, strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(fromFile)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(fromStdin)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("a file and standard input give different data")
	}
	got, err := io.ReadAll(flate.NewReader(bytes.NewReader(a)))
	if err != nil {
		t.Fatal(err)
	}
	want := encode([][]string{{"in", "the", "beginning", "god's", "word"}, {"thee", "ward", "the", "end"}})
	if !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	if err := run([]string{"-o", fromFile}, strings.NewReader("no reference here\n")); err == nil {
		t.Error("a line without a reference is accepted")
	}
	if err := run([]string{"one", "two"}, nil); err == nil {
		t.Error("two file names are accepted")
	}
}
