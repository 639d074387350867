package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxKey is the greatest length of a key in bytes. It bounds the memory of a sketch of k counters
// by little more than k·maxKey bytes, whatever the stream.
const maxKey = 4096

// reader reads keys, one a line, through a buffer of fixed size.
type reader struct {
	buf   *bufio.Reader
	lines int // lines read so far
	bytes int64
}

func newReader(r io.Reader) *reader {
	return &reader{buf: bufio.NewReaderSize(r, 16*maxKey)}
}

// next returns the next key, or io.EOF after the last. The key is a copy of its own, so that a
// sketch which keeps it does not keep the buffer alive.
func (r *reader) next() (string, error) {
	for {
		line, err := r.buf.ReadSlice('\n')
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return "", err
		}
		if len(line) == 0 {
			return "", io.EOF
		}
		r.lines++
		r.bytes += int64(len(line))
		key := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if len(key) > maxKey || errors.Is(err, bufio.ErrBufferFull) {
			return "", fmt.Errorf("line %d is longer than %d bytes", r.lines, maxKey)
		}
		if len(key) > 0 {
			return string(key), nil
		}
	}
}
