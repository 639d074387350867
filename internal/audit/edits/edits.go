// Package edits holds the flaws that internal/audit/mutation plants, one at a time: they are data,
// a line each in the files beside this one.
package edits

import (
	"embed"
	"slices"
	"strconv"
	"strings"
)

// Edit is a change of the only occurrence of Old, in a file or in one function of it, into New.
type Edit struct {
	Name     string // what it breaks
	File     string // from the root: "kor/place.go", or "kor/place.go:Type.Method" for one function
	Old, New string
}

//go:embed *.txt
var files embed.FS

// All returns the edits, file by file. In a file each is {"name", "file", "old", "new"}, in the
// strings of Go.
func All() (all []Edit) {
	list, _ := files.ReadDir(".") // of what is embedded nothing fails
	for _, entry := range list {
		text, _ := files.ReadFile(entry.Name())
		var parts []string
		for rest := string(text); strings.ContainsAny(rest, "\"`"); {
			rest = rest[strings.IndexAny(rest, "\"`"):]
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				panic(entry.Name() + ": " + rest)
			}
			part, _ := strconv.Unquote(quoted)
			parts, rest = append(parts, part), rest[len(quoted):]
		}
		for e := range slices.Chunk(parts, 4) {
			all = append(all, Edit{e[0], e[1], e[2], e[3]})
		}
	}
	return all
}
