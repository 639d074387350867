package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

const (
	maxLine = 1 << 16 // bytes of one event
	maxKey  = 1 << 10
)

// event is one line of the input. Other fields are ignored.
type event struct {
	Key string `json:"key"`
}

// readEvents reads JSON lines and gives their keys to take, many at a time. A line that is no event is counted and skipped. It stops at the
// first error of the reader or of take; the counts are those of the lines until then.
func readEvents(r io.Reader, take func(keys []string) error) (taken, malformed int, err error) {
	const batch = 1024
	keys := make([]string, 0, batch)
	flush := func() error {
		if len(keys) == 0 {
			return nil
		}
		if err := take(keys); err != nil {
			return err
		}
		taken += len(keys)
		keys = keys[:0]
		return nil
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		key, ok := parseEvent(line)
		if !ok {
			malformed++
			continue
		}
		if keys = append(keys, key); len(keys) == batch {
			if err := flush(); err != nil {
				return taken, malformed, err
			}
		}
	}
	err = errors.Join(lines.Err(), flush())
	return taken, malformed, err
}

// parseEvent returns the key of an event. What most lines look like, {"key":"…"} without escapes, is taken apart by hand.
func parseEvent(line []byte) (key string, ok bool) {
	const head, tail = `{"key":"`, `"}`
	if bytes.HasPrefix(line, []byte(head)) && bytes.HasSuffix(line, []byte(tail)) && len(line) >= len(head)+len(tail) {
		text := line[len(head) : len(line)-len(tail)]
		if plain(text) {
			return string(text), valid(len(text))
		}
	}
	var e event
	if json.Unmarshal(line, &e) != nil {
		return "", false
	}
	return e.Key, valid(len(e.Key))
}

// plain reports whether the bytes mean themselves within a JSON string.
func plain(text []byte) bool {
	for _, c := range text {
		if c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func valid(length int) bool { return length > 0 && length <= maxKey }
