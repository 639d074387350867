package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"unicode"
)

const maxName = 1 << 10 // bytes of a user or a key

// event is one line of the input. A value is read only where the service wants values. Other fields
// are ignored, and never stored. As in encoding/json, bytes that are no UTF-8 become U+FFFD.
type event struct {
	User string `json:"user"`
	Key  string `json:"key"`
}

// valuedEvent is an event that may have a value.
type valuedEvent struct {
	event
	Value *float64 `json:"value"`
}

// appendEvents reads JSON lines and appends their events to the record that the store keeps: for
// each the user and the key, both after 2 bytes with their length, and with valued 8 bytes for the
// value, NaN for none. A line that is no event is counted and skipped.
func appendEvents(record, body []byte, valued bool) (_ []byte, events, malformed int) {
	for len(body) > 0 {
		user, key, value, rest, ok := usual(body)
		if !ok {
			var line []byte
			line, rest, _ = bytes.Cut(body, []byte{'\n'})
			if line = bytes.TrimSpace(line); len(line) == 0 {
				body = rest
				continue
			}
			user, key, value = unusual(line, valued)
		}
		if body = rest; !name(user) || !name(key) {
			malformed++
			continue
		}
		if record = appendName(appendName(record, user), key); valued {
			record = binary.LittleEndian.AppendUint64(record, math.Float64bits(value))
		}
		events++
	}
	return record, events, malformed
}

// sample is an event as the service wants it.
func (h head) sample() string {
	if h.valued() {
		return `{"user":"u-4711","key":"/index.html","value":12.5}`
	}
	return `{"user":"u-4711","key":"/index.html"}`
}

// firstLine returns the first line of a body that is not blank, its number from 1 on, and up to 200
// bytes of it, quoted.
func firstLine(body []byte) (number int, quoted string) {
	text := bytes.TrimLeftFunc(body, unicode.IsSpace)
	number = 1 + bytes.Count(body[:len(body)-len(text)], []byte{'\n'})
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	return number, strconv.Quote(string(bytes.TrimSpace(line[:min(len(line), 200)])))
}

// unusual parses any other line. It returns no user for a line that is no event.
func unusual(line []byte, valued bool) (user, key []byte, value float64) {
	var e valuedEvent
	var err error
	if valued {
		err = json.Unmarshal(line, &e)
	} else {
		err = json.Unmarshal(line, &e.event)
	}
	if err != nil {
		return nil, nil, 0
	}
	if value = math.NaN(); e.Value != nil {
		value = *e.Value
	}
	return []byte(e.User), []byte(e.Key), value
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

// cutValue returns the value of an event, NaN if it has none, and what comes after it.
func cutValue(record string) (value float64, rest string) {
	if len(record) < 8 {
		return math.NaN(), ""
	}
	return math.Float64frombits(binary.LittleEndian.Uint64([]byte(record[:8]))), record[8:]
}

func cutName(record string) (s, rest string) {
	if len(record) < 2 {
		return "", ""
	}
	end := min(2+int(record[0])+int(record[1])<<8, len(record))
	return record[2:end], record[end:]
}

// usual parses the first line of a body if it is {"user":"…","key":"…"}, or that with "value":12.5
// at the end, without spaces and escapes. Most lines are. README.md says what encoding/json costs.
func usual(body []byte) (user, key []byte, value float64, rest []byte, ok bool) {
	if user, rest, ok = plain(body, `{"user":"`); !ok {
		return nil, nil, 0, nil, false
	}
	if key, rest, ok = plain(rest, `","key":"`); !ok {
		return nil, nil, 0, nil, false
	}
	if value = math.NaN(); bytes.HasPrefix(rest, []byte(`","value":`)) {
		number := decimalOf(rest[len(`","value":`):])
		var err error
		if value, err = strconv.ParseFloat(string(number), 64); err != nil {
			return nil, nil, 0, nil, false
		}
		rest = rest[len(`","value":`)+len(number):]
	} else if rest, ok = bytes.CutPrefix(rest, []byte{'"'}); !ok {
		return nil, nil, 0, nil, false
	}
	switch rest, ok = bytes.CutPrefix(rest, []byte{'}'}); {
	case !ok:
	case len(rest) == 0:
		return user, key, value, nil, true
	case rest[0] == '\n':
		return user, key, value, rest[1:], true
	}
	return nil, nil, 0, nil, false
}

// decimalOf returns the number that text begins with if it is one like −12.5: as in JSON, without
// an exponent. Else it returns nothing, or what is followed by neither a brace nor a comma.
func decimalOf(text []byte) []byte {
	n := 0
	if n < len(text) && text[n] == '-' {
		n++
	}
	whole := n
	n += digits(text[n:])
	if n == whole || n > whole+1 && text[whole] == '0' {
		return nil
	}
	if n < len(text) && text[n] == '.' {
		if more := digits(text[n+1:]); more > 0 {
			n += 1 + more
		}
	}
	return text[:n]
}

// digits returns how many digits text begins with.
func digits(text []byte) (n int) {
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
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
