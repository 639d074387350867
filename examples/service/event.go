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
	for line := range bytes.Lines(body) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var e valuedEvent
		var err error
		if valued {
			err = json.Unmarshal(line, &e)
		} else {
			err = json.Unmarshal(line, &e.event)
		}
		if err != nil || !name(e.User) || !name(e.Key) {
			malformed++
			continue
		}
		if record = appendName(appendName(record, e.User), e.Key); valued {
			value := math.NaN()
			if e.Value != nil {
				value = *e.Value
			}
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

func name(s string) bool { return len(s) > 0 && len(s) <= maxName }

func appendName(record []byte, s string) []byte {
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
