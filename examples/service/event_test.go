package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadEvents(t *testing.T) {
	long := strings.Repeat("x", maxName)
	events, malformed := readEvents([]byte(strings.Join([]string{
		`{"user":"u","key":"tea"}`, ` { "key" : "caf\u00e9", "user": "v", "at": 7 } `, "", `{"user":"` + long + `","key":"` + long + `"}`,
		// none of these is an event
		`{"user":"` + long + `x","key":"a"}`, `{"user":"","key":"a"}`, `{"user":"u"}`, `{"key":"a"}`, `{"user":5,"key":"a"}`, `nonsense`, `[]`, `{"user":"u","key":"a"`,
	}, "\r\n")))
	require.Equal(t, []event{{"u", "tea"}, {"v", "café"}, {long, long}}, events)
	require.Equal(t, 8, malformed)
}

func FuzzUsual(f *testing.F) {
	for _, s := range []string{`{"user":"u","key":"a"}`, `{"user":"u","key":"a","key":"b"}`, `{"user":"u\"","key":"a"}`, `{"user":"","key":""}`, "{",
		`{"user":"` + "\xff" + `","key":"\n"}`, `{"user":"a","key":"b","key":"c"}`, `{"user":"u","key":"","key":""}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := usual(line)
		var want event
		if err := json.Unmarshal(line, &want); ok && (err != nil || e != want) {
			t.Errorf("%q: %+v; encoding/json says %+v, %v", line, e, want, err)
		}
	})
}
