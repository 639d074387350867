package dptest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/wire"
)

// list is an ascending list of numbers with a codec. Its flaw selects a mistake of the codec.
type list struct {
	values []uint64
	raw    []byte
}

// flaw is the mistake under test; a variable, as decoders take no arguments.
var flaw string

func (l *list) AppendBinary(dst []byte) ([]byte, error) {
	if flaw == "prefix lost" {
		dst = nil
	}
	dst = wire.AppendHeader(dst, wire.KindKOR, 1)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(l.values)))
	for i, v := range l.values {
		if flaw == "input kept" && l.raw != nil {
			v = binary.LittleEndian.Uint64(l.raw[10+8*i:])
		}
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst, nil
}

func (l *list) MarshalBinary() ([]byte, error) {
	if flaw == "marshal fails" {
		return nil, errors.New("no")
	}
	return l.AppendBinary(nil)
}

func (l *list) UnmarshalBinary(data []byte) error {
	r := wire.NewReader("list", data)
	r.Header(wire.KindKOR, 1)
	var values []uint64
	switch flaw {
	case "amplification":
		n := r.Uint32()
		values = make([]uint64, 0, min(n, 1<<20))
		for range n {
			if r.Err() != nil {
				break
			}
			values = append(values, r.Uint64())
		}
	case "panic":
		for range r.Count(1<<20, 1) {
			values = append(values, binary.LittleEndian.Uint64(data[10+8*len(values):]))
			r.Uint64()
		}
	default:
		for range r.Count(1<<20, 8) {
			values = append(values, r.Uint64())
		}
	}
	if flaw == "receiver changed" {
		l.values = values
	}
	if flaw == "sorts" {
		slices.Sort(values)
	}
	if !slices.IsSorted(values) {
		r.Fail("numbers not in ascending order")
	}
	err := r.Err()
	if flaw != "trailing" {
		err = r.Done()
	}
	switch {
	case flaw == "wrong error" && err != nil:
		return errors.New("bad bytes")
	case flaw == "params error" && err != nil:
		return check.ParamsError("list", "n", 1, "another")
	case err != nil:
		return err
	}
	if flaw == "stale" && l.values != nil {
		return nil
	}
	l.values = values
	l.raw = nil
	if flaw == "input kept" {
		l.raw = data
	}
	if flaw == "unequal" {
		l.values = slices.Clone(values[:1])
	}
	return nil
}

func equalLists(a, b *list) bool { return slices.Equal(a.values, b.values) }

func TestCodec(t *testing.T) {
	valid := &list{values: []uint64{3, 5, 1 << 40, math.MaxUint64 - 7}}
	flaw = ""
	Codec(t, valid, equalLists)
	Codec(t, &list{}, equalLists)
	for _, flaw = range []string{
		"prefix lost", "marshal fails", "input kept", "amplification", "panic", "receiver changed", "sorts", "wrong error",
		"params error", "trailing", "unequal", "stale",
	} {
		require.True(t, fails(func(t testing.TB) { Codec(t, valid, equalLists) }), flaw)
	}
	flaw = ""
	require.True(t, fails(func(t testing.TB) {
		Codec(t, valid, func(a, b *list) bool { return false })
	}), "never equal")
	data, err := valid.MarshalBinary()
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(data, []byte("dpsk")))
}

func TestDeepEqual(t *testing.T) {
	require.True(t, DeepEqual(&list{values: []uint64{1, 2}}, &list{values: []uint64{1, 2}}))
	require.False(t, DeepEqual(&list{values: []uint64{1, 2}}, &list{values: []uint64{1, 3}}))
	require.False(t, DeepEqual(&list{}, &list{values: []uint64{}}))
}
