package dpbeam

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// Entry is what one row gives to one key: the value counts only if the Params have Min and Max.
type Entry struct {
	Key   string
	Value float64
}

// UserGroups takes pairs of a user and an [Entry], in any number and order, and gives one encoded
// release, a groupby.Groups[string]: the keys of at least some tens of users, although nobody lists
// the keys, with the number of users of each; with Min and Max in the Params also the sum and the
// mean by key of the users' values. It is (ε, δ)-private for one user with all rows, however many
// these are and wherever they come from. Rows without a user, with the empty string, are those of
// one user.
//
// The rows go through a shuffle by user. So all keys of a user meet in one call of AddUserValues,
// which bounds what the user moves; values in the same key are summed and then clamped. A state has
// three integers for each key. The states are merged in one place, which holds all keys.
//
// The error is that of wrong Params.
func UserGroups(s beam.Scope, p groupby.Params, rows beam.PCollection) (beam.PCollection, error) {
	if _, err := groupby.New[string](p); err != nil { // here, not on a worker
		return beam.PCollection{}, err
	}
	s = s.Scope("dpbeam.UserGroups")
	states := beam.ParDo(s, &usersFn{Params: p}, beam.GroupByKey(s, whole(s, rows)))
	return once(s, states, &noUsersFn{p}, &groupsFn{p}), nil
}

// usersFn makes the users of a bundle into a private state.
type usersFn struct {
	Params  groupby.Params
	builder *groupby.Builder[string]
}

func (f *usersFn) StartBundle(func([]byte)) (err error) {
	f.builder, err = groupby.New[string](f.Params)
	return err
}

func (f *usersFn) ProcessElement(_ string, next func(*Entry) bool, _ func([]byte)) {
	f.builder.AddUserValues(func(yield func(string, float64) bool) {
		for entry := (Entry{}); next(&entry) && yield(entry.Key, entry.Value); {
		}
	})
}

func (f *usersFn) FinishBundle(emit func([]byte)) error {
	state, err := f.builder.AppendPrivateState(nil)
	f.builder = nil
	if err == nil {
		emit(state)
	}
	return err
}

// noUsersFn makes the state of no users.
type noUsersFn struct{ Params groupby.Params }

func (f *noUsersFn) ProcessElement([]byte) ([]byte, error) {
	b, err := groupby.New[string](f.Params)
	if err != nil {
		return nil, err
	}
	return b.AppendPrivateState(nil)
}

// groupsFn merges states and releases the groups of all.
type groupsFn struct{ Params groupby.Params }

func (f *groupsFn) ProcessElement(_ int, next func(*[]byte) bool) ([]byte, error) {
	all, err := groupby.New[string](f.Params)
	if err != nil {
		return nil, err
	}
	for state := []byte(nil); next(&state); {
		b, err := groupby.New[string](f.Params)
		if err != nil {
			return nil, err
		}
		if err := b.RestorePrivateState(state); err != nil {
			return nil, err
		}
		if err := all.Merge(b); err != nil {
			return nil, err
		}
	}
	groups, err := all.Release()
	if err != nil {
		return nil, err
	}
	return groups.MarshalBinary()
}

// encodeEntry and decodeEntry are the coder of an Entry: the value in 8 bytes, left out if it is 0,
// after the length of the key and the key.
func encodeEntry(e Entry) []byte {
	data := append(binary.AppendUvarint(make([]byte, 0, len(e.Key)+10), uint64(len(e.Key))), e.Key...)
	if e.Value != 0 {
		data = binary.LittleEndian.AppendUint64(data, math.Float64bits(e.Value))
	}
	return data
}

func decodeEntry(data []byte) (Entry, error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return Entry{}, fmt.Errorf("dpbeam: an Entry of %d bytes: %w", len(data), groupby.ErrFormat)
	}
	key, value := data[n:n+int(length)], data[n+int(length):]
	switch len(value) {
	case 0:
		return Entry{Key: string(key)}, nil
	case 8:
		return Entry{string(key), math.Float64frombits(binary.LittleEndian.Uint64(value))}, nil
	}
	return Entry{}, fmt.Errorf("dpbeam: an Entry of %d bytes: %w", len(data), groupby.ErrFormat)
}

func init() {
	beam.RegisterCoder(reflect.TypeFor[Entry](), encodeEntry, decodeEntry)
	register.Iter1[Entry]()
	register.DoFn3x0[string, func(*Entry) bool, func([]byte)](&usersFn{})
	register.DoFn1x2[[]byte, []byte, error](&noUsersFn{})
	register.DoFn2x2[int, func(*[]byte) bool, []byte, error](&groupsFn{})
}
