// Command house counts what a reader of the library has before him: for each package the lines of
// code and of tests, the exported types and methods, and the fields of Params.
//
//	go run ./internal/audit/house          a table
//	go run ./internal/audit/house -names   every exported name
//	go run ./internal/audit/house -doors   how many files one question opens
//
// The library is what users import and, as its engines, all internal packages except
// internal/audit. The doors of a package are the files of the library, its own included, that its
// first Example runs.
//
// Lines are those that are neither blank nor a comment. Methods are those declared on exported
// types: without what these have from a type they embed, which the names list, and without the
// codecs, which are AppendBinary, MarshalJSON, String, AppendPrivateState and their like. Params
// are the fields of the exported structs whose names end so.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/internal/audit/funcname"
)

// folders hold all Go files.
var folders = strings.Fields("alp arete elliptical hashing jl kor misragries noise plan threshold internal examples bench_test.go")

// codecs are methods that write a value or read it.
var codecs = strings.Fields("AppendBinary MarshalBinary UnmarshalBinary MarshalJSON UnmarshalJSON MarshalText UnmarshalText String " +
	"AppendPrivateState RestorePrivateState")

// room is what there is of one package.
type room struct {
	code, tests            int
	types, methods, fields int
	names                  []string // exported, with Type.Method and Struct.Field
	hidden                 []string // methods of types that are not exported
	embeds                 funcname.Embeds
}

func main() {
	names := flag.Bool("names", false, "print every exported name")
	doors := flag.Bool("doors", false, "print how many files the first Example of a package runs")
	flag.Parse()
	if *doors {
		for _, path := range asked {
			files, err := opened(".", path)
			if err != nil {
				fmt.Fprintln(os.Stderr, "house:", err)
				os.Exit(1)
			}
			fmt.Printf("%-20s %3d  %s\n", path, len(files), strings.Join(files, " "))
		}
		return
	}
	rooms, err := count(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	if *names {
		for _, name := range exported(rooms) {
			fmt.Println(name)
		}
		return
	}
	var library, inner, machinery, examples, all room
	fmt.Printf("%-28s %7s %7s %6s %8s %7s\n", "package", "code", "tests", "types", "methods", "Params")
	for _, path := range slices.Sorted(maps.Keys(rooms)) {
		r := rooms[path]
		all.add(r)
		switch {
		case strings.HasPrefix(path, "examples"):
			examples.add(r)
		case strings.HasPrefix(path, "internal/audit"):
			machinery.add(r)
		case isInternal(path):
			inner.add(r)
		default:
			library.add(r)
			r.print(path)
		}
	}
	library.print("the library's packages")
	inner.print("internal")
	library.add(&inner)
	library.print("the library with engines")
	machinery.print("internal/audit")
	examples.print("examples")
	all.print("all")
}

// isInternal reports whether a package is internal, at the top or below a package.
func isInternal(path string) bool { return slices.Contains(strings.Split(path, "/"), "internal") }

func (r *room) print(name string) {
	fmt.Printf("%-28s %7d %7d %6d %8d %7d\n", name, r.code, r.tests, r.types, r.methods, r.fields)
}

func (r *room) add(o *room) {
	r.code, r.tests = r.code+o.code, r.tests+o.tests
	r.types, r.methods, r.fields = r.types+o.types, r.methods+o.methods, r.fields+o.fields
}

// exported returns the exported names of the packages that users import.
func exported(rooms map[string]*room) (names []string) {
	for _, path := range slices.Sorted(maps.Keys(rooms)) {
		if !isInternal(path) && !strings.HasPrefix(path, "examples") {
			for _, name := range slices.Concat(rooms[path].names, rooms[path].promoted()) {
				names = append(names, path+"."+name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// promoted returns the methods that exported types have from others.
func (r *room) promoted() (names []string) {
	for of := range r.embeds {
		r.embeds.Promoted(of, func(from string) {
			for _, method := range r.hidden {
				if name, ok := strings.CutPrefix(method, from+"."); ok && ast.IsExported(of) {
					names = append(names, of+"."+name)
				}
			}
		})
	}
	return names
}

// count reads the Go files below root.
func count(root string) (map[string]*room, error) {
	rooms := map[string]*room{}
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			at, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			at = filepath.ToSlash(at)
			if rooms[at] == nil {
				rooms[at] = &room{embeds: funcname.Embeds{}}
			}
			return rooms[at].read(path)
		})
		if err != nil {
			return nil, err
		}
	}
	return rooms, nil
}

// read adds a file.
func (r *room) read(path string) error {
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, "_test.go") {
		r.tests += lines(source)
		return nil
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, source, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	r.code += lines(source)
	for _, declared := range parsed.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			r.function(d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				r.spec(spec)
			}
		}
	}
	return nil
}

// lines returns how many lines have a token on them.
func lines(source []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	seen := map[int]bool{}
	for {
		at, tok, text := s.Scan()
		if tok == token.EOF {
			return len(seen)
		}
		if tok == token.SEMICOLON && text == "\n" { // inserted at the end of a line
			continue
		}
		first := file.Line(at)
		for line := range 1 + strings.Count(text, "\n") { // raw strings
			seen[first+line] = true
		}
	}
}

func (r *room) function(d *ast.FuncDecl) {
	if !d.Name.IsExported() {
		return
	}
	if d.Recv == nil {
		r.names = append(r.names, d.Name.Name)
		return
	}
	name := funcname.Of(d)
	if !ast.IsExported(name) {
		r.hidden = append(r.hidden, name)
		return
	}
	if !slices.Contains(codecs, d.Name.Name) {
		r.methods++
	}
	r.names = append(r.names, name)
}

func (r *room) spec(spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			if name.IsExported() {
				r.names = append(r.names, name.Name)
			}
		}
	case *ast.TypeSpec:
		r.embeds.Add(s)
		if !s.Name.IsExported() {
			return
		}
		r.types++
		r.names = append(r.names, s.Name.Name)
		structure, ok := s.Type.(*ast.StructType)
		if !ok {
			return
		}
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				if !name.IsExported() {
					continue
				}
				r.names = append(r.names, s.Name.Name+"."+name.Name)
				if strings.HasSuffix(s.Name.Name, "Params") {
					r.fields++
				}
			}
		}
	}
}
