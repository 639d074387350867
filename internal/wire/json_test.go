package wire

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
)

// letter is a released object whose encoding is one byte in 'a', …, 'z'.
type letter struct{ b byte }

func (l *letter) MarshalBinary() ([]byte, error) {
	if l.b == '!' {
		return nil, errors.New("no encoding")
	}
	return []byte{l.b}, nil
}

func (l *letter) UnmarshalBinary(data []byte) error {
	if len(data) != 1 || data[0] < 'a' || data[0] > 'z' {
		return check.ErrFormat
	}
	l.b = data[0]
	return nil
}

func TestMarshalJSON(t *testing.T) {
	shown := struct {
		Threshold Number   `json:"threshold"`
		Numbers   []Number `json:"numbers"`
	}{2.5, Numbers([]float64{1e300, math.Inf(1), math.NaN(), -0.125})}
	text := dptest.OK(MarshalJSON(&letter{'q'}, shown))(t)
	require.Equal(t, `{"threshold":2.5,"numbers":[1e+300,null,null,-0.125],"data":"cQ=="}`, string(text))
	require.True(t, json.Valid(text))
	var back letter
	require.NoError(t, UnmarshalJSON(text, &back))
	require.Equal(t, letter{'q'}, back)
	for _, shown := range []any{nil, struct{}{}} {
		text = dptest.OK(MarshalJSON(&letter{'q'}, shown))(t)
		require.Equal(t, `{"data":"cQ=="}`, string(text))
	}
	for _, refused := range []letter{{}, {'!'}, {'A'}} {
		require.Error(t, dptest.Err(MarshalJSON(&refused, nil)), "an object that would not come back")
	}
	for _, shown := range []any{1, []int{}, math.NaN(), "x"} {
		require.Error(t, dptest.Err(MarshalJSON(&letter{'q'}, shown)))
	}
}

func TestUnmarshalJSON(t *testing.T) {
	for _, text := range []string{`{"data":"cQ=="}`, `{"a":[1,{"data":"!"}],"data":"cQ==","z":null}`, ` {"data" : "cQ=="} `} {
		var back letter
		require.NoError(t, UnmarshalJSON([]byte(text), &back), text)
		require.Equal(t, letter{'q'}, back)
	}
	for _, text := range []string{
		``, `1`, `[]`, `{`, `{}`, `{"data":null}`, `{"data":1}`, `{"data":"c"}`, `{"data":""}`, `{"data":"QQ=="}`, `{"Data":"cQ=="}`,
		`{"data":"cQ==","data":"cQ=="}`, `{"data":"cQ==",`, `{"data"`,
	} {
		back := letter{'x'}
		require.ErrorIs(t, UnmarshalJSON([]byte(text), &back), check.ErrFormat, text)
		require.Equal(t, letter{'x'}, back, text)
	}
}

func TestKeyText(t *testing.T) {
	type id uint64
	type name string
	for want, key := range map[string]any{
		"a\"b": name("a\"b"), "18446744073709551615": id(math.MaxUint64), "-3": int32(-3), "7": uint32(7), "12": 12,
		"000102030405060708090a0b0c0d0eff": [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255}, "true": true,
		`\xff41`: name("\xffA"), `\x5c7866663431`: `\xff41`, "\ufffdA": "\ufffdA", `\`: `\`, `x\x`: `x\x`, "": "",
	} {
		require.Equal(t, want, KeyText(key))
	}
}
