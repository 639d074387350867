package surface

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// otherKinds are the guarantees of releases whose noise is not that of releases().
func otherKinds() map[string]budget.Guarantee {
	vector := elliptical.Params{Min: elliptical.VectorOf(0, 0), Max: elliptical.VectorOf(1, 2), Epsilon: 1}
	with := func(set func(p *elliptical.Params)) budget.Guarantee {
		p := vector
		set(&p)
		return p.Guarantee()
	}
	projection := jl.Params{Dim: 64, Rows: 8, Epsilon: 1, Seed: hashing.Seed{1}}
	projected := func(set func(p *jl.Params)) budget.Guarantee {
		p := projection
		set(&p)
		return p.Guarantee()
	}
	return map[string]budget.Guarantee{
		"alp, pure":                       alp.Params{Epsilon: 1, Dim: 1 << 16, Sparsity: 16}.Guarantee(),
		"arete, by ρ":                     arete.Params{Rho: 1}.Guarantee(),
		"arete, by ε and δ":               arete.Params{Epsilon: 1, Delta: 1e-6, Law: arete.Gaussian}.Guarantee(),
		"elliptical, a box":               with(func(p *elliptical.Params) { p.Shape = elliptical.Box }),
		"elliptical, by ε":                with(func(p *elliptical.Params) {}),
		"elliptical, by ε and δ":          with(func(p *elliptical.Params) { p.Delta = 1e-6 }),
		"elliptical, independent":         with(func(p *elliptical.Params) { p.Shape = elliptical.Independent }),
		"elliptical/column, a count by ρ": column.Params{Rho: 1, Want: column.Count}.Guarantee(),
		"elliptical/column, a sum":        column.Params{Epsilon: 1, Want: column.Sum, Max: 1}.Guarantee(),
		"elliptical/column, by ρ":         column.Params{Rho: 1, Max: 1}.Guarantee(),
		"elliptical/column, moments":      made(column.New(column.Params{Epsilon: 1, Max: 1})).Guarantee(),
		"elliptical/column, quantiles, ρ": column.Params{Rho: 1, Max: 1, Resolution: 0.1}.Guarantee(),
		"jl, by ε and δ":                  projected(func(p *jl.Params) { p.Delta, p.Noise = 1e-6, jl.Gaussian }),
		"jl, by ρ":                        projected(func(p *jl.Params) { p.Epsilon, p.Rho = 0, 1 }),
		"jl, integers":                    projected(func(p *jl.Params) { p.Integers, p.Noise, p.Change = true, jl.DiscreteLaplace, jl.L1(3) }),
		"kor, with a count":               kor.Params{Epsilon: 1, Cells: 64, Levels: 8, CountShare: 0.1, Seed: hashing.Seed{1}}.Guarantee(),
		"kor/distinct, the count alone":   distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}.Guarantee(),
		"misragries, pure":                misragries.Params{Counters: 8, Epsilon: 1, Dim: 100}.Guarantee(),
		"threshold, Gaussian":             threshold.Params{Epsilon: 1, Delta: 1e-6, MaxKeys: 4, Method: threshold.Gaussian}.Guarantee(),
		"threshold, integers":             threshold.Params{Epsilon: 1, Delta: 1e-6, Sensitivity: 3, Integers: true, Method: threshold.Laplace}.Guarantee(),
		"threshold, integers, pure":       threshold.Params{Epsilon: 1, Dim: 100, Sensitivity: 3, Integers: true, Method: threshold.PureLaplace}.Guarantee(),
		"threshold, real, pure":           threshold.Params{Epsilon: 1, Dim: 100, Method: threshold.PureLaplace}.Guarantee(),
		"threshold/groupby, listed":       made(groupby.NewListed(groupby.Params{Epsilon: 1, Delta: 1e-6}, 1, 2, 3)).Guarantee(),
		"threshold/groupby, listed, pure": made(groupby.NewListed(groupby.Params{Epsilon: 1}, 1, 2, 3)).Guarantee(),
	}
}

// pairTests are the tests of pairs that have another name: by the norms of all moves of the noise's
// numbers, as Gaussian noise of μ is a pair of N(0, 1) and N(μ, 1) by its definition.
var pairTests = map[string]string{"threshold/groupby": "TestListedNeighbours"}

// engines have the tests of pairs of their mechanisms.
var engines = map[string]string{"threshold": "internal/sparse"}

// kindOf says what bounds the releases behind a guarantee, from its encoding, and whether more is
// known than ε and δ, or ρ.
func kindOf(t *testing.T, name string, g budget.Guarantee) (kind string, better bool) {
	require.True(t, g.Promises(), "%s", name)
	data := dptest.OK(g.MarshalBinary())(t)
	number := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(data[24+8*i:])) }
	var parts []string
	laws := data[24+9*8+8+4:]
	for range binary.LittleEndian.Uint32(data[24+9*8+8:]) {
		steps, size, count := binary.BigEndian.Uint32(laws[1:]), math.Float64frombits(binary.BigEndian.Uint64(laws[5:])), binary.BigEndian.Uint64(laws[21:])
		part := ""
		switch {
		case laws[0] == 2:
			part = "DiscreteGaussian"
		case laws[0] == 0 && steps == 0:
			part = "Laplace"
		case laws[0] == 0 && steps > 1:
			part = "DiscreteLaplace"
		case laws[0] == 0:
			part = "PureDP"
			better = better || count > 1 || size != g.Epsilon()
		}
		require.NotEmpty(t, part)
		better = better || part != "PureDP"
		parts = append(parts, part)
		laws = laws[29:]
	}
	if len(laws) > 0 { // internal/loss.Keys
		parts, better = append(parts, "keys"), true
	}
	if number(7) > 0 {
		parts = append(parts, "ZCDP")
	}
	if number(8) > 0 {
		parts, better = append(parts, "GDP"), true
	}
	if number(6) > 0 {
		parts = append(parts, "an escape")
	}
	return strings.Join(parts, ", "), better
}

// Every mechanism has its kind: what the accountant takes each release of the library for. Where
// that is better than the ε and δ, or ρ, that were asked for, the package has an exact test that it
// bounds the release; for the others the exact tests of ε, δ and ρ say all (internal/audit/claims
// lists them).
func TestKinds(t *testing.T) {
	all := otherKinds()
	for name, b := range releases() {
		all[name] = b.promise
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		kind, better := kindOf(t, name, all[name])
		lines = append(lines, fmt.Sprintf("%s: %s", name, kind))
		if !better {
			continue
		}
		folder, _, _ := strings.Cut(strings.ReplaceAll(name, ",", "."), ".")
		files := dptest.OK(filepath.Glob(filepath.Join("..", "..", "..", cmp.Or(engines[folder], folder), "*_test.go")))(t)
		require.True(t, slices.ContainsFunc(files, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(text), "func "+cmp.Or(pairTests[folder], "TestPairBoundsTheRelease")+"(")
		}), "%s is taken for %s, and no test says that this bounds it", name, kind)
	}
	dptest.Golden(t, "kinds.txt", strings.Join(lines, "\n")+"\n")
}
