package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A small package whose numbers are counted by hand.
func TestCount(t *testing.T) {
	root := t.TempDir()
	for _, folder := range folders {
		if filepath.Ext(folder) == "" {
			require.NoError(t, os.Mkdir(filepath.Join(root, folder), 0o755))
		}
	}
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	write("bench_test.go", "package x\n")
	write("kor/kor.go", `// Package kor is a comment.
package kor

/* two lines
of a comment */
type Params struct { // a comment
	Epsilon, Delta float64
	hidden  int
}

const text = `+"`a raw\n\nstring`"+`

func (p *Params) Plan() {}
func (Params) String() string { return "" }
func (b *Builder[K]) Add() {}
func (h hidden) Out() {}

type Builder[K comparable] struct{ hidden }
type hidden struct{}

func New() {}
`)
	write("kor/kor_test.go", "package kor\n\n// all lines\n")
	rooms, err := count(root)
	require.NoError(t, err)
	require.Equal(t, 15, rooms["kor"].code)
	require.Equal(t, 1, rooms["kor"].tests)
	require.Equal(t, 2, rooms["kor"].types)
	require.Equal(t, 2, rooms["kor"].methods)
	require.Equal(t, 2, rooms["kor"].fields)
	require.Equal(t, []string{"kor.Builder", "kor.Builder.Add", "kor.Builder.Out", "kor.New", "kor.Params", "kor.Params.Delta", "kor.Params.Epsilon", "kor.Params.Plan", "kor.Params.String"}, exported(rooms))
}
