package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

const (
	maxLine = 1 << 16 // bytes of one event
	maxKey  = 1 << 10
)

// event is one line of the input. Other fields are ignored. Bytes of a key that are no UTF-8 become
// U+FFFD, as encoding/json has it.
type event struct {
	Key string `json:"key"`
}

// readEvents reads JSON lines to the end and returns their keys. A line that is no event is counted
// and skipped. The error is that of the reader, or that a line is too long; there are no keys then.
func readEvents(r io.Reader) (keys []string, malformed int, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		if key, ok := parseEvent(line); ok {
			keys = append(keys, key)
		} else {
			malformed++
		}
	}
	if err := lines.Err(); err != nil {
		return nil, malformed, err
	}
	return keys, malformed, nil
}

// parseEvent returns the key of an event. What most lines look like, {"key":"…"} without escapes,
// is taken apart by hand.
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
