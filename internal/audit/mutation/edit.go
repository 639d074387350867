package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/internal/audit/edits"
	"github.com/dpsketch/dpsketch/internal/audit/funcname"
)

// mutation is one edit. Old and New are Go tokens. White space, line breaks, comments and trailing
// commas do not matter, and an edit that is not found in its file is looked for in the other files
// of the package: so neither gofmt, nor another comment, nor a function that moves breaks an edit.
type mutation struct{ name, file, old, new string }

// mutations returns all edits.
func mutations() (all []mutation) {
	for _, e := range edits.All() {
		all = append(all, mutation{e.Name, e.File, e.Old, e.New})
	}
	return all
}

// dir returns the package of the file, relative to the root.
func (m mutation) dir() string { return path.Dir(m.file) }

// function returns "Func" or "Type.Method" if the edit names one.
func (m mutation) function() string {
	_, name, _ := strings.Cut(m.file, ":")
	return name
}

// lexeme is a token at the bytes [at, end) of its source.
type lexeme struct {
	kind    token.Token
	text    string
	at, end int
}

func (a lexeme) same(b lexeme) bool { return a.kind == b.kind && a.text == b.text }

// scan returns the tokens without comments and without what formatting adds or takes away: commas
// before a closing bracket, semicolons before ) or }.
func scan(source string) (all []lexeme, err error) {
	set := token.NewFileSet()
	f := set.AddFile("", set.Base(), len(source))
	var s scanner.Scanner
	s.Init(f, []byte(source), nil, 0)
	for {
		pos, kind, text := s.Scan()
		switch kind {
		case token.EOF:
			if s.ErrorCount > 0 {
				return nil, fmt.Errorf("%q is no Go", source)
			}
			return all, nil
		case token.RPAREN, token.RBRACE, token.RBRACK:
			if n := len(all); n > 0 && (all[n-1].kind == token.COMMA || all[n-1].kind == token.SEMICOLON) {
				all = all[:n-1]
			}
		}
		at := f.Offset(pos)
		end := at + len(text)
		switch {
		case kind == token.SEMICOLON:
			if text == "\n" {
				if end = at; at == len(source) {
					continue // the line does not end here
				}
			}
			text = ";"
		case text == "":
			text = kind.String()
			end = at + len(text)
		}
		all = append(all, lexeme{kind, text, at, end})
	}
}

// closing are the tokens at which a statement may end.
var closing = []token.Token{token.SEMICOLON, token.RBRACE, token.RPAREN}

// join returns the tokens as source, on one line.
func join(tokens []lexeme) string {
	words := make([]string, 0, len(tokens))
	for _, t := range tokens {
		words = append(words, t.text)
	}
	return strings.Join(words, " ")
}

// find returns where pattern stands in text, as indices of first tokens. A semicolon at the end of
// the pattern is also found where the block ends.
func find(text, pattern []lexeme) (at []int) {
	ends := len(pattern) > 0 && pattern[len(pattern)-1].kind == token.SEMICOLON
	if ends {
		pattern = pattern[:len(pattern)-1]
	}
	if len(pattern) == 0 {
		return nil
	}
	for i := 0; i+len(pattern) <= len(text); i++ {
		next := i + len(pattern)
		if !slices.EqualFunc(text[i:next], pattern, lexeme.same) {
			continue
		}
		if !ends || next == len(text) || slices.Contains(closing, text[next].kind) {
			at = append(at, i)
		}
	}
	return at
}

// place is where an edit applies: new replaces the bytes [at, end) of the source of path. What
// differs are the bytes [from, to).
type place struct {
	path     string // from the root
	source   string
	at, end  int
	from, to int
}

// edited returns the source after the edit.
func (p place) edited(m mutation) string { return p.source[:p.at] + m.new + p.source[p.end:] }

// locate finds where the edit applies under root: in its file, or else in another of the package.
func (m mutation) locate(root string) (found place, err error) {
	file, _, _ := strings.Cut(m.file, ":")
	found, n, missing := m.in(root, file)
	if missing != nil && !errors.Is(missing, os.ErrNotExist) {
		return place{}, missing
	}
	others, _ := filepath.Glob(filepath.Join(root, m.dir(), "*.go"))
	if n > 0 {
		others = nil
	}
	for _, other := range others {
		name := path.Join(m.dir(), filepath.Base(other))
		if name == file || strings.HasSuffix(name, "_test.go") {
			continue
		}
		p, more, err := m.in(root, name)
		if err != nil {
			return place{}, err
		}
		if n += more; more > 0 {
			found = p
		}
	}
	switch {
	case n == 1:
		return found, nil
	case n == 0 && missing != nil:
		return place{}, missing
	}
	return place{}, fmt.Errorf("%s: %q occurs %d times in %s, want once", m.name, m.old, n, file)
}

// in finds the edit in one file, and how often it occurs there.
func (m mutation) in(root, file string) (p place, occurs int, err error) {
	source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return p, 0, err
	}
	text, err := scan(string(source))
	if err != nil {
		return p, 0, err
	}
	if name := m.function(); name != "" {
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
		if err != nil {
			return p, 0, err
		}
		from, to := 0, 0
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && funcname.Of(fn) == name {
				from, to = set.Position(fn.Pos()).Offset, set.Position(fn.End()).Offset
			}
		}
		text = slices.DeleteFunc(text, func(t lexeme) bool { return t.at < from || t.end > to })
	}
	pattern, err1 := scan(m.old)
	replacement, err2 := scan(m.new)
	if err := errors.Join(err1, err2); err != nil {
		return p, 0, fmt.Errorf("%s: %w", m.name, err)
	}
	at := find(text, pattern)
	if len(at) != 1 {
		return p, len(at), nil
	}
	if n := len(pattern); n > 1 && pattern[n-1].kind == token.SEMICOLON {
		pattern = pattern[:n-1]
	}
	first, last := at[0], at[0]+len(pattern)-1
	p = place{path: file, source: string(source), at: text[first].at, end: text[last].end}
	for first < last && len(replacement) > 0 && text[first].same(replacement[0]) {
		first++
		replacement = replacement[1:]
	}
	for last > first && len(replacement) > 0 && text[last].same(replacement[len(replacement)-1]) {
		last--
		replacement = replacement[:len(replacement)-1]
	}
	p.from, p.to = text[first].at, text[last].end
	return p, 1, nil
}
