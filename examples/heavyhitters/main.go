// Command heavyhitters releases the most frequent keys of a stream under differential privacy.
//
//	heavyhitters [flags] [file]
//
// Without a file it releases the most frequent words of the King James Bible, which is public, so
// that the true counts can stand beside the released ones. With a file, or "-" for standard input,
// it releases the most frequent lines of that: one key a line, of at most 4096 bytes. A carriage
// return at the end of a line is dropped, and an empty line is no key. A stream of any length takes
// the memory of one sketch.
//
// With -servers 8 the lines are dealt to eight sketches, as if so many servers had counted them,
// and the sum of these is released, which one server makes that all trust.
//
// The unit of privacy is one element of the stream: the release looks nearly the same with any one
// line added or removed. Somebody who wrote m lines is protected m times less. Every run on the
// same data spends ε and δ again.
//
// Standard output gets what the guarantee covers and nothing else. How many lines there were, and
// how long they took, is not covered and goes to standard error.
//
// The exit code is 0, 1 when reading or writing failed, or 2 for a wrong flag or parameter.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	opts, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		if _, err := io.WriteString(stdout, usage()); err != nil {
			return 1
		}
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "heavyhitters: %v (-h lists the flags)\n", err)
		return 2
	}
	sketch, err := newStream(opts)
	if err != nil {
		fmt.Fprintf(stderr, "heavyhitters: %v\n", err)
		return 2
	}

	out := bufio.NewWriter(stdout)
	if opts.file == "" {
		err = releaseText(out, sketch, opts)
	} else {
		err = releaseFile(out, sketch, opts, stdin, stderr)
	}
	if err == nil {
		err = out.Flush()
	}
	switch {
	case err == nil:
		return 0
	case brokenPipe(err): // the reader of standard output has seen enough
		return 1
	default:
		fmt.Fprintf(stderr, "heavyhitters: %v\n", err)
		return 1
	}
}

// releaseFile releases the lines of the file that opts names.
func releaseFile(out io.Writer, sketch *counted, opts options, stdin io.Reader, stderr io.Writer) error {
	in := stdin
	if opts.file != "-" {
		f, err := os.Open(opts.file)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	keys := newReader(in)
	bar := newProgress(stderr)
	start := time.Now()
	for {
		key, err := keys.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			bar.clear()
			return err
		}
		sketch.Add(key)
		bar.update(keys.lines, keys.bytes)
	}
	bar.clear()
	r, err := release(sketch, opts, start)
	if err != nil {
		return err
	}
	if opts.json {
		err = r.writeJSON(out)
	} else {
		err = r.write(out, nil)
	}
	if err == nil {
		fmt.Fprintf(stderr, "heavyhitters: read %s lines in %v; this message is not covered by the guarantee\n",
			grouped(keys.lines), r.took.Round(time.Millisecond))
	}
	return err
}
