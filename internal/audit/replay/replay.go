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
	"runtime"
	"strings"
	"sync"
)

// Draw is one call into package noise.
type Draw struct {
	Call string // the sampler, its law and its parameters
	Data any    // of these, what may depend on data: the count below which nothing is shown, say
	From string // the functions that lead to it, innermost first
}

var tape struct {
	sync.Mutex
	on    bool
	depth int
	seen  map[string]uint64 // how often each place has drawn
	key   [32]byte          // of the current draw
	block uint64            // keystreams that it has taken
	draws []Draw
}

// Record runs a release with frozen noise and returns its draws. Releases that draw in several
// goroutines at once cannot be recorded.
func Record(release func()) []Draw {
	tape.Lock()
	tape.on, tape.depth, tape.seen, tape.draws = true, 0, map[string]uint64{}, nil
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
func Enter(renew func(), data any, format string, values ...any) (leave func()) {
	tape.Lock()
	defer tape.Unlock()
	if !tape.on {
		return func() {}
	}
	if tape.depth++; tape.depth == 1 {
		var counters [64]uintptr
		n := runtime.Callers(3, counters[:])
		place := trace(counters[:n])
		tape.seen[place]++
		tape.draws = append(tape.draws, Draw{fmt.Sprintf(format, values...), data, place})
		h := fnv.New128a()
		fmt.Fprint(h, len(place), place, tape.seen[place])
		copy(tape.key[:], h.Sum(nil))
		tape.block = 0
		renew()
	}
	return func() {
		tape.Lock()
		tape.depth--
		tape.Unlock()
	}
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
	block, err := aes.NewCipher(tape.key[:])
	if err != nil {
		panic(err)
	}
	var start [aes.BlockSize]byte
	binary.LittleEndian.PutUint64(start[:], tape.block)
	tape.block++
	return cipher.NewCTR(block, start[:])
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
