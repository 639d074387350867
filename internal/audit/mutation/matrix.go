package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
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
