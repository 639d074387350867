package groupby

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby/internal/ranges"
)

// Rows are a [Builder] for rows in any order, and as private. One guarantee covers all rows of a
// user.
//
// They hold the users: 8 bytes for each distinct pair of user and key, 8 more each for sums,
// Average and quantiles (16 more with Values); a quarter more for the latest rows, or a megabyte
// for each 8 of these bytes; and some 30 for each user and each key.
type Rows[U, K hashing.Key] struct {
	base[rowData[U, K]]
}

// rowData is what Rows hold.
type rowData[U, K hashing.Key] struct {
	params     Params
	axis       axis
	scale      scale
	calibrated calibration
	src        *noise.Source
	users      index[U]
	keys       index[K] // those of a list are the first
	listed     int      // how many keys the list has
	pairs      pairLog
	named      bool    // users are texts or arrays, and an empty one is none
	nameless   int64   // so many rows had none
	numbers    []int64 // of a row, for the columns of the pairs

	// the latest rows, whose users and keys have no numbers yet
	latest        int // so many
	latestUsers   [ahead]U
	latestKeys    [ahead]K
	latestNumbers []int64
}

// NewRows is [New] for Rows. An ε above 20 protects hardly anybody.
func NewRows[U, K hashing.Key](p Params) (*Rows[U, K], error) {
	if p.listed {
		return nil, bad("Params", "of listed keys", "those of keys to be found: NewListedRows takes a list")
	}
	if p.Passes == 0 {
		p.Passes = 2
	}
	if p.FullKeys == 0 && !p.KeysOnly {
		p.FullKeys = AutoFullKeys
	}
	p = p.normal()
	calibrated, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	return &Rows[U, K]{holding(p, newRows[U, K](p, calibrated, nil))}, nil
}

// NewListedRows is [NewListed] for rows, with its errors. FullKeys 0 means AutoFullKeys if δ > 0,
// with Min and Max too, else 36. An ε above 20 protects hardly anybody.
func NewListedRows[U, K hashing.Key](p Params, keys ...K) (*Rows[U, K], error) {
	if p.FullKeys == 0 && !p.pure() {
		p.FullKeys = AutoFullKeys
	}
	p, keys, err := listParams(p, keys)
	if err != nil {
		return nil, err
	}
	calibrated, err := p.calibrate()
	if err != nil {
		return nil, err
	}
	return &Rows[U, K]{holding(p, newRows[U](p, calibrated, keys))}, nil
}

// newRows returns empty rows, over a list or, where that is nil, for keys to be found.
func newRows[U, K hashing.Key](p Params, calibrated calibration, list []K) rowData[U, K] {
	r := rowData[U, K]{params: p, axis: p.axis(), scale: p.scale(), calibrated: calibrated, src: new(noise.Source), users: newIndex[U](0), keys: indexOf(list), listed: len(list)}
	r.named = r.users.hasher.IsText() || r.users.hasher.IsArray()
	for range p.columns() {
		r.pairs.join = append(r.pairs.join, wrapped)
	}
	if p.Average { // the number of rows
		r.pairs.join = append(r.pairs.join, wrapped)
	}
	if p.Levels[0] != 0 {
		r.pairs.join = append(r.pairs.join, larger)
	}
	r.numbers = make([]int64, len(r.pairs.join))
	return r
}

// Add adds a row without a value: the user has the key. A repeated row counts once. A row whose
// user is "" or an array of zeros does not count ([Groups.RowsWithoutUser]); every integer is a
// user.
func (r *Rows[U, K]) Add(user U, key K) {
	if r.params.valued() {
		private.Poison(r.secret, "was given a row without a value by Add, and its Params have Min and Max, Values or Levels: call AddValue")
		return
	}
	if s := private.Enter(r.secret); s != nil {
		s.add(user, key, s.numbers)
		private.Leave(r.secret)
	}
}

// AddValue is [Rows.Add] with a value. If that is NaN, the row does not count, nor its user or key.
func (r *Rows[U, K]) AddValue(user U, key K, value float64) {
	if !r.params.valued() {
		private.Poison(r.secret, "was given values by AddValue, and its Params have no Min and Max, no Values and no Levels")
		return
	}
	if math.IsNaN(value) {
		return
	}
	if s := private.Enter(r.secret); s != nil {
		switch s.params.columns() {
		case 1:
			s.numbers[0] = s.axis.row(value, s.params.Average)
		case 2:
			s.numbers[0], s.numbers[1] = ranges.Split(value)
		}
		if s.params.Average {
			s.numbers[s.params.columns()] = 1
		}
		if s.params.Levels[0] != 0 {
			s.numbers[len(s.numbers)-1] = s.scale.sample(value, s.src.Uint64N)
		}
		s.add(user, key, s.numbers)
		private.Leave(r.secret)
	}
}

// add adds a row with a number for each column of the pairs.
func (s *rowData[U, K]) add(user U, key K, numbers []int64) {
	var nobody U
	if s.named && user == nobody {
		s.nameless = sum(s.nameless, 1)
		return
	}
	s.latestUsers[s.latest], s.latestKeys[s.latest], s.latestNumbers = user, key, append(s.latestNumbers, numbers...)
	if s.latest++; s.latest == ahead {
		s.flush()
	}
}

// flush adds the latest rows to the pairs. Their users and keys are looked up together, as memory
// answers several questions in the time of one.
func (s *rowData[U, K]) flush() {
	users, userHashes := s.users.seek(s.latestUsers[:s.latest])
	keys, keyHashes := s.keys.seek(s.latestKeys[:s.latest])
	numbers := s.latestNumbers
	for i := range s.latest {
		u, k, found, ok := users[i]-1, keys[i]-1, users[i] > 0, keys[i] > 0
		switch {
		case ok:
		case s.params.listed && !s.params.Others:
			k, ok = s.keys.find(s.latestKeys[i])
		default:
			k, ok = s.keys.enter(s.latestKeys[i], keyHashes[i])
		}
		if ok && !found {
			u, ok = s.users.enter(s.latestUsers[i], userHashes[i])
		}
		if ok {
			s.pairs.add(u, k, numbers[:len(s.numbers)])
		}
		numbers = numbers[len(s.numbers):]
	}
	s.latest, s.latestNumbers = 0, s.latestNumbers[:0]
}

// Merge is as [Builder.Merge], but a user may be in both: the rows are united.
func (r *Rows[U, K]) Merge(other *Rows[U, K]) error {
	if other == nil {
		other = new(Rows[U, K])
	}
	return private.Merge(r.secret, other.secret, "groupby: Merge", "Rows value", func(s, o *rowData[U, K]) error {
		if err := cmp.Or(check.Equal("groupby", s.params, o.params), sameKeys(s.list(), o.list())); err != nil {
			return err
		}
		s.nameless = sum(s.nameless, o.nameless)
		o.flush()
		for q, user := range o.pairs.all {
			for at := user.from; at < user.to; at++ {
				word := q.words[at]
				s.add(o.users.keys[word>>32], o.keys.keys[uint32(word)], q.row(at, s.numbers))
			}
		}
		return nil
	})
}

// Release is as [Builder.Release].
func (r *Rows[U, K]) Release() (*Groups[K], error) {
	s, err := private.Take(r.secret, "groupby: Release: the Rows value")
	if err != nil {
		return nil, err
	}
	next := s.state()
	return next.pass.(releasing[K]).release(next), nil
}

// chooseFirst chooses FullKeys for a state of one pass by the users' numbers of keys, so that it
// need not sum by every clip.
func (s *rowData[U, K]) chooseFirst(next *state[K]) {
	for q, user := range s.pairs.all {
		l := user.to - user.from
		switch {
		case !s.params.listed:
			next.lose(1, min(l, s.params.most), l > s.params.most)
		case s.listedIn(q, user) > 0:
			next.lose(1, s.listedIn(q, user), false)
		}
	}
	next.chosen = next.choose(next.noise)
	clear(next.shorts) // users give them once more, as they are added
	next.table = newTable(next.table.index, 0)
}

// list returns the keys of the list.
func (s *rowData[U, K]) list() []K { return s.keys.keys[:s.listed] }

// listedIn returns how many of a user's keys are listed. They are sorted by number.
func (s *rowData[U, K]) listedIn(q *shard, user span) (n int) {
	for user.from+n < user.to && int(uint32(q.words[user.from+n])) < s.listed {
		n++
	}
	return n
}

// state returns the state of a Builder that was given all users, and leaves nothing here.
func (s *rowData[U, K]) state() *state[K] {
	s.flush()
	var w pass[K] = onePass[K]{}
	keys := s.keys
	switch {
	case s.params.listed:
		w, keys = listedPass[K]{}, indexOf(s.list())
	case s.params.Passes == 2:
		w = twoPasses[K]{}
	}
	next, columns := newState(s.params, s.calibrated, w, keys, s.listed), s.params.columns()
	next.named, next.nameless = s.named && s.params.Relation == budget.AddRemove, s.nameless
	if s.params.Passes == 2 { // room for all, so that no slice grows by copying
		pairs := 0
		for i := range s.pairs.shards {
			pairs += len(s.pairs.shards[i].words)
		}
		next.users = retainedUsers{ends: make([]int, 0, len(s.users.keys)), keys: make([]uint32, 0, pairs), sums: make([]int64, 0, pairs*columns)}
		if next.cellWeights != nil {
			next.users.cells = make([]uint32, 0, pairs)
		}
	} else {
		s.chooseFirst(&next)
	}
	var last *shard
	for q, user := range s.pairs.all {
		if last != nil && q != last {
			*last = shard{} // so that little is held twice
		}
		last = q
		next.numbers, next.sums, next.samples, next.rows = next.numbers[:0], next.sums[:0], next.samples[:0], next.rows[:0]
		if next.keys = next.keys[:0]; s.params.listed {
			n := s.listedIn(q, user)
			for _, word := range q.words[user.from+n : user.to] {
				next.keys = append(next.keys, s.keys.keys[uint32(word)])
			}
			user.to = user.from + n
		}
		numbers := next.numbers
		for _, word := range q.words[user.from:user.to] {
			numbers = append(numbers, uint32(word))
		}
		next.numbers = numbers
		for at := user.from; at < user.to && columns > 0; at++ {
			for _, column := range q.columns[:columns] {
				next.sums = append(next.sums, column[at])
			}
		}
		if s.params.Average {
			next.rows = append(next.rows, q.columns[columns][user.from:user.to]...)
			s.params.averages(next.sums, next.rows)
		}
		if next.cellWeights != nil {
			next.samples = append(next.samples, q.columns[len(q.columns)-1][user.from:user.to]...)
		}
		next.pass.add(&next)
	}
	return &next
}

// pairLog holds the distinct pairs of a user and a key, by their numbers, with what his rows in the
// key come to. A row is appended; from time to time what has come is sorted and joined with the
// rest, in one of several shards, so that little memory is held twice.
//
// The rows of a pair are joined in batches that other users' rows make, in no order of their own.
// So each join is associative and commutative: what a pair comes to depends on its rows alone.
type pairLog struct {
	join   []func(a, b int64) int64 // of the numbers of two rows of one pair
	shards [1 << shardBits]shard

	rows   [2][]numbered // for reuse: see settle
	words  []uint64
	order  []int64
	column []int64
}

// wrapped is the join of values: a + b modulo 2⁶⁴. A sum that saturates is not associative.
func wrapped(a, b int64) int64 { return a + b }

// shardBits is how many of a user's low bits say in which shard his pairs are.
const shardBits = 6

// shard holds pairs and, in columns, their numbers.
type shard struct {
	words   []uint64 // user<<32 | key
	columns [][]int64
	settled int // words[:settled] are sorted and distinct; the others are as they came
}

// add adds a row, with a number for each column.
func (p *pairLog) add(user, key uint32, numbers []int64) {
	q := p.shardOf(user)
	if len(q.words) == cap(q.words) {
		if q.settled > 0 || len(q.words) > 1024 {
			p.settle(q)
		}
		n := len(q.words)
		if room := n + max(n/4, min(n, 1024)) + 64; room > cap(q.words) {
			q.words = append(make([]uint64, 0, room), q.words...)
			q.columns = append(make([][]int64, 0, len(p.join)), q.columns...)[:len(p.join)]
			for c, column := range q.columns {
				q.columns[c] = append(make([]int64, 0, room), column...)
			}
		}
	}
	q.words = append(q.words, uint64(user)<<32|uint64(key))
	for c, x := range numbers {
		q.columns[c] = append(q.columns[c], x)
	}
}

// shardOf returns the shard of a user.
func (p *pairLog) shardOf(user uint32) *shard { return &p.shards[user%uint32(len(p.shards))] }

// numbered is a word to sort by, and a number of it: where a row stands in its shard, or a weight.
type numbered struct {
	word   uint64
	number int64
}

// radixSorted returns the entries sorted, those of one word as they came: by eight bits at a time,
// from the lowest in which they differ. It writes to both slices, and returns the other one too.
// Pairs differ in five bytes: keytable.Sort, from the highest byte, takes 1.3 to 1.9 times as long
// for tens of thousands of them, and as long for fewer.
func radixSorted(entries, other []numbered) (sorted, spare []numbered) {
	differ, next := uint64(0), slices.Grow(other[:0], len(entries))[:len(entries)]
	for _, e := range entries {
		differ |= e.word ^ entries[0].word
	}
	for differ != 0 {
		shift := bits.TrailingZeros64(differ) & 63
		differ &^= 0xff << shift
		var starts [256]int
		for _, e := range entries {
			starts[byte(e.word>>shift)]++
		}
		start := 0
		for b, count := range starts {
			starts[b], start = start, start+count
		}
		for _, e := range entries {
			start := &starts[byte(e.word>>shift)]
			next[*start] = e
			*start++
		}
		entries, next = next, entries
	}
	return entries, next
}

// settle sorts and joins all rows of a shard.
func (p *pairLog) settle(q *shard) {
	n := len(q.words)
	rows := slices.Grow(p.rows[0][:0], n-q.settled)
	for i, word := range q.words[q.settled:] {
		rows = append(rows, numbered{word, int64(q.settled + i)})
	}
	rows, p.rows[1] = radixSorted(rows, p.rows[1])
	p.rows[0] = rows
	words := slices.Grow(p.words[:0], n)
	order := slices.Grow(p.order[:0], n)[:n] // ^at where a row is joined with the one before
	last, at, i := ^uint64(0), 0, 0          // which is no pair: see keytable.MaxEntries
	for m := range order {
		var next numbered
		if i == len(rows) || at < q.settled && q.words[at] <= rows[i].word {
			next, at = numbered{q.words[at], int64(at)}, at+1
		} else {
			next, i = rows[i], i+1
		}
		if order[m] = next.number; next.word == last {
			order[m] = ^next.number
		} else {
			words, last = append(words, next.word), next.word
		}
	}
	q.words, q.settled = append(q.words[:0], words...), len(words)
	for c, numbers := range q.columns {
		column := slices.Grow(p.column[:0], len(words))
		for _, at := range order {
			if at >= 0 {
				column = append(column, numbers[at])
			} else {
				last := &column[len(column)-1]
				*last = p.join[c](*last, numbers[^at])
			}
		}
		q.columns[c], p.column = append(numbers[:0], column...), column
	}
	p.words, p.order = words, order
}

// span is where a user's pairs lie in a shard.
type span struct{ from, to int }

// all settles the pairs and yields where those of each user lie, sorted by key.
func (p *pairLog) all(yield func(q *shard, user span) bool) {
	for i := range p.shards {
		q := &p.shards[i]
		if q.settled < len(q.words) {
			p.settle(q)
		}
		words := q.words
		for from, to := 0, 0; from < len(words); from = to {
			user := words[from] >> 32
			for to = from + 1; to < len(words) && words[to]>>32 == user; to++ {
			}
			if !yield(q, span{from, to}) {
				return
			}
		}
	}
}

// row sets into to the numbers of a row.
func (q *shard) row(at int, into []int64) []int64 {
	for c, column := range q.columns {
		into[c] = column[at]
	}
	return into
}
