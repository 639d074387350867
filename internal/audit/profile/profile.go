// Package profile reads the cover profiles of go test.
package profile

import (
	"fmt"
	"strings"
)

// Point is a line and a column, both from 1 and in bytes.
type Point [2]int

// Block is a part of a file that is run as a whole.
type Block struct {
	File     string // from the root of the module
	From, To Point
}

// Ran returns the blocks of a profile that were run.
func Ran(profile, module string) (blocks []Block) {
	for line := range strings.Lines(profile) { // "module/p/p.go:5.2,6.14 1 1"
		var b Block
		var statements, count int
		file, rest, _ := strings.Cut(strings.TrimPrefix(line, module+"/"), ":")
		n, _ := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d",
			&b.From[0], &b.From[1], &b.To[0], &b.To[1], &statements, &count)
		if n == 6 && count > 0 {
			b.File = file
			blocks = append(blocks, b)
		}
	}
	return blocks
}
