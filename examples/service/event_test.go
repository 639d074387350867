package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadEvents(t *testing.T) {
	long := strings.Repeat("x", maxName)
	body := strings.Join([]string{
		`{"user":"u","key":"tea"}`, ` { "key" : "caf\u00e9", "user": "v", "at": 7 } `, "", `{"user":"` + long + `","key":"` + long + `"}`, `{"user":"u","key":"tea"} `,
		// none of these is an event
		`{"user":"` + long + `x","key":"a"}`, `{"user":"","key":"a"}`, `{"user":"u"}`, `{"key":"a"}`, `{"user":5,"key":"a"}`, `nonsense`, `[]`, `{"user":"u","key":"a"`,
		`{"user":"u","key":"a"}{"user":"u","key":"a"}`,
	}, "\r\n")
	want := []event{{"u", "tea"}, {"v", "café"}, {long, long}, {"u", "tea"}}
	for _, end := range []string{"", "\n", "\r\n \n"} {
		record, events, malformed := appendEvents(recordOf(event{"a", "b"}), []byte(body+end), false)
		require.Equal(t, append([]event{{"a", "b"}}, want...), eventsOf(record))
		require.Equal(t, []int{4, 9}, []int{events, malformed})
	}
}

// recordOf makes a record.
func recordOf(events ...event) (record []byte) {
	for _, e := range events {
		record = appendName(appendName(record, []byte(e.User)), []byte(e.Key))
	}
	return record
}

// eventsOf takes a record apart.
func eventsOf(record []byte) (list []event) {
	for rest := string(record); rest != ""; {
		var e event
		e, rest = cutEvent(rest)
		list = append(list, e)
	}
	return list
}

// The events of any body are those that encoding/json finds line by line. Reading any bytes as a
// record comes to an end.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{`{"user":"u","key":"a"}`, `{"user":"u","key":"a","key":"b"}`, `{"user":"u\"","key":"a"}`, `{"user":"","key":""}`, "{", "\r\n \n",
		`{"user":"` + "\xff" + `","key":"\n"}`, `{"user":"a","key":"b","key":"c"}`, `{"user":"u","key":"","key":""}`, "{\"user\":\"u\",\"key\":\"a\"}\r\n{\"user\":\"u\",\"key\":\"b\"}\n"} {
		f.Add([]byte(s))
	}
	for _, number := range []string{"12.5", "-0.25", "0", "1e3", "01", "-", "1.", ".5", "null", `"x"`, "1 ", "7}", strings.Repeat("9", 400)} {
		f.Add([]byte(`{"user":"u","key":"a","value":` + number + "}\n"))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		checkValues(t, body)
		var want []event
		bad := 0
		for line := range bytes.Lines(body) {
			var e event
			switch line = bytes.TrimSpace(line); {
			case len(line) == 0:
			case json.Unmarshal(line, &e) != nil || !name([]byte(e.User)) || !name([]byte(e.Key)):
				bad++
			default:
				want = append(want, e)
			}
		}
		record, events, malformed := appendEvents(nil, body, false)
		if got := eventsOf(record); !slices.Equal(got, want) || events != len(want) || malformed != bad {
			t.Errorf("%q: %q, %d and %d malformed; encoding/json says %q, %d malformed", body, got, events, malformed, want, bad)
		}
		eventsOf(body)
	})
}

// checkValues compares the events with values of a body with those of encoding/json.
func checkValues(t *testing.T, body []byte) {
	var want, got []string
	bad := 0
	say := func(e event, value float64) string { return fmt.Sprintf("%q %q %x", e.User, e.Key, value) }
	for line := range bytes.Lines(body) {
		var e valuedEvent
		switch line = bytes.TrimSpace(line); {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil || !name([]byte(e.User)) || !name([]byte(e.Key)):
			bad++
		case e.Value == nil:
			want = append(want, say(e.event, math.NaN()))
		default:
			want = append(want, say(e.event, *e.Value))
		}
	}
	record, events, malformed := appendEvents(nil, body, true)
	for rest := string(record); rest != ""; {
		var e event
		var value float64
		e, rest = cutEvent(rest)
		value, rest = cutValue(rest)
		got = append(got, say(e, value))
	}
	if !slices.Equal(got, want) || events != len(want) || malformed != bad {
		t.Errorf("%q: %q, %d and %d malformed; encoding/json says %q, %d malformed", body, got, events, malformed, want, bad)
	}
}

// Values are read where the service wants them, and are nowhere otherwise.
func TestReadValues(t *testing.T) {
	body := []byte(`{"user":"u","key":"a","value":-12.5}` + "\n" + `{"user":"u","key":"a"}` + "\n" + `{"user":"u","key":"a","value":"x"}`)
	record, events, malformed := appendEvents(nil, body, false)
	require.Equal(t, []int{3, 0}, []int{events, malformed})
	require.Equal(t, []event{{"u", "a"}, {"u", "a"}, {"u", "a"}}, eventsOf(record))
	record, events, malformed = appendEvents(nil, body, true)
	require.Equal(t, []int{2, 1}, []int{events, malformed})
	require.Len(t, record, 2*(3+3+8))
	checkValues(t, body)
}

// The answer to a body without events has the number of its first bad line, blank ones included.
func TestFirstBadLine(t *testing.T) {
	s := mustOpen(t, exactConfig(t))
	for body, want := range map[string]string{
		"a,b\nc,d\n":                 "line 1, \"a,b\"",
		"\n \r\n\t{\"user\":1}\r\nx": "line 3, \"{\\\"user\\\":1}\"",
	} {
		recorder := httptest.NewRecorder()
		s.handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/events", strings.NewReader(body)))
		var answer struct{ Error string }
		require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &answer))
		require.Equal(t, 400, recorder.Code)
		require.True(t, strings.HasSuffix(answer.Error, "the first bad one is "+want), answer.Error)
	}
}
