package workers

import (
	"encoding/binary"
	"fmt"

	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
)

// coders are those of a bundle's descriptor.
type coders map[string]*pipepb.Coder

// cut cuts encoded elements into at most n pieces of about as many elements each. Elements of a
// coder that is not known stay in one piece.
func (c coders) cut(coder string, data []byte, n int) ([][]byte, error) {
	if !c.known(coder) {
		return [][]byte{data}, nil
	}
	var ends []int
	for rest := data; len(rest) > 0; {
		after, err := c.skip(coder, rest)
		if err != nil {
			return nil, err
		}
		if len(after) == len(rest) {
			return [][]byte{data}, nil // elements without bytes
		}
		rest = after
		ends = append(ends, len(data)-len(rest))
	}
	n = max(1, min(n, len(ends)))
	pieces, from := make([][]byte, n), 0
	for i := range pieces {
		to := len(data)
		if i < n-1 {
			to = ends[(i+1)*len(ends)/n-1]
		}
		pieces[i], from = data[from:to], to
	}
	return pieces, nil
}

// known reports whether skip can tell where an element of the coder ends.
func (c coders) known(coder string) bool {
	switch c[coder].GetSpec().GetUrn() {
	case "beam:coder:length_prefix:v1", "beam:coder:bytes:v1", "beam:coder:string_utf8:v1", "beam:coder:varint:v1", "beam:coder:bool:v1",
		"beam:coder:double:v1", "beam:coder:global_window:v1", "beam:coder:interval_window:v1":
		return true
	case "beam:coder:kv:v1", "beam:coder:iterable:v1", "beam:coder:windowed_value:v1":
		for _, part := range c[coder].GetComponentCoderIds() {
			if !c.known(part) {
				return false
			}
		}
		return true
	}
	return false
}

// skip returns what follows the first element. The formats are those of Beam's
// standard_coders.yaml.
func (c coders) skip(coder string, data []byte) (rest []byte, err error) {
	parts := c[coder].GetComponentCoderIds()
	switch c[coder].GetSpec().GetUrn() {
	case "beam:coder:global_window:v1":
		return data, nil
	case "beam:coder:length_prefix:v1", "beam:coder:bytes:v1", "beam:coder:string_utf8:v1":
		length, n := binary.Uvarint(data)
		if n <= 0 || length > uint64(len(data)-n) {
			return nil, errShort
		}
		return data[n+int(length):], nil
	case "beam:coder:varint:v1":
		return varint(data)
	case "beam:coder:bool:v1":
		return past(data, 1)
	case "beam:coder:double:v1":
		return past(data, 8)
	case "beam:coder:interval_window:v1":
		if data, err = past(data, 8); err != nil {
			return nil, err
		}
		return varint(data)
	case "beam:coder:kv:v1":
		for _, part := range parts {
			if data, err = c.skip(part, data); err != nil {
				return nil, err
			}
		}
		return data, nil
	case "beam:coder:iterable:v1":
		return c.skipIterable(parts[0], data)
	case "beam:coder:windowed_value:v1": // element coder, window coder
		if data, err = past(data, 8); err != nil { // time
			return nil, err
		}
		if data, err = c.skipIterable(parts[1], data); err != nil {
			return nil, err
		}
		if len(data) == 0 {
			return nil, errShort
		}
		indices := int(data[0] >> 4) // of the pane
		for data = data[1:]; indices > 0; indices-- {
			if data, err = varint(data); err != nil {
				return nil, err
			}
		}
		return c.skip(parts[0], data)
	}
	return nil, fmt.Errorf("workers: coder %q", coder)
}

// skipIterable skips a number in 4 bytes and so many elements. −1 stands for a number of batches,
// each of which has its number, up to one of 0.
func (c coders) skipIterable(coder string, data []byte) (rest []byte, err error) {
	if len(data) < 4 {
		return nil, errShort
	}
	count := int32(binary.BigEndian.Uint32(data))
	if data = data[4:]; count >= 0 {
		return c.skipMany(coder, data, uint64(count))
	}
	for {
		batch, n := binary.Uvarint(data)
		if n <= 0 {
			return nil, errShort
		}
		if data = data[n:]; batch == 0 {
			return data, nil
		}
		if data, err = c.skipMany(coder, data, batch); err != nil {
			return nil, err
		}
	}
}

func (c coders) skipMany(coder string, data []byte, count uint64) (rest []byte, err error) {
	for ; count > 0; count-- {
		if data, err = c.skip(coder, data); err != nil {
			return nil, err
		}
	}
	return data, nil
}

var errShort = fmt.Errorf("workers: an element is cut off")

func past(data []byte, n int) ([]byte, error) {
	if len(data) < n {
		return nil, errShort
	}
	return data[n:], nil
}

func varint(data []byte) ([]byte, error) {
	_, n := binary.Uvarint(data)
	if n <= 0 {
		return nil, errShort
	}
	return data[n:], nil
}
