package wire

import (
	"bytes"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dpsketch/dpsketch/internal/check"
)

// Object is a pointer to a released object.
type Object[T any] interface {
	*T
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// MarshalJSON returns the JSON of shown, which must be a struct or nil, with the object's encoding
// as its last member, data. It returns an error for an object that its own decoder refuses, such as
// one that no release made.
func MarshalJSON[T any, P Object[T]](object P, shown any) ([]byte, error) {
	data, err := object.MarshalBinary()
	if err != nil {
		return nil, err
	}
	if err := P(new(T)).UnmarshalBinary(data); err != nil {
		return nil, fmt.Errorf("%T has no JSON: %w", object, err)
	}
	encoded, err := json.Marshal(envelope{data})
	if err != nil || shown == nil {
		return encoded, err
	}
	out, err := json.Marshal(shown)
	if err != nil {
		return nil, err
	}
	if len(out) < 2 || out[0] != '{' {
		return nil, errors.New("wire: what is shown is no struct")
	}
	if len(out) == len("{}") {
		return encoded, nil
	}
	return append(append(out[:len(out)-1], ','), encoded[1:]...), nil
}

// UnmarshalJSON decodes the member data into the object. Other members are not read. It returns an
// error that wraps [check.ErrFormat], and leaves the object as it was, where data is missing,
// doubled or refused by the decoder.
func UnmarshalJSON(encoded []byte, object encoding.BinaryUnmarshaler) error {
	d := json.NewDecoder(bytes.NewReader(encoded))
	bad := func(what string) error {
		return fmt.Errorf("%T: %w: JSON %s", object, check.ErrFormat, what)
	}
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return bad("that is no object")
	}
	var e envelope
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return bad("that cannot be read")
		}
		var member json.RawMessage
		if err := d.Decode(&member); err != nil {
			return bad("that cannot be read")
		}
		if name != "data" {
			continue
		}
		if e.Data != nil {
			return bad("with two members data")
		}
		if err := json.Unmarshal(member, &e.Data); err != nil || e.Data == nil {
			return bad("whose member data is not base64")
		}
	}
	if e.Data == nil {
		return bad("without the member data")
	}
	return object.UnmarshalBinary(e.Data)
}

// envelope is what is read back.
type envelope struct {
	Data []byte `json:"data"`
}

// Confidence is that of the intervals in a view.
const Confidence = .95

// Number is a number of a view; NaN and the infinities are null.
type Number float64

// MarshalJSON returns the number in its shortest form.
func (n Number) MarshalJSON() ([]byte, error) {
	if x := float64(n); !math.IsNaN(x) && !math.IsInf(x, 0) {
		return json.Marshal(x)
	}
	return []byte("null"), nil
}

// Numbers returns the numbers of a view.
func Numbers(list []float64) []Number {
	out := make([]Number, len(list))
	for i, x := range list {
		out[i] = Number(x)
	}
	return out
}

// Estimated is an estimate with its interval at [Confidence].
type Estimated struct {
	Estimate Number `json:"estimate"`
	Low      Number `json:"low"`
	High     Number `json:"high"`
}

// EstimatedOf returns the estimate with its interval.
func EstimatedOf(estimate, low, high float64) Estimated {
	return Estimated{Number(estimate), Number(low), Number(high)}
}

// Size is a number of keys.
type Size struct {
	Estimated
	StdErr Number `json:"stdErr"`
}

// Estimator is an estimated number, as those of package kor are.
type Estimator interface {
	Estimate() float64
	StdErr() float64
	Interval(confidence float64) (lo, hi float64)
}

// SizeOf returns the view of an estimated number of keys.
func SizeOf(of Estimator) Size {
	low, high := of.Interval(Confidence)
	return Size{EstimatedOf(of.Estimate(), low, high), Number(of.StdErr())}
}

// Count is what is shown of a released count.
type Count struct {
	Guarantee json.Marshaler `json:"guarantee"`
	Size
}

// CountOf returns the view of a count.
func CountOf(guarantee json.Marshaler, count Estimator) Count {
	return Count{guarantee, SizeOf(count)}
}

// KeyEstimate is a key with its estimate.
type KeyEstimate struct {
	Key string `json:"key"`
	Estimated
}

// KeyEstimates returns the keys of a released list with their estimates and intervals.
func KeyEstimates[K comparable](all iter.Seq2[K, float64], interval func(key K, confidence float64) (lo, hi float64)) []KeyEstimate {
	keys := []KeyEstimate{}
	for key, estimate := range all {
		low, high := interval(key, Confidence)
		keys = append(keys, KeyEstimate{KeyText(key), EstimatedOf(estimate, low, high)})
	}
	return keys
}

// raw begins a key that is not text.
const raw = `\x`

// KeyText returns a key as text, and different keys of one type as different texts: a string as it
// is, an integer in decimal digits, as JavaScript would round one above 2⁵³, and an array of bytes
// in hexadecimal ones. JSON has no string that is not UTF-8: json.Marshal would write one text for
// many keys. Such a key is \x and its bytes in hexadecimal digits, and so is one that begins with
// \x.
func KeyText(key any) string {
	switch v := reflect.ValueOf(key); v.Kind() {
	case reflect.String:
		if text := v.String(); utf8.ValidString(text) && !strings.HasPrefix(text, raw) {
			return text
		}
		return raw + hex.EncodeToString([]byte(v.String()))
	case reflect.Int, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		return strconv.FormatUint(v.Uint(), 10)
	case reflect.Array:
		out := make([]byte, v.Len())
		reflect.Copy(reflect.ValueOf(out), v)
		return hex.EncodeToString(out)
	default:
		return fmt.Sprint(key)
	}
}
