package groupby

import (
	"cmp"
	"slices"
)

// pairLog holds the distinct pairs of a user and a key, by their numbers, with what his rows in the
// key come to. A row is appended; from time to time what has come is sorted and joined with the
// rest, in one of several parts, so that little memory is held twice.
//
// The rows of a pair are joined in batches that other users' rows make, in no order of their own.
// So each join is associative and commutative: what a pair comes to depends on its rows alone.
type pairLog struct {
	join  []func(a, b int64) int64 // of the numbers of two rows of one pair
	parts [1 << partBits]part
}

// wrapped is the join of values: a + b modulo 2⁶⁴. A sum that saturates is not associative.
func wrapped(a, b int64) int64 { return a + b }

// partBits is how many of a user's low bits say in which part his pairs are.
const partBits = 6

// part holds pairs and, in columns, their numbers.
type part struct {
	words   []uint64 // user<<32 | key
	columns [][]int64
	settled int // so many words are sorted and distinct; the others are as they came
}

// add adds a row, with a number for each column.
func (p *pairLog) add(user, key uint32, numbers []int64) {
	q := p.of(user)
	if len(q.words) == cap(q.words) {
		q.settle(p.join)
	}
	q.push(uint64(user)<<32|uint64(key), numbers)
}

// of returns the part of a user.
func (p *pairLog) of(user uint32) *part { return &p.parts[user%uint32(len(p.parts))] }

// push appends a row. There is room.
func (q *part) push(word uint64, numbers []int64) {
	q.words = append(q.words, word)
	for c, x := range numbers {
		q.columns[c] = append(q.columns[c], x)
	}
}

// settle sorts and joins all rows, and makes room for a quarter as many.
func (q *part) settle(join []func(a, b int64) int64) {
	type row struct {
		word uint64
		at   int
	}
	rows := make([]row, 0, len(q.words)-q.settled)
	for at := q.settled; at < len(q.words); at++ {
		rows = append(rows, row{q.words[at], at})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.word, b.word) })
	distinct, at := q.settled, 0
	for n, r := range rows {
		for at < q.settled && q.words[at] < r.word {
			at++
		}
		if (n == 0 || rows[n-1].word != r.word) && (at == q.settled || q.words[at] != r.word) {
			distinct++
		}
	}
	room := distinct + distinct/4 + 64
	next := part{words: make([]uint64, 0, room), columns: make([][]int64, len(join))}
	for c := range join {
		next.columns[c] = make([]int64, 0, room)
	}
	take := func(at int) { // row at, joined with the one before where the pair is the same
		last := len(next.words) - 1
		if last < 0 || next.words[last] != q.words[at] {
			next.words = append(next.words, q.words[at])
			for c := range join {
				next.columns[c] = append(next.columns[c], q.columns[c][at])
			}
			return
		}
		for c, join := range join {
			next.columns[c][last] = join(next.columns[c][last], q.columns[c][at])
		}
	}
	at = 0
	for _, r := range rows {
		for ; at < q.settled && q.words[at] <= r.word; at++ {
			take(at)
		}
		take(r.at)
	}
	for ; at < q.settled; at++ {
		take(at)
	}
	next.settled = len(next.words)
	*q = next
}

// span is where a user's pairs lie in a part.
type span struct{ from, to int }

// all settles the pairs and yields where those of each user lie, sorted by key.
func (p *pairLog) all(yield func(q *part, of span) bool) {
	for i := range p.parts {
		q := &p.parts[i]
		if q.settled < len(q.words) {
			q.settle(p.join)
		}
		for from, to := 0, 0; from < len(q.words); from = to {
			for to = from; to < len(q.words) && q.words[to]>>32 == q.words[from]>>32; to++ {
			}
			if !yield(q, span{from, to}) {
				return
			}
		}
	}
}

// row sets into to the numbers of a row.
func (q *part) row(at int, into []int64) []int64 {
	for c, column := range q.columns {
		into[c] = column[at]
	}
	return into
}
