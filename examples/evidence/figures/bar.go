package figures

import (
	"fmt"
	"io"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// bar is one line on a terminal that says how much of a figure is done. Elsewhere it prints
// nothing.
type bar struct {
	out         io.Writer
	name        string
	done, steps int
}

func newBar(out io.Writer, name string, steps int) *bar {
	if !cli.Terminal(out) {
		out = io.Discard
	}
	return &bar{out: out, name: name, steps: steps}
}

// step counts one of the steps, which are about equally long.
func (b *bar) step() {
	const width = 40
	b.done++
	part := min(float64(b.done)/float64(b.steps), 1)
	full := int(part * width)
	fmt.Fprintf(b.out, "\r%-22s [%s%s] %3.0f %%\x1b[K", b.name, strings.Repeat("#", full), strings.Repeat(" ", width-full), 100*part)
}

// clear removes the line.
func (b *bar) clear() { fmt.Fprint(b.out, "\r\x1b[K") }
