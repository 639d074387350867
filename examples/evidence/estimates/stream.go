package estimates

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// read returns the articles of the first baskets of a file in their order, as the FIMI repository
// has them: each line is a basket of numbers, with spaces or commas between them.
func read(name string, baskets int) ([]uint64, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var stream []uint64
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for ; baskets > 0 && lines.Scan(); baskets-- {
		for word := range strings.FieldsFuncSeq(lines.Text(), func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\r' }) {
			key, err := strconv.ParseUint(word, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			stream = append(stream, key)
		}
	}
	return stream, lines.Err()
}
