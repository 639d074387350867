// Command generate builds the data file of package kjv from the text of the King James Bible.
//
//	generate [-o file] [text]
//
// It reads the named file, or standard input, in which each line is a verse: its reference, one
// space, its text. The program bible of the Debian package bible-kjv prints exactly that for the
// text of the package bible-kjv-text (version 4.38 gave the file in the repository):
//
//	apt-get install bible-kjv
//	bible -f gen1:1-rev22:21 </dev/null >kjv.txt
//	go run ./examples/kjv/generate -o examples/kjv/kjv.bin kjv.txt
//
// The flag -f turns line breaking off. The layout of the data file stands in decode.go of package
// kjv.
package main

import (
	"bufio"
	"bytes"
	"compress/flate"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string, stdin io.Reader) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	out := flags.String("o", "kjv.bin", "the `file` to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	in := stdin
	switch flags.NArg() {
	case 0:
	case 1:
		f, err := os.Open(flags.Arg(0))
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	default:
		return fmt.Errorf("got %d file names, want one at most", flags.NArg())
	}
	verses, err := read(in)
	if err != nil {
		return err
	}
	file, err := deflate(encode(verses))
	if err != nil {
		return err
	}
	return os.WriteFile(*out, file, 0o666)
}

var (
	// verse matches a line such as "2Sm1:1 Now it came to pass".
	verse = regexp.MustCompile(`^[1-3]?[A-Z][A-Za-z]*[0-9]+:[0-9]+ (.+)$`)
	// word matches a word of a text in lower case.
	word = regexp.MustCompile(`[a-z']+`)
)

// read splits the text into verses and each verse into words.
func read(r io.Reader) ([][]string, error) {
	var verses [][]string
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		m := verse.FindStringSubmatch(lines.Text())
		if m == nil {
			return nil, fmt.Errorf("line %d is not a reference, a space and a verse", len(verses)+1)
		}
		verses = append(verses, word.FindAllString(strings.ToLower(m[1]), -1))
	}
	return verses, lines.Err()
}

func deflate(payload []byte) ([]byte, error) {
	var buf bytes.Buffer
	w, err := flate.NewWriter(&buf, flate.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(payload); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}
