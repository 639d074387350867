package keytable

import "math/bits"

// Sort sorts by key; entries of one key stay in their order. room has the same length.
func Sort(records, room []Entry[uint64]) { sortInto(records, room, false) }

// sortInto sorts the records, and leaves them in room if moved. It splits them by the highest byte
// in which keys differ, and sorts each part.
func sortInto(records, room []Entry[uint64], moved bool) {
	const few, mask = 24, 1<<8 - 1
	differ := uint64(0)
	for i := range records {
		differ |= records[i].Key ^ records[0].Key
	}
	if len(records) <= few || differ == 0 {
		if insertionSort(records); moved {
			copy(room, records)
		}
		return
	}
	shift := max(bits.Len64(differ)-8, 0)
	var ends [mask + 2]uint32 // of each byte one further: where it begins, and then where it ends
	for i := range records {
		ends[records[i].Key>>shift&mask+1]++
	}
	for b := range mask {
		ends[b+1] += ends[b]
	}
	for _, r := range records {
		place := &ends[r.Key>>shift&mask]
		room[*place] = r
		*place++
	}
	start := uint32(0)
	for _, end := range ends[:mask+1] {
		if end > start {
			sortInto(room[start:end], records[start:end], !moved)
		}
		start = end
	}
}

func insertionSort(records []Entry[uint64]) {
	for i := 1; i < len(records); i++ {
		r, j := records[i], i
		for ; j > 0 && records[j-1].Key > r.Key; j-- {
			records[j] = records[j-1]
		}
		records[j] = r
	}
}
