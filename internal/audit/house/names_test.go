package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// The exported names are those of the list: a new one is a decision, and stands in the same commit.
// After a change: go test ./internal/audit/house -update.
func TestNames(t *testing.T) {
	rooms := dptest.OK(count("../../.."))(t)
	dptest.Golden(t, "names.txt", strings.Join(exported(rooms), "\n")+"\n")
}

// The library has at most as many lines of code as the list says, and a question opens at most as
// many files: growth is a decision, and stands in the same commit. Doors take minutes: -deep.
func TestMeasures(t *testing.T) {
	var library room
	for path, r := range dptest.OK(count("../../.."))(t) {
		if !strings.HasPrefix(path, "examples") && !strings.HasPrefix(path, "internal/audit") {
			library.add(r)
		}
	}
	least := map[string]int{}
	for line := range strings.Lines(string(dptest.OK(os.ReadFile("testdata/measures.txt"))(t))) {
		var name string
		var n int
		if !strings.HasPrefix(line, "#") {
			dptest.OK(fmt.Sscan(line, &name, &n))(t)
			least[name] = n
		}
	}
	require.LessOrEqual(t, library.code, least["lines"], "lines of code")
	if !dptest.Deep() {
		return
	}
	for _, path := range asked {
		files := dptest.OK(opened("../../..", path))(t)
		require.LessOrEqual(t, len(files), least[path], "files that the first Example of %s opens: %v", path, files)
	}
}
