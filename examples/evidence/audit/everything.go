package audit

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// profile returns δ and ε of the claim, the pair that auditors look at first in front: δ = 0 if it
// is pure. Of pairs with one δ the least ε is the claim.
func (a audited) profile() (pairs []string) {
	have := map[float64]bool{}
	add := func(delta, epsilon float64) {
		if delta < 0.5 && epsilon > 0 && !have[delta] {
			have[delta] = true
			pairs = append(pairs, fmt.Sprint(delta, " ", epsilon))
		}
	}
	if pure := a.claim.EpsilonAt(0); !math.IsInf(pure, 0) {
		add(0, pure)
	} else {
		add(a.claim.DeltaAt(1), 1)
	}
	for _, epsilon := range epsilons {
		if delta := a.claim.DeltaAt(epsilon); delta > 0 {
			add(delta, epsilon)
		}
	}
	return pairs
}

// published gives releases of the named mechanisms to published.py and returns its rows.
func published(checkouts string, titles, names []string, binary string) (rows []string, err error) {
	have := map[string]audited{}
	for _, a := range mechanisms() {
		have[a.name] = a
	}
	parts := make([][]string, runtime.GOMAXPROCS(0))
	for i, title := range titles {
		a, part := have[names[i]], i%len(parts)
		line := append([]string{title, binary, a.name, fmt.Sprint(min(a.n, 10_000))}, a.profile()...)
		parts[part] = append(parts[part], strings.Join(line, "\t"))
	}
	var group sync.WaitGroup
	out, errs := make([]string, len(parts)), make([]error, len(parts))
	for i, lines := range parts {
		group.Go(func() {
			python := os.Getenv("PYTHON")
			if python == "" {
				python = "python3"
			}
			c := exec.Command(python, filepath.Join("audit", "published.py"), checkouts)
			c.Stdin, c.Stderr = strings.NewReader(strings.Join(lines, "\n")), os.Stderr
			text, err := c.Output()
			out[i], errs[i] = string(text), err
		})
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("published.py: %w", err)
		}
		rows = append(rows, strings.SplitAfter(out[i], "\n")...)
	}
	order := func(row string) int {
		return slices.IndexFunc(titles, func(title string) bool { return strings.HasPrefix(row, "| "+title+" | ") })
	}
	slices.SortStableFunc(rows, func(a, b string) int { return order(a) - order(b) })
	return rows, nil
}

// everything runs all audits and prints the tables of the README.
func everything(checkouts string, wanted *regexp.Regexp) error {
	start := time.Now()
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	const head = "| DP-Sniper: ε at least | Delta-Siege: claimed ε / found | StatDP: p | hockey-stick: δ at least |\n|---|---|---|---|---|"
	fmt.Println("### Mechanisms")
	if err := all(wanted, math.MaxInt); err != nil {
		return err
	}
	var titles []string
	for _, a := range mechanisms() {
		if wanted.MatchString(a.name) {
			titles = append(titles, a.name)
		}
	}
	rows, err := published(checkouts, titles, titles, binary)
	if err != nil {
		return err
	}
	fmt.Printf("\n### Mechanisms, by published auditors\n| mechanism %s\n%s\n", head, strings.Join(rows, ""))
	fmt.Println("### Planted flaws")
	rows = nil
	err = breaks(regexp.MustCompile(""), func(flaws []flaw, binary string) error {
		var titles, names []string
		for _, f := range flaws {
			titles, names = append(titles, f.edit), append(names, f.mechanism)
		}
		more, err := published(checkouts, titles, names, binary)
		rows = append(rows, more...)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Printf("\n### Planted flaws, by published auditors\n| planted %s\n%s", head, strings.Join(rows, ""))
	fmt.Printf("\n%.0f minutes\n", time.Since(start).Minutes())
	return nil
}
