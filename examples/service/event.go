package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
)

const maxName = 1 << 10 // bytes of a user or a key

// event is one line of the input. Other fields are ignored, and never stored. Bytes that are no
// UTF-8 become U+FFFD, as encoding/json has it.
type event struct {
	User string `json:"user"`
	Key  string `json:"key"`
}

// appendEvents reads JSON lines and appends their events to the record that the store keeps: the
// user and the key of each, both after 2 bytes with their length. A line that is no event is
// counted and skipped.
func appendEvents(record, body []byte) (_ []byte, events, malformed int) {
	for len(body) > 0 {
		user, key, rest, ok := usual(body)
		if !ok {
			var line []byte
			line, rest, _ = bytes.Cut(body, []byte{'\n'})
			if line = bytes.TrimSpace(line); len(line) == 0 {
				body = rest
				continue
			}
			user, key = unusual(line)
		}
		if body = rest; !name(user) || !name(key) {
			malformed++
			continue
		}
		record = appendName(appendName(record, user), key)
		events++
	}
	return record, events, malformed
}

// unusual takes any other line apart. It returns nothing for a line that is no event.
func unusual(line []byte) (user, key []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		return nil, nil
	}
	return []byte(e.User), []byte(e.Key)
}

func name(s []byte) bool { return len(s) > 0 && len(s) <= maxName }

func appendName(record, s []byte) []byte {
	return append(binary.LittleEndian.AppendUint16(record, uint16(len(s))), s...)
}

// cutEvent returns the first event of a record, without copying it, and what comes after it.
func cutEvent(record string) (e event, rest string) {
	e.User, rest = cutName(record)
	e.Key, rest = cutName(rest)
	return e, rest
}

func cutName(record string) (s, rest string) {
	if len(record) < 2 {
		return "", ""
	}
	end := min(2+int(record[0])+int(record[1])<<8, len(record))
	return record[2:end], record[end:]
}

// usual takes the first line of a body apart if it is {"user":"…","key":"…"} without spaces and
// escapes, as most are. README.md says what encoding/json costs for these.
func usual(body []byte) (user, key, rest []byte, ok bool) {
	if user, rest, ok = plain(body, `{"user":"`); !ok {
		return nil, nil, nil, false
	}
	if key, rest, ok = plain(rest, `","key":"`); !ok {
		return nil, nil, nil, false
	}
	if len(rest) < 2 || string(rest[:2]) != `"}` {
		return nil, nil, nil, false
	}
	switch rest = rest[2:]; {
	case len(rest) == 0:
		return user, key, nil, true
	case rest[0] == '\n':
		return user, key, rest[1:], true
	}
	return nil, nil, nil, false
}

// plain cuts off what text must begin with, and the bytes after it that mean themselves within a
// JSON string.
func plain(text []byte, head string) (s, rest []byte, ok bool) {
	if len(text) < len(head) || string(text[:len(head)]) != head {
		return nil, nil, false
	}
	text = text[len(head):]
	n := 0
	for n < len(text) && itself[text[n]] {
		n++
	}
	return text[:n], text[n:], true
}

// itself tells which bytes mean themselves within a JSON string.
var itself = func() (t [256]bool) {
	for c := 0x20; c < 0x7f; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()
