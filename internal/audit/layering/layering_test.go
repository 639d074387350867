package layering

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

const module = "github.com/dpsketch/dpsketch"

// base are the packages below the mechanisms: noise and hashing know nothing of each other, and
// what lies in folders below noise builds on it.
var base = []string{"noise", "noise/budget", "noise/approx", "hashing"}

// mechanisms are the packages above these.
var mechanisms = []string{"alp", "threshold", "threshold/groupby", "misragries", "misragries/series", "kor", "kor/distinct", "jl", "arete", "elliptical", "elliptical/column", "plan", "plan/thesis"}

// engines are what several mechanisms share: they build on the base, as mechanisms do.
var engines = []string{"internal/calibrated", "internal/quantile", "internal/sparse"}

// edges are the imports among mechanisms, from them to engines, and among the packages of the base,
// each with the theorem or the reason. An edge that nothing uses fails.
var edges = map[[2]string]string{
	{"noise/budget", "noise"}:        "the exact profile of Gaussian noise is what μ-GDP promises",
	{"noise/approx", "noise"}:        "private approximation adds Laplace, Pareto or Student noise",
	{"noise/approx", "noise/budget"}: "a private approximation has a guarantee",
	{"misragries", "internal/sparse"}: "TODS Corollaries 18 and 28: merged sketches and sketches of users differ by at most 1 in at most k counters, and are released as " +
		"sparse vectors",
	{"misragries/series", "misragries"}: "misragries/series/series_proof.md: keys that are not known yet are found by a sketch in each discovery span, the first by Algorithm 2 of the " +
		"TODS paper",
	{"kor/distinct", "kor"}:                      "the size of a set, and those that two sets make, are one type",
	{"plan/thesis", "plan"}:                      "what it is compared with: the same engine, and the same released object",
	{"plan", "internal/quantile"}:                "its centres, scales and clipping norm are private quantiles",
	{"threshold/groupby", "internal/quantile"}:   "the quantiles of each key",
	{"elliptical/column", "internal/quantile"}:   "its quantiles, and the centre of a range that is learned",
	{"threshold", "internal/sparse"}:             "its engine",
	{"elliptical", "internal/calibrated"}:        "the noise of a coordinate",
	{"elliptical/column", "internal/calibrated"}: "the noise of a coordinate",
	{"jl", "internal/calibrated"}:                "the noise of a row, and its moments",
	{"alp", "internal/sparse"}:                   "Lebeda's thesis, Algorithm 7 and Lemma 2.21, with Lemmas 2.24 and 2.26 for δ > 0: entries above ψ from the threshold mechanism, the others from ALP",
}

// unsafely are the packages that may import unsafe.
var unsafely = []string{"internal/keytable", "internal/wire"}

// topLevel is all that may stand in the root besides dotfiles.
var topLevel = strings.Fields("go.mod go.sum README.md LICENSE noise hashing alp threshold misragries kor jl arete elliptical plan " +
	"internal examples findings bench_test.go")

// requirements are the modules this one may require directly; forTests are those that only tests
// import.
var (
	requirements = []string{"gonum.org/v1/gonum", "github.com/zeebo/xxh3", "github.com/stretchr/testify"}
	forTests     = []string{"github.com/stretchr/testify"}
)

// exampleKit is what the tests of the examples share.
const exampleKit = module + "/examples/internal/cli/clitest"

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath                               string
	Imports, TestImports, XTestImports, Deps []string
}

// violations returns a line for each import that the layering forbids.
func violations(pkgs []pkg) []string {
	var found []string
	for _, p := range pkgs {
		from := place(p.ImportPath)
		forbid := func(to, why string) {
			found = append(found, fmt.Sprintf("%s imports %s: %s", p.ImportPath, to, why))
		}
		for _, to := range p.Imports {
			if why := forbidden(from, place(to)); why != "" {
				forbid(to, why)
			}
			if to == "unsafe" && !slices.Contains(unsafely, from) {
				forbid(to, "only internal/keytable and internal/wire read memory as another type, and say why")
			}
			if to == exampleKit {
				forbid(to, "the test kit of the examples is for test files")
			}
			if third := requirement(to, requirements); strings.Contains(strings.Split(to, "/")[0], ".") && place(to) == "" && from != "examples" {
				switch {
				case third == "":
					forbid(to, "the module depends on gonum, xxh3 and testify only")
				case slices.Contains(forTests, third) && place(p.ImportPath) != "internal/audit/dptest":
					forbid(to, "for tests only")
				}
			}
		}
		for _, to := range slices.Concat(p.TestImports, p.XTestImports) {
			if place(to) == "examples" && from != "examples" {
				forbid(to, "nothing imports the examples")
			}
		}
		for _, to := range p.Deps { // noise and hashing stay apart through internal helpers as well
			if t := place(to); below(from, "noise") && t == "hashing" || from == "hashing" && below(t, "noise") {
				forbid(to, "noise and hashing must not depend on each other, directly or not")
			}
		}
	}
	return found
}

// forbidden returns why a non-test file of the package at from must not import the one at to, or
// "".
func forbidden(from, to string) string {
	switch {
	case to == "" || from == to:
		return ""
	case to == "examples":
		return "nothing imports the examples"
	case below(to, "internal/audit") && !below(from, "internal/audit"):
		return "test machinery is in no binary"
	case to == ".":
		return "nothing imports the root"
	case from == "examples" && strings.HasPrefix(to, "internal"):
		return "examples use what users can use"
	case slices.Contains(base, from) && slices.Contains(base, to) && edges[[2]string{from, to}] == "":
		return "no reason is listed for this edge below the mechanisms"
	case slices.Contains(engines, from) && !slices.Contains(mechanisms, to):
		return ""
	case strings.HasPrefix(from, "internal") && slices.Contains(slices.Concat(base, mechanisms, engines), to):
		return "internal helpers lie below everything"
	case slices.Contains(base, from) && slices.Contains(slices.Concat(mechanisms, engines), to):
		return "noise and hashing lie below the mechanisms"
	case slices.Contains(mechanisms, from) && slices.Contains(slices.Concat(mechanisms, engines), to) && edges[[2]string{from, to}] == "":
		return "no theorem is listed for this edge between mechanisms"
	case !slices.Contains(slices.Concat(base, mechanisms, []string{".", "examples"}), from) && !strings.HasPrefix(from, "internal"):
		return "the importing package is not part of the design"
	}
	return ""
}

// unused returns the listed edges that no package has.
func unused(pkgs []pkg) []string {
	var missing []string
	for edge := range edges {
		if !slices.ContainsFunc(pkgs, func(p pkg) bool {
			return place(p.ImportPath) == edge[0] && slices.Contains(p.Imports, module+"/"+edge[1])
		}) {
			missing = append(missing, fmt.Sprintf("%s does not import %s", edge[0], edge[1]))
		}
	}
	return missing
}

// below reports whether a place is the folder or one below it.
func below(place, folder string) bool { return place == folder || strings.HasPrefix(place, folder+"/") }

// place returns the path of a package of the library within the module, "." for the root,
// internal/x for internal packages, the top-level folder for examples, and "" for a package of
// another module. The rooms of a package, x/internal/y, are x.
func place(path string) string {
	rest, ok := strings.CutPrefix(path+"/", module+"/")
	if !ok {
		return ""
	}
	parts := strings.Split(rest, "/")
	switch {
	case rest == "":
		return "."
	case parts[0] == "internal" && len(parts) > 3 && parts[1] == "audit":
		return "internal/audit/" + parts[2]
	case parts[0] == "internal" && len(parts) > 2:
		return "internal/" + parts[1]
	case parts[0] == "examples" || parts[0] == "internal":
		return parts[0]
	}
	rest, _, _ = strings.Cut(rest, "/internal/")
	return strings.TrimSuffix(rest, "/")
}

// requirement returns the module of the list that holds the package, or "".
func requirement(path string, modules []string) string {
	for _, m := range modules {
		if path == m || strings.HasPrefix(path, m+"/") {
			return m
		}
	}
	return ""
}

// root returns the directory of go.mod.
func root(t *testing.T) string { return dptest.OK(filepath.Abs("../../.."))(t) }

// run runs the go command in the module's root and returns its output.
func run(t *testing.T, args ...string) string {
	command, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go command: ", err)
	}
	cmd := exec.Command(command, args...)
	cmd.Dir = root(t)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out := dptest.OK(cmd.Output())(t, "go %v: %s", args, stderr.String())
	return string(out)
}

func TestImports(t *testing.T) {
	dir := root(t)
	// Opening every directory makes `go test` forget its cached verdict when a file changes.
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != dir {
			return fs.SkipDir
		}
		return err
	}))
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(run(t, "list", "-e", "-json=ImportPath,Imports,TestImports,XTestImports,Deps", "./..."))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		pkgs = append(pkgs, p)
	}
	require.NotEmpty(t, pkgs)
	require.Empty(t, violations(pkgs))
	require.Empty(t, unused(pkgs), "edges that are listed and not used")
}

// What git tracks counts: a profile or an editor's folder in somebody's checkout is theirs. A large
// file is data, and no program that somebody built and added.
func TestTopLevel(t *testing.T) {
	top := root(t)
	paths, err := tracked(top)
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	require.Contains(t, paths, "go.mod")
	for _, path := range paths {
		if name, _, _ := strings.Cut(path, "/"); !strings.HasPrefix(name, ".") {
			require.Contains(t, topLevel, name, "the root holds what the design lists, and dotfiles")
		}
		if info, err := os.Lstat(filepath.Join(top, path)); err == nil && info.Size() > 1<<20 {
			require.Contains(t, []string{"examples/kjv/kjv.txt.gz", "internal/audit/vectors/encodings.json"}, path, "%d bytes", info.Size())
		}
	}
}

// tracked returns the paths that git tracks in a directory.
func tracked(dir string) (paths []string, err error) {
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, errors.New("git tracks nothing here")
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"), nil
}

// A stray file in the checkout changes nothing, until somebody adds it.
func TestTrackedFiles(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "core.excludesFile="}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q")
	for _, name := range []string{"go.mod", "cpu.prof"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	git("add", "go.mod")
	names := dptest.OK(tracked(dir))(t)
	require.Equal(t, []string{"go.mod"}, names)
	git("add", "cpu.prof")
	names = dptest.OK(tracked(dir))(t)
	require.Equal(t, []string{"cpu.prof", "go.mod"}, names)
}

func TestRequirements(t *testing.T) {
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(run(t, "mod", "edit", "-json")), &mod))
	for _, r := range mod.Require {
		if !r.Indirect {
			require.Contains(t, requirements, r.Path, "go.mod requires more than the design allows")
		}
	}
}

// TestViolations gives the check one forbidden import at a time, and the allowed ones.
func TestViolations(t *testing.T) {
	path := func(at string) string {
		if strings.Contains(strings.Split(at, "/")[0], ".") || at == "fmt" || at == "unsafe" {
			return at
		}
		return module + "/" + at
	}
	for ok, edges := range map[bool]string{
		true: `
			internal/quantile → noise; plan/internal/means → noise; internal/audit/claims → internal/audit/profile; noise/budget → noise;
			noise/approx → noise/budget; kor → noise/budget; misragries → internal/sparse; internal/sparse → noise/budget;
			alp → internal/sparse; kor → noise; kor → hashing; kor → internal/wire; noise → internal/check; internal/wire → internal/check;
			examples/heavyhitters → misragries; examples/heavyhitters → noise; examples/latency → examples/internal/cli;
			noise → gonum.org/v1/gonum/mathext; hashing → github.com/zeebo/xxh3; kor → fmt; internal/wire → unsafe`,
		false: `
			noise → hashing; hashing → noise; noise → kor; hashing → jl; internal/wire → alp; internal/wire → noise; internal/quantile → plan;
			plan/internal/means → elliptical; elliptical → plan/internal/means; kor → jl; threshold → misragries; kor → internal/audit/dptest;
			internal/check → internal/audit/profile; kor → examples/heavyhitters; examples/heavyhitters → internal/wire; newcomer → noise;
			kor → github.com/other/thing; kor → github.com/stretchr/testify/require; internal/check → github.com/stretchr/testify/require;
			noise → noise/budget; noise/budget → hashing; noise/budget → noise/approx; noise/budget → kor; noise/newcomer → noise;
			kor/newcomer → noise; internal/wire → noise/budget; misragries → threshold; kor → internal/sparse; internal/sparse → threshold;
			noise → internal/sparse; internal/exact → internal/sparse; plan → elliptical; examples/latency → examples/internal/cli/clitest;
			examples/internal/cli → examples/internal/cli/clitest; examples/internal/cli → internal/check; kor → examples/internal/cli;
			kor → unsafe; internal/exact → unsafe`,
	} {
		for edge := range strings.SplitSeq(edges, ";") {
			from, to, _ := strings.Cut(strings.TrimSpace(edge), " → ")
			got := violations([]pkg{{ImportPath: path(from), Imports: []string{path(to)}}})
			require.Equal(t, ok, len(got) == 0, "%s: %v", edge, got)
		}
	}
	deep := pkg{ImportPath: path("noise"), Imports: []string{path("internal/wire")}, Deps: []string{path("internal/wire"), path("hashing")}}
	require.Len(t, violations([]pkg{deep}), 1)
	require.Len(t, unused([]pkg{{ImportPath: path("noise/budget"), Imports: []string{path("noise")}}}), len(edges)-1)
	budgetDeep := pkg{ImportPath: path("noise/budget"), Deps: []string{path("hashing")}}
	require.Len(t, violations([]pkg{budgetDeep}), 1)
	inTest := pkg{ImportPath: path("kor"), TestImports: []string{path("internal/audit/dptest")}, XTestImports: []string{path("examples/x")}}
	require.Len(t, violations([]pkg{inTest}), 1)
	kitInTest := pkg{ImportPath: path("examples/latency"), TestImports: []string{exampleKit}}
	require.Empty(t, violations([]pkg{kitInTest}))
}
