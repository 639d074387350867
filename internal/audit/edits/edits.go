// Package edits holds the flaws that internal/audit/mutation plants, one at a time: they are data,
// a line each in the files beside this one.
package edits

import (
	"embed"
	"go/scanner"
	"go/token"
	"strconv"
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
	list, err := files.ReadDir(".")
	if err != nil {
		panic(err)
	}
	for _, entry := range list {
		text, err := files.ReadFile(entry.Name())
		if err != nil {
			panic(err)
		}
		var parts []string
		var s scanner.Scanner
		set := token.NewFileSet()
		s.Init(set.AddFile(entry.Name(), -1, len(text)), text, nil, 0)
		for kind := token.ILLEGAL; kind != token.EOF; {
			var literal string
			if _, kind, literal = s.Scan(); kind == token.STRING {
				part, err := strconv.Unquote(literal)
				if err != nil {
					panic(err)
				}
				parts = append(parts, part)
			}
			if len(parts) == 4 {
				all, parts = append(all, Edit{parts[0], parts[1], parts[2], parts[3]}), nil
			}
		}
	}
	return all
}
