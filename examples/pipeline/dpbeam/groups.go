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

// Entry is what one row gives to one key. The value counts if the Params have Min and Max, Values
// or Levels; a row whose value is NaN, which stands for NULL, then is none.
type Entry struct {
	Key   string
	Value float64
}

// UserGroups takes pairs of a user and an [Entry], in any number and order, and gives one encoded
// release, a groupby.Groups[string]: the keys of at least some tens of users, although nobody lists
// the keys, with the number of users of each; with Min and Max in the Params, or Values, also the
// sum and the mean by key of the users' values, and with Levels their quantiles. It is (ε,
// δ)-private for one user with all rows, however many these are and wherever they come from. Rows
// without a user, with the empty string, are those of one user.
//
// The rows go through a shuffle by user, in batches of many users: a bundle sends what it has for
// each of 4096 parts of the users at once, which takes a hundredth of the time and memory of a
// shuffle of rows. So all keys of a user meet in one call of AddUserValues, which bounds what the
// user moves; values in the same key are summed and then clamped. A worker holds the rows of a part
// at a time. A state has some integers for each key, and the states are merged in one place, which
// holds all keys.
//
// The error is that of wrong Params.
func UserGroups(s beam.Scope, p groupby.Params, rows beam.PCollection) (beam.PCollection, error) {
	return groups{Params: p}.transform(s.Scope("dpbeam.UserGroups"), rows)
}

// ListedGroups is [UserGroups] for keys of a public list, such as the countries of the world: see
// [groupby.NewListed]. Every key of the list is in the release, those that nobody has too, so no
// budget is spent on finding keys, and δ may be 0. Other keys count in Groups.Others alone. The
// list travels with the pipeline, and must not come from the data.
//
// The error is that of wrong Params, or of a wrong list.
func ListedGroups(s beam.Scope, p groupby.Params, list []string, rows beam.PCollection) (beam.PCollection, error) {
	g := groups{Params: p, Listed: true}
	for _, key := range list {
		g.Keys = append(g.Keys, []byte(key))
	}
	return g.transform(s.Scope("dpbeam.ListedGroups"), rows)
}

// groups is a GROUP BY in a form that travels, as JSON, which keeps all bytes but not all strings.
type groups struct {
	Params groupby.Params
	Listed bool
	Keys   [][]byte
}

// empty returns the Builder of no users.
func (g groups) empty() (*groupby.Builder[string], error) {
	if !g.Listed {
		return groupby.New[string](g.Params)
	}
	keys := make([]string, len(g.Keys))
	for i, key := range g.Keys {
		keys[i] = string(key)
	}
	return groupby.NewListed(g.Params, keys...)
}

func (g groups) transform(s beam.Scope, rows beam.PCollection) (beam.PCollection, error) {
	if _, err := g.empty(); err != nil { // here, not on a worker
		return beam.PCollection{}, err
	}
	return once(s, g.states(s, rows), &groupsFn{g}), nil
}

// states gives the private states of the bundles behind the shuffle.
func (g groups) states(s beam.Scope, rows beam.PCollection) beam.PCollection {
	batches := beam.ParDo(s, &batchFn{}, whole(s, rows))
	return beam.ParDo(s, &usersFn{Groups: g}, beam.GroupByKey(s, batches))
}

const (
	parts = 4096    // of the users
	batch = 1 << 25 // bytes that a bundle keeps before it sends them
)

// batchFn makes batches of a bundle's rows: the users and entries of a part one after the other.
type batchFn struct {
	batches [parts][]byte
	size    int
}

func (f *batchFn) StartBundle(func(int, []byte)) { f.batches, f.size = [parts][]byte{}, 0 }

func (f *batchFn) ProcessElement(user string, e Entry, emit func(int, []byte)) {
	part := partOf(user)
	before := len(f.batches[part])
	f.batches[part] = appendRow(f.batches[part], user, e)
	if f.size += len(f.batches[part]) - before; f.size > batch {
		f.FinishBundle(emit)
	}
}

func (f *batchFn) FinishBundle(emit func(int, []byte)) {
	for part, rows := range f.batches {
		if len(rows) > 0 {
			emit(part, rows)
		}
	}
	f.StartBundle(emit)
}

// partOf returns the part of a user, the same one in every process: FNV-1a. Any function will do.
func partOf(user string) int {
	h := uint32(2166136261)
	for i := range len(user) {
		h = (h ^ uint32(user[i])) * 16777619
	}
	return int((h ^ h>>16) % parts)
}

// usersFn makes the users of a bundle's parts into a private state.
type usersFn struct {
	Groups  groups
	builder *groupby.Builder[string]
}

func (f *usersFn) StartBundle(func([]byte)) (err error) {
	f.builder, err = f.Groups.empty()
	return err
}

func (f *usersFn) ProcessElement(_ int, next func(*[]byte) bool, _ func([]byte)) error {
	users := map[string][]Entry{}
	for rows := []byte(nil); next(&rows); {
		for len(rows) > 0 {
			user, e, rest, err := row(rows)
			if err != nil {
				return err
			}
			users[user] = append(users[user], e)
			rows = rest
		}
	}
	var keys []string
	var values []float64
	for _, entries := range users {
		keys, values = keys[:0], values[:0]
		for _, e := range entries {
			keys, values = append(keys, e.Key), append(values, e.Value)
		}
		// no values are asked for
		if p := f.Groups.Params; p.Min == p.Max && !p.Values && p.Levels[0] == 0 {
			f.builder.AddUser(keys)
		} else {
			f.builder.AddUserValues(keys, values)
		}
	}
	return nil
}

func (f *usersFn) FinishBundle(emit func([]byte)) error { return send(&f.builder, emit) }

// groupsFn releases the groups of all users.
type groupsFn struct{ Groups groups }

func (f *groupsFn) ProcessElement(_ int, next func(*[]byte) bool) ([]byte, error) {
	return release(f.Groups.empty, next)
}

// appendRow appends a row: the user, the key, each after its length, and the value in 8 bytes.
func appendRow(data []byte, user string, e Entry) []byte {
	data = append(binary.AppendUvarint(data, uint64(len(user))), user...)
	return appendEntry(data, e)
}

func appendEntry(data []byte, e Entry) []byte {
	data = append(binary.AppendUvarint(data, uint64(len(e.Key))), e.Key...)
	return binary.LittleEndian.AppendUint64(data, math.Float64bits(e.Value))
}

// row reads the first row and returns what follows.
func row(data []byte) (user string, e Entry, rest []byte, err error) {
	if user, data, err = text(data); err == nil {
		e, rest, err = entry(data)
	}
	return user, e, rest, err
}

func entry(data []byte) (e Entry, rest []byte, err error) {
	if e.Key, data, err = text(data); err != nil {
		return e, nil, err
	}
	if len(data) < 8 {
		return e, nil, errRow
	}
	e.Value = math.Float64frombits(binary.LittleEndian.Uint64(data))
	return e, data[8:], nil
}

func text(data []byte) (s string, rest []byte, err error) {
	length, n := binary.Uvarint(data)
	if n <= 0 || length > uint64(len(data)-n) {
		return "", nil, errRow
	}
	return string(data[n : n+int(length)]), data[n+int(length):], nil
}

var errRow = fmt.Errorf("dpbeam: a row is cut off: %w", groupby.ErrFormat)

// encodeEntry and decodeEntry are the coder of an Entry.
func encodeEntry(e Entry) []byte { return appendEntry(nil, e) }

func decodeEntry(data []byte) (Entry, error) {
	e, rest, err := entry(data)
	if err == nil && len(rest) > 0 {
		err = errRow
	}
	return e, err
}

func init() {
	beam.RegisterCoder(reflect.TypeFor[Entry](), encodeEntry, decodeEntry)
	register.Emitter2[int, []byte]()
	register.DoFn3x0[string, Entry, func(int, []byte)](&batchFn{})
	register.DoFn3x1[int, func(*[]byte) bool, func([]byte), error](&usersFn{})
	register.DoFn2x2[int, func(*[]byte) bool, []byte, error](&groupsFn{})
}
