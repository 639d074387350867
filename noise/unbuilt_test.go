package noise

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// unbuilt has every exported type of the package as a program has it that never built it:
// TestUnbuiltLawsHideTheData goes through it.
var unbuilt = []any{
	Bernoulli{}, CorrelatedGaussian{}, DiscreteGaussian{}, DiscreteLaplace{}, Gaussian{}, Geometric{}, Laplace{}, Pareto{}, Staircase{}, Student{},
}

// notDistributions are the exported types that draw nothing which is added to data.
var notDistributions = []string{"Source"}

// Whatever a distribution that nobody built draws hides what it is added to, as unbuilt.go says,
// and no other method returns a number to plan with.
func TestUnbuiltLawsHideTheData(t *testing.T) {
	var names []string
	for _, distribution := range unbuilt {
		typ := reflect.TypeOf(distribution)
		names = append(names, typ.Name())
		for i := range typ.NumMethod() {
			t.Run(typ.Name()+"/"+typ.Method(i).Name, func(t *testing.T) { hides(t, reflect.ValueOf(distribution), typ.Method(i)) })
		}
	}
	require.ElementsMatch(t, append(names, notDistributions...), exportedTypes(t), "a type is missing above")
}

// accessors return the parameters of a distribution, 0 where it was not built.
var accessors = []string{"Scale", "Sigma", "Shape", "Parameters"}

// hides calls a method 1,600 times. The statistics fail by chance with a probability of at most
// 2⁻⁴⁰ each.
func hides(t *testing.T, distribution reflect.Value, method reflect.Method) {
	if slices.Contains(accessors, method.Name) {
		return
	}
	const calls = 1600
	var src Source
	table := make([]uint64, 64)
	var bools, large, negative int
	counts := map[uint64]bool{}
	for range calls {
		args := []reflect.Value{}
		for i := 1; i < method.Type.NumIn(); i++ {
			switch typ := method.Type.In(i); typ {
			case reflect.TypeFor[*Source]():
				args = append(args, reflect.ValueOf(&src))
			case reflect.TypeFor[[]uint64]():
				args = append(args, reflect.ValueOf(table))
			case reflect.TypeFor[uint64]():
				args = append(args, reflect.ValueOf(uint64(1000)))
			case reflect.TypeFor[int64]():
				args = append(args, reflect.ValueOf(int64(1<<61))) // 3 of 8 draws are at least that
			default:
				args = append(args, reflect.ValueOf(i).Convert(typ)) // some number; a step of 2
			}
		}
		if method.Name == "CountLayer" {
			args[3] = reflect.ValueOf(int64(math.MaxInt64 - 1))
		}
		for _, result := range distribution.Method(method.Index).Call(args) {
			switch x := result.Interface().(type) {
			case float64:
				require.True(t, math.IsNaN(x) || method.Name == "Prob" && x == 0.5)
			case int64:
				if max(x, -x) > 1<<52 {
					large++
				}
				if x < 0 {
					negative++
				}
			case uint64:
				counts[x] = true
			case bool:
				if x {
					bools++
				}
			case func() float64:
				require.True(t, math.IsNaN(x()))
			default:
				require.NotContains(t, fmt.Sprintf("%+v", x), "1", "a distribution made of it")
			}
		}
	}
	results := method.Type
	for i := range results.NumOut() {
		switch results.Out(i) {
		case reflect.TypeFor[int64]():
			require.Greater(t, large, calls/4)
			if method.Name == "SampleInt" {
				require.Greater(t, negative, calls/4)
			}
		case reflect.TypeFor[bool]():
			if method.Name == "SampleSteps" {
				require.Zero(t, bools, "never a draw of the distribution")
				continue
			}
			require.Greater(t, bools, calls/4)
			require.Less(t, bools, 3*calls/4)
		case reflect.TypeFor[uint64]():
			require.True(t, len(counts) > 20 || method.Name == "K" && counts[1<<63])
		}
	}
	if method.Name == "Flip" {
		ones := int64(0)
		for _, w := range table {
			for ; w != 0; w &= w - 1 {
				ones++
			}
		}
		dptest.Tail(t, "ones", ones, 64*64, 0.5, 1e-10)
	}
}

// exportedTypes reads the exported types from the source.
func exportedTypes(t *testing.T) (names []string) {
	files := dptest.OK(filepath.Glob("*.go"))(t)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := dptest.OK(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		for _, d := range file.Decls {
			general, ok := d.(*ast.GenDecl)
			if !ok || general.Tok != token.TYPE {
				continue
			}
			for _, spec := range general.Specs {
				if s := spec.(*ast.TypeSpec); s.Name.IsExported() {
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	return names
}

// The counts of the zero DiscreteLaplace are those of its own draws.
func TestUnbuiltCountsAgreeWithDraws(t *testing.T) {
	var src Source
	laplace := DiscreteLaplace{}
	const n = 1 << 12
	for _, least := range []int64{math.MinInt64 + 2, -1 << 62, 0, 1, 1 << 61, 1 << 62} {
		p := 0.5 - float64(least)*0x1p-64
		dptest.Tail(t, fmt.Sprint("CountTail ", least), int64(laplace.CountTail(&src, n, least)), n, min(p, 1), 1e-10)
		hits := int64(0)
		for range n {
			if _, ok := laplace.SampleTail(&src, least); ok {
				hits++
			}
		}
		dptest.Tail(t, fmt.Sprint("SampleTail ", least), hits, n, min(p, 1), 1e-10)
		if least > 0 {
			dptest.Tail(t, fmt.Sprint("CountTails ", least), int64(laplace.CountTails(&src, n, least)), n, 1-float64(least)*0x1p-63, 1e-10)
			below := least + 1<<61
			inside := 0x1p61 / (0x1p63 + float64(below))
			dptest.Tail(t, fmt.Sprint("CountLayer ", least), int64(laplace.CountLayer(&src, n, least, below)), n, inside, 1e-10)
		}
	}
	for _, draws := range []uint64{fewUnbuilt + 1, 1 << 40, math.MaxUint64} {
		// at once, however many
		count := laplace.CountTail(&src, draws, 1<<62)
		require.InDelta(t, float64(draws)/4, float64(count), 10*math.Sqrt(float64(draws)))
		require.LessOrEqual(t, laplace.CountTail(&src, draws, math.MinInt64+2), draws)
		require.LessOrEqual(t, laplace.CountTail(&src, draws, math.MaxInt64), uint64(100))
	}
}
