// Package replay freezes the noise of a release and records what is drawn, so that a test can run
// neighbouring inputs through the whole release and compare: the same draws in the same order, and
// what is added to the noise apart by at most the declared sensitivity.
//
// The library itself is not prepared for this. The test builds its own binary anew, with an overlay
// that [Overlay] makes of package noise: each sampler and each method of a Source reports to
// [Enter] before it draws. So nothing that a program links can freeze or record noise.
//
// A draw is a call that code outside package noise makes into it. What it returns is a function of
// its parameters, of the place in the code that calls and of how often that place has called
// before, and of nothing else: a draw more at one place leaves the noise of all other places as it
// was. How many random words a draw takes is its own affair, as its law is tested elsewhere.
package replay

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
)

// Draw is one call into package noise.
type Draw struct {
	Call string // the sampler, its law and its parameters
	Law  any    // the law, nil if the sampler has none
	Data any    // of these, what may depend on data: the count below which nothing is shown, say
	From string // the functions that lead to it, innermost first
}

var tape struct {
	sync.Mutex
	on    bool
	depth int
	seen  map[string]uint64 // how often each place has drawn
	key   [32]byte          // of the current draw
	fixed func(Draw) float64
	words uint64
	names map[[64]uintptr]string // of callers, as trace has them
	block uint64                 // keystreams that it has taken
	draws []Draw
}

// Record runs a release with frozen noise and returns its draws. Releases that draw in several
// goroutines at once cannot be recorded.
func Record(release func()) []Draw { return RecordFixed(0, nil, release) }

// RecordFixed is Record, where each draw of noise returns the number that fixed gives for it, in
// units of the grid on which it is drawn. A draw below a least value shows nothing. What is no
// noise, but chooses (a sample, a place, a coin), is frozen, for each number
// words in another way. A fixed of nil is Record.
func RecordFixed(words uint64, fixed func(Draw) float64, release func()) []Draw {
	tape.Lock()
	tape.on, tape.depth, tape.seen, tape.draws, tape.fixed, tape.words = true, 0, map[string]uint64{}, nil, fixed, words
	if tape.names == nil {
		tape.names = map[[64]uintptr]string{}
	}
	tape.Unlock()
	release()
	tape.Lock()
	defer tape.Unlock()
	tape.on = false
	return tape.draws
}

// Enter notes a draw, unless it is part of another or nothing is recorded, and fixes what it will
// return. renew is called before: it drops what the Source still holds. data may depend on private
// data, the values may not. The overlay calls leave when the draw is done.
func Enter(renew func(), law, data any, format string, values ...any) (leave func()) {
	tape.Lock()
	defer tape.Unlock()
	if !tape.on {
		return func() {}
	}
	if tape.depth++; tape.depth == 1 {
		var counters [64]uintptr
		depth := len(counters)
		if tape.fixed != nil {
			depth = 8 // of many draws, which are only told apart
		}
		n := runtime.Callers(3, counters[:depth])
		place, known := tape.names[counters]
		if !known {
			place = trace(counters[:n])
			tape.names[counters] = place
		}
		if tape.fixed != nil { // whoever calls, since sides are compared by several calls
			place, _, _ = strings.Cut(place, " ← internal/audit/replay_test.")
		}
		tape.seen[place]++
		if tape.fixed == nil || law != nil { // words are compared only where they are frozen
			tape.draws = append(tape.draws, Draw{fmt.Sprintf(format, values...), law, data, place})
		}
		h := fnv.New128a()
		h.Write(binary.LittleEndian.AppendUint64([]byte(place), tape.seen[place]+tape.words<<32))
		h.Sum(tape.key[:0])
		tape.block = 0
		renew()
	}
	return func() {
		tape.Lock()
		tape.depth--
		tape.Unlock()
	}
}

// Fixed returns what the current draw returns, if that is fixed.
func Fixed() (steps float64, ok bool) {
	tape.Lock()
	defer tape.Unlock()
	if !tape.on || tape.fixed == nil {
		return 0, false
	}
	if len(tape.draws) == 0 { // RandomizedRound before any noise
		return 0, true
	}
	return tape.fixed(tape.draws[len(tape.draws)-1]), true
}

// Frozen reports whether a draw is being recorded.
func Frozen() bool {
	tape.Lock()
	defer tape.Unlock()
	return tape.on
}

// Stream returns the keystream that takes the place of a Source's next one, nil if nothing is
// recorded.
func Stream() cipher.Stream {
	tape.Lock()
	defer tape.Unlock()
	if !tape.on {
		return nil
	}
	if tape.fixed != nil { // of many words, most of which nobody reads
		tape.block++
		return &quick{rand.NewPCG(binary.LittleEndian.Uint64(tape.key[:])+tape.block, binary.LittleEndian.Uint64(tape.key[8:]))}
	}
	block, err := aes.NewCipher(tape.key[:])
	if err != nil {
		panic(err)
	}
	var start [aes.BlockSize]byte
	binary.LittleEndian.PutUint64(start[:], tape.block)
	tape.block++
	return cipher.NewCTR(block, start[:])
}

// quick is a keystream that is no cipher, and repeats itself: a Source asks for many words, of
// which a draw reads one or two.
type quick struct{ words *rand.PCG }

func (q *quick) XORKeyStream(dst, zeros []byte) {
	n := min(len(zeros), 256)
	for i := 0; i < n; i += 8 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], q.words.Uint64())
		copy(dst[i:n], word[:])
	}
	for ; n < len(zeros); n *= 2 {
		copy(dst[n:len(zeros)], dst[:n])
	}
}

// trace returns the names of the functions of this module among the callers, with lines.
func trace(counters []uintptr) string {
	var names []string
	frames := runtime.CallersFrames(counters)
	for {
		f, more := frames.Next()
		if name, ours := strings.CutPrefix(f.Function, "github.com/dpsketch/dpsketch/"); ours && !strings.HasPrefix(name, "internal/audit/replay.") {
			names = append(names, fmt.Sprintf("%s:%d", name, f.Line))
		}
		if !more {
			return strings.Join(names, " ← ")
		}
	}
}
