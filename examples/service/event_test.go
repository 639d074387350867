package main

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
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
		record = appendName(appendName(record, e.User), e.Key)
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

// Reading any body, and any bytes as a record, comes to an end, and a record has as many events as
// it is said to have.
func FuzzEvents(f *testing.F) {
	for _, s := range []string{`{"user":"u","key":"a"}`, `{"user":"u\"","key":"a","value":1e3}`, `{"user":"","key":""}`, "{", "\r\n \n", `{"user":"` + "\xff" + `","key":"\n"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		record, events, malformed := appendEvents(nil, body, false)
		if got := eventsOf(record); len(got) != events || events+malformed > 1+bytes.Count(body, []byte{'\n'}) {
			t.Errorf("%q: %q, %d and %d malformed", body, got, events, malformed)
		}
		eventsOf(body)
		appendEvents(nil, body, true)
	})
}

// Values are read where the service wants them, and are nowhere otherwise.
func TestReadValues(t *testing.T) {
	body := []byte(`{"user":"u","key":"a","value":-12.5}` + "\n" + `{"user":"u","key":"a"}` + "\n" + `{"user":"u","key":"a","value":"x"}`)
	record, events, malformed := appendEvents(nil, body, false)
	require.Equal(t, []int{3, 0}, []int{events, malformed})
	require.Equal(t, []event{{"u", "a"}, {"u", "a"}, {"u", "a"}}, eventsOf(record))
	record, events, malformed = appendEvents(nil, body, true)
	require.Equal(t, []int{2, 1}, []int{events, malformed})
	e, rest := cutEvent(string(record))
	value, rest := cutValue(rest)
	require.Equal(t, event{"u", "a"}, e)
	require.Equal(t, -12.5, value)
	_, rest = cutEvent(rest)
	value, rest = cutValue(rest)
	require.True(t, math.IsNaN(value) && rest == "")
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
