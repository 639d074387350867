package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// matrix holds the tests that notice each edit, as package.Test, by "file: name" of the edit.
type matrix map[string][]string

// String has a paragraph for each package whose tests notice edits: its tests, numbered from 0 on
// in this order, and a line for each edit with the numbers of those that notice it.
func (m matrix) String() string {
	var out strings.Builder
	byPackage := map[string][]string{}
	for edit, tests := range m {
		if len(tests) > 0 {
			in, _ := cutTest(tests[0])
			byPackage[in] = append(byPackage[in], edit)
		}
	}
	for _, in := range slices.Sorted(maps.Keys(byPackage)) {
		var tests []string
		edits := byPackage[in]
		slices.Sort(edits)
		for _, edit := range edits {
			tests = append(tests, m[edit]...)
		}
		slices.Sort(tests)
		tests = slices.Compact(tests)
		fmt.Fprintf(&out, "%s:", in)
		for _, test := range tests {
			_, name := cutTest(test)
			fmt.Fprintf(&out, " %s", name)
		}
		out.WriteByte('\n')
		for _, edit := range edits {
			fmt.Fprintf(&out, "\t%s\t", edit)
			for i, test := range m[edit] {
				at, _ := slices.BinarySearch(tests, test)
				fmt.Fprintf(&out, "%.*s%d", min(i, 1), " ", at)
			}
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// cutTest cuts package.Test.
func cutTest(test string) (in, name string) {
	dot := strings.LastIndex(test, ".")
	return test[:dot], test[dot+1:]
}

// readMatrix reads what String wrote. A file that is not there holds no edits.
func readMatrix(file string) (matrix, error) {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	m := matrix{}
	var tests []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if in, names, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "\t") {
			tests = tests[:0]
			for name := range strings.FieldsSeq(names) {
				tests = append(tests, in+"."+name)
			}
			continue
		}
		edit, numbers, _ := strings.Cut(strings.TrimPrefix(line, "\t"), "\t")
		for word := range strings.FieldsSeq(numbers) {
			i, err := strconv.Atoi(word)
			if err != nil || i < 0 || i >= len(tests) {
				return nil, fmt.Errorf("%s: %q has no test %s", file, edit, word)
			}
			m[edit] = append(m[edit], tests[i])
		}
	}
	return m, nil
}

// spare prints the tests of a package that are no edit's only killer and no line's only cover, and
// that internal/audit/claims does not name: those to look at where tests are to be fewer. It says
// what each is for besides: how many edits it notices. Benchmarks, examples and fuzz targets stay.
func (b *bench) spare(ctx context.Context, dir string, m matrix) error {
	var claims []byte
	err := filepath.WalkDir(b.root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(file, "_proof.md") || d.Name() == "claims.md") {
			var text []byte
			text, err = os.ReadFile(file)
			claims = append(claims, text...)
		}
		return err
	})
	if err != nil {
		return err
	}
	c, err := b.coverOf(ctx, dir, dir)
	if err != nil {
		return err
	}
	by, alone, notices := map[int][]string{}, map[string]bool{}, map[string]int{}
	for _, t := range c.Tests {
		for _, block := range t.Runs {
			by[block] = append(by[block], dir+"."+t.Name)
		}
		alone[dir+"."+t.Name] = t.Unknown || !strings.HasPrefix(t.Name, "Test")
	}
	for _, tests := range by {
		alone[tests[0]] = alone[tests[0]] || len(tests) == 1
	}
	for _, tests := range m {
		alone[tests[0]] = alone[tests[0]] || len(tests) == 1
		for _, test := range tests {
			notices[test]++
		}
	}
	for _, t := range c.Tests {
		name := dir + "." + t.Name
		named := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
		if !alone[name] && !named.Match(claims) {
			fmt.Printf("%-60s notices %d, %.1f s\n", name, notices[name], t.Seconds)
		}
	}
	return nil
}
