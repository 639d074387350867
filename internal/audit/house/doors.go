package main

import (
	"fmt"
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

// firstExample returns the name of the first Example of a package: Example, if there is one.
func firstExample(folder string) (string, error) {
	list := exec.Command("go", "test", "-list=^Example", ".")
	list.Dir = folder
	out, err := list.Output()
	names := strings.Fields(string(out))
	switch {
	case err != nil || len(names) == 0 || !strings.HasPrefix(names[0], "Example"):
		return "", fmt.Errorf("%s has no Example: %w", folder, err)
	case slices.Contains(names, "Example"):
		return "Example", nil
	}
	return names[0], nil
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
