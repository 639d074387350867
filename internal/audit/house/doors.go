package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dpsketch/dpsketch/internal/audit/profile"
)

const module = "github.com/dpsketch/dpsketch/"

// asked are the packages that answer a question.
var asked = strings.Fields("alp threshold threshold/groupby misragries misragries/series jl kor kor/distinct arete elliptical elliptical/column plan")

// firstExample returns the name of the first Example in the files of a package: Example, if there
// is one.
func firstExample(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return "", err
	}
	first := ""
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "Example" || ok && first == "" && strings.HasPrefix(f.Name.Name, "Example") {
				first = f.Name.Name
			}
		}
	}
	if first == "" {
		return "", fmt.Errorf("%s has no Example", folder)
	}
	return first, nil
}

// opened returns the files of the library that the first Example of a package runs.
func opened(root, path string) (files []string, err error) {
	folder := filepath.Join(root, filepath.FromSlash(path))
	example, err := firstExample(folder)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "doors")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	cover := filepath.Join(work, "cover")
	run := exec.Command("go", "test", "-count=1", "-run=^"+example+"$", "-coverpkg="+module+"...", "-coverprofile="+cover, ".")
	run.Dir = folder
	if out, err := run.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", path, err, out)
	}
	text, err := os.ReadFile(cover)
	if err != nil {
		return nil, err
	}
	for _, block := range profile.Ran(string(text), strings.TrimSuffix(module, "/")) {
		if !strings.HasPrefix(block.File, "internal/audit/") {
			files = append(files, block.File)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
