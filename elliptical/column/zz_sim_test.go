package column

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

func env(name string, d float64) float64 {
	if x, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil { return x }
	return d
}

func TestSim(t *testing.T) {
	runs := int(env("RUNS", 20))
	only := os.Getenv("LAW")
	levelsets := [][]float64{{.5}, {.99}, {.5, .9, .99}, {.5, .9, .95, .99, .999}}
	if os.Getenv("SETS") == "95" { levelsets = [][]float64{{.95}} }
	ns := []int{500, 2000, 5000, 25000, 100000}
	if v := os.Getenv("NS"); v != "" { ns = nil; for _, x := range strings.Split(v, ",") { y, _ := strconv.Atoi(x); ns = append(ns, y) } }
	eps := []float64{.1, 1, 4}
	if v := os.Getenv("EPS"); v != "" { eps = nil; for _, x := range strings.Split(v, ",") { y, _ := strconv.ParseFloat(x,64); eps = append(eps, y) } }
	type key struct{ eps float64; set, n int; level float64 }
	type acc struct{ all, nan, absurd, miss, open, one int; errs []float64 }
	byKey, byLaw, byRange := map[key]*acc{}, map[string]*acc{}, map[string]*acc{}
	smooth := map[key]*acc{}
	releases, absurds := 0, 0
	get := func(m map[key]*acc, k key) *acc { if m[k] == nil { m[k] = &acc{} }; return m[k] }
	gets := func(m map[string]*acc, k string) *acc { if m[k] == nil { m[k] = &acc{} }; return m[k] }
	for _, c := range dptest.Columns {
		if only != "" && !strings.Contains(c.Name, only) { continue }
		for ri, rname := range []string{"none", "range", "wide"} {
			if r := os.Getenv("RANGE"); r != "" && r != rname { continue }
			for _, e := range eps {
				for si, set := range levelsets {
					if v := os.Getenv("SET"); v != "" && v != fmt.Sprint(si) { continue }
					p := Params{Epsilon: e}
					if ri == 1 { p.Min, p.Max = c.Min, c.Max }
					if ri == 2 {
						p.Min, p.Max = c.Min*1e6, c.Max*1e6
						if c.Min > 0 { p.Min, p.Max = c.Min, c.Min+(c.Max-c.Min)*1e6 }
					}
					for _, n := range ns {
						values := c.Values(n)
						s := heldCounts(quantileBuilder(t, quantilesOf(p, set...), values...))
						cellsOf := make([]int64, n)
						for i, x := range values { cellsOf[i] = s.axis.Cell(x) }
						for range runs {
							g := s.release()
							releases++
							bad := false
							for i, level := range set {
								accs := []*acc{get(byKey, key{e, si, n, level}), gets(byLaw, fmt.Sprint(c.Name, " ", level)), gets(byRange, rname+" "+fmt.Sprint(e, " n ", n))}
								if c.Smooth { accs = append(accs, get(smooth, key{e, si, n, level})) }
								x := g.Quantile(level)
								lo, hi := g.Interval(level, .95)
								low, high := dptest.Sane(values, level)
								at := level * float64(n)
								miss := values[min(int(math.Ceil(at-1e-9))-1+0, n-1)] < lo && values[min(int(at+1e-9), n-1)] < lo || values[max(int(math.Ceil(at-1e-9))-1, 0)] > hi
								infl := math.IsInf(lo, -1) || lo == p.Min && p.Max != 0 || lo != lo
								infh := math.IsInf(hi, 1) || hi == p.Max && p.Max != 0 || hi != hi
								cell := int64(g.cells[i])
								from := sort.Search(n, func(i int) bool { return cellsOf[i] >= cell })
								to := sort.Search(n, func(i int) bool { return cellsOf[i] > cell })
								absurd := x == x && (cell > s.axis.Cell(high) || cell < s.axis.Cell(low))
								for _, a := range accs {
									a.all++
									if miss { a.miss++ }
									if x != x { a.nan++; if !(infl&&infh) {a.one++}; continue }
									if infl || infh { a.open++ }
									if absurd { a.absurd++ }
									a.errs = append(a.errs, max(0, float64(from)-at, at-float64(to)))
								}
								bad = bad || absurd
								if absurd && os.Getenv("SHOW") != "" { t.Logf("%s %s ε %v set %d n %d level %v: %v sane [%v, %v] cells %v", c.Name, rname, e, si, n, level, x, low, high, g.cells) }
							}
							if bad { absurds++ }
						}
					}
				}
			}
		}
	}
	show := func(name string, a *acc) {
		sort.Float64s(a.errs)
		p50, p90 := math.NaN(), math.NaN()
		known := len(a.errs)
		if known > 0 { p50, p90 = a.errs[known/2], a.errs[known*9/10] }
		t.Logf("%-34s all %6d known %.3f absurd %5d rank p50 %8.1f p90 %8.1f  missed %.4f open|known %.3f one-sided|NaN %.2f", name, a.all, float64(known)/float64(a.all), a.absurd, p50, p90, float64(a.miss)/float64(a.all), float64(a.open)/max(float64(known), 1), float64(a.one)/max(float64(a.nan),1))
	}
	t.Logf("releases %d absurd %d", releases, absurds)
	for _, m := range []map[string]*acc{byLaw, byRange} {
		var names []string
		for k := range m { names = append(names, k) }
		slices.Sort(names)
		for _, k := range names { show(k, m[k]) }
	}
	for _, m := range []map[key]*acc{byKey, smooth} {
		var ks []key
		for k := range m { ks = append(ks, k) }
		sort.Slice(ks, func(i, j int) bool { a, b := ks[i], ks[j]; if a.eps != b.eps { return a.eps < b.eps }; if a.set != b.set { return a.set < b.set }; if a.level != b.level { return a.level < b.level }; return a.n < b.n })
		t.Log("----")
		for _, k := range ks { show(fmt.Sprintf("ε %v set %d level %v n %d", k.eps, k.set, k.level, k.n), m[k]) }
	}
}
