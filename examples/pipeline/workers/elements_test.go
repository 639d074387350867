package workers

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

func coder(urn string, parts ...string) *pipepb.Coder {
	return &pipepb.Coder{Spec: &pipepb.FunctionSpec{Urn: "beam:coder:" + urn + ":v1"}, ComponentCoderIds: parts}
}

var known = coders{
	"text": coder("string_utf8"), "number": coder("varint"), "bool": coder("bool"), "double": coder("double"), "own": coder("length_prefix", "custom"),
	"custom": coder("custom"), "global": coder("global_window"), "interval": coder("interval_window"), "list": coder("iterable", "own"),
	"pair": coder("kv", "text", "rest"), "rest": coder("kv", "number", "more"), "more": coder("kv", "flags", "list"), "flags": coder("kv", "bool", "double"),
	"element": coder("windowed_value", "pair", "global"), "windows": coder("windowed_value", "pair", "interval"),
	"strange": coder("kv", "text", "custom"), "nothing": coder("kv", "global", "global"),
}

// element returns an encoded element of the coder "element", or "windows".
func element(rng *rand.Rand, windows bool) (data []byte) {
	data = append(data, make([]byte, 8)...)
	if n := rng.IntN(3); windows {
		data = binary.BigEndian.AppendUint32(data, uint32(n))
		for range n {
			data = binary.AppendUvarint(append(data, make([]byte, 8)...), rng.Uint64())
		}
	} else {
		data = binary.BigEndian.AppendUint32(data, 1)
	}
	indices := rng.IntN(3)
	data = append(data, byte(indices<<4|15))
	for range indices {
		data = binary.AppendUvarint(data, rng.Uint64N(1000))
	}
	text := func() { n := rng.IntN(200); data = append(binary.AppendUvarint(data, uint64(n)), make([]byte, n)...) }
	text()
	data = binary.AppendUvarint(data, rng.Uint64())
	data = append(data, make([]byte, 9)...)
	if n := rng.IntN(4); rng.IntN(2) == 0 {
		data = binary.BigEndian.AppendUint32(data, uint32(n))
		for range n {
			text()
		}
		return data
	}
	data = binary.BigEndian.AppendUint32(data, 1<<32-1) // in batches
	for range rng.IntN(3) {
		data = binary.AppendUvarint(data, 2)
		text()
		text()
	}
	return append(data, 0)
}

// Pieces begin and end between elements, together they are all of them, and they are about equal.
func TestCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range []string{"element", "windows"} {
		for n := range 40 {
			var data []byte
			ends := map[int]bool{0: true}
			for range n {
				data = append(data, element(rng, name == "windows")...)
				ends[len(data)] = true
			}
			for _, want := range []int{1, 2, 3, 7, 100} {
				pieces, err := known.cut(name, data, want)
				if err != nil || len(pieces) != max(1, min(want, n)) || !bytes.Equal(bytes.Join(pieces, nil), data) {
					t.Fatalf("%d elements in %d pieces: %d, %v", n, want, len(pieces), err)
				}
				at := 0
				for _, piece := range pieces {
					if at += len(piece); !ends[at] || n > 0 && len(piece) == 0 {
						t.Fatalf("%d elements in %d pieces: cut at %d", n, want, at)
					}
				}
			}
			for range 20 {
				if cut := rng.IntN(len(data) + 1); !ends[cut] {
					if _, err := known.cut(name, data[:cut], 2); !errors.Is(err, errShort) {
						t.Fatalf("cut off at %d of %d: %v", cut, len(data), err)
					}
				}
			}
		}
	}
}

// What cannot be cut stays in one piece.
func TestNotCut(t *testing.T) {
	for name, data := range map[string]string{"strange": "\x01abcdef", "nothing": "x", "missing": "x"} {
		pieces, err := known.cut(name, []byte(data), 3)
		if err != nil || len(pieces) != 1 || string(pieces[0]) != data {
			t.Errorf("%s: %q, %v", name, pieces, err)
		}
	}
}
