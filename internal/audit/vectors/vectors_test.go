package vectors

import (
	"bytes"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/alp"
	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/elliptical/column"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/sparse"
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/jl"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
	"github.com/dpsketch/dpsketch/threshold"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// numeric is a case of laws.json, calibrations.json or compositions.json.
type numeric struct {
	ID, What  string
	Args      map[string]any
	Value     string
	Direction string
	Within    float64
}

// read reads a file of cases.
func read[T any](t *testing.T, name string) []T {
	text := dptest.OK(os.ReadFile(name))(t)
	var file struct {
		About, Generator string
		Cases            []T
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&file))
	require.NotEmpty(t, file.Cases)
	return file.Cases
}

// arguments returns the named arguments of a case, in this order.
func (c numeric) arguments(names ...string) (list []float64) {
	for _, name := range names {
		list = append(list, c.Args[name].(float64))
	}
	return list
}

// keptThreshold returns the threshold of misragries' KeptZeros.
func keptThreshold(counters, epsilon, delta float64) float64 {
	plan, err := misragries.Params{Counters: int(counters), Epsilon: epsilon, Delta: delta, Method: misragries.KeptZeros}.Plan(1)
	if err != nil {
		return math.NaN()
	}
	return plan.Threshold
}

// known returns what has no error for a vector's arguments.
func known[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var unit = budget.Element(budget.AddRemove)

// of is a function of named arguments.
func of(names string, f func(a []float64) float64) func(c numeric) float64 {
	return func(c numeric) float64 { return f(c.arguments(strings.Fields(names)...)) }
}

// at is one of a law with a parameter, at x.
func at[T any](construct func(float64) (T, error), parameter string, f func(T, float64) float64) func(c numeric) float64 {
	return of(parameter+" x", func(a []float64) float64 { return f(known(construct(a[0])), a[1]) })
}

// functions are those that the vectors name.
var functions = map[string]func(c numeric) float64{
	"noise.DiscreteLaplace.LogProb":      at(noise.NewDiscreteLaplace, "scale", noise.DiscreteLaplace.LogProb),
	"noise.DiscreteLaplace.LogSurvival":  at(noise.NewDiscreteLaplace, "scale", noise.DiscreteLaplace.LogSurvival),
	"noise.DiscreteLaplace.Prob":         at(noise.NewDiscreteLaplace, "scale", noise.DiscreteLaplace.Prob),
	"noise.DiscreteLaplace.Variance":     of("scale", func(a []float64) float64 { return known(noise.NewDiscreteLaplace(a[0])).Variance() }),
	"noise.Geometric.Prob":               at(noise.NewGeometric, "scale", noise.Geometric.Prob),
	"noise.Geometric.LogSurvival":        at(noise.NewGeometric, "scale", noise.Geometric.LogSurvival),
	"noise.DiscreteGaussian.Prob":        at(noise.NewDiscreteGaussian, "sigma", noise.DiscreteGaussian.Prob),
	"noise.DiscreteGaussian.LogSurvival": at(noise.NewDiscreteGaussian, "sigma", noise.DiscreteGaussian.LogSurvival),
	"noise.DiscreteGaussian.Variance":    of("sigma", func(a []float64) float64 { return known(noise.NewDiscreteGaussian(a[0])).Variance() }),
	"noise.Laplace.LogSurvival":          at(noise.NewLaplace, "scale", noise.Laplace.LogSurvival),
	"noise.Gaussian.LogSurvival":         at(noise.NewGaussian, "sigma", noise.Gaussian.LogSurvival),
	"noise.RandomizedResponse.K":         of("epsilon", func(a []float64) float64 { return float64(known(noise.RandomizedResponse(a[0])).K()) }),
	"kor.FlipProb":                       of("epsilon", func(a []float64) float64 { return known(kor.Params{Epsilon: a[0]}.Plan()).FlipProb }),
	"noise.LaplaceScale":                 of("epsilon sensitivity", func(a []float64) float64 { return known(noise.LaplaceScale(a[0], a[1])) }),
	"noise.GaussianSigmaZCDP":            of("rho sensitivity", func(a []float64) float64 { return known(noise.GaussianSigmaZCDP(a[0], a[1])) }),
	"noise.GaussianSigma":                of("epsilon delta sensitivity", func(a []float64) float64 { return known(noise.GaussianSigma(a[0], a[1], a[2])) }),
	"noise.GaussianLogDelta":             of("sigma epsilon sensitivity", func(a []float64) float64 { return known(noise.GaussianLogDelta(a[0], a[1], a[2])) }),
	"misragries.Delta": func(c numeric) float64 {
		// the δ at which the threshold is the least one, and at which it is not
		a := c.arguments("counters", "epsilon", "threshold")
		want, err := strconv.ParseFloat(c.Value, 64)
		if err != nil || keptThreshold(a[0], a[1], want*(1+1e-9)) != a[2] || want < 1e-299 || keptThreshold(a[0], a[1], want*(1-1e-9)) == a[2] {
			return math.NaN()
		}
		return want
	},
	"misragries.Threshold": of("counters epsilon delta", func(a []float64) float64 { return keptThreshold(a[0], a[1], a[2]) }),
	"threshold.Laplace.Threshold": of("keys epsilon delta", func(a []float64) float64 {
		return known(threshold.Params{Epsilon: a[1], Delta: a[2], MaxKeys: int(a[0]), MaxValue: 1, Integers: true, Method: threshold.Laplace}.Plan()).Threshold
	}),
	"budget.PureDP.Times.DeltaAt": of("epsilon times at", func(a []float64) float64 { return budget.PureDP(a[0], unit).Times(int(a[1])).DeltaAt(a[2]) }),
	"budget.PureDP.Compose.DeltaAt": func(c numeric) float64 {
		var all []budget.Guarantee
		for _, e := range c.Args["epsilons"].([]any) {
			all = append(all, budget.PureDP(e.(float64), unit))
		}
		return known(budget.Compose(all...)).DeltaAt(c.Args["at"].(float64))
	},
	"budget.GDP.Times.DeltaAt": of("mu times at", func(a []float64) float64 { return budget.GDP(a[0], unit).Times(int(a[1])).DeltaAt(a[2]) }),
	"budget.Laplace.DeltaAt":   of("epsilon at", func(a []float64) float64 { return budget.Laplace(a[0], unit).DeltaAt(a[1]) }),
	"budget.ZCDP.DeltaAt":      of("rho at", func(a []float64) float64 { return budget.ZCDP(a[0], unit).DeltaAt(a[1]) }),
}

// away returns (got − want)/|want|, computed with 200 bits; for logarithms of numbers near 1 got −
// want.
func away(got float64, value string, log bool) float64 {
	want, _, err := big.ParseFloat(value, 10, 200, big.ToNearestEven)
	if err != nil || math.IsNaN(got) || math.IsInf(got, 0) {
		return math.NaN()
	}
	d := new(big.Float).SetPrec(200).SetFloat64(got)
	d.Sub(d, want)
	if size := new(big.Float).Abs(want); want.Sign() != 0 && !(log && size.Cmp(big.NewFloat(1)) < 0) {
		d.Quo(d, size)
	}
	x, _ := d.Float64()
	return x
}

// ulp is what rounding a result to a float64 may take from it.
const ulp = 0x1p-52

// wrong says how a number differs from its vector, "" if it does not.
func wrong(c numeric, got float64) string {
	off, ok := away(got, c.Value, strings.Contains(c.What, ".Log") || strings.Contains(c.What, "LogDelta")), false
	switch c.Direction {
	case "near":
		ok = math.Abs(off) <= c.Within+ulp
	case "up":
		ok = off >= -ulp && off <= c.Within+ulp
	case "above":
		ok = off >= -ulp
	case "below":
		ok = off <= c.Within
	}
	if ok {
		return ""
	}
	return fmt.Sprintf("%s %v is %g, off by %.3g of %s (%s, %g)", c.ID, c.Args, got, off, c.Value, c.Direction, c.Within)
}

// The library has the numbers of the second implementation, all of them.
func TestNumbers(t *testing.T) {
	named := map[string]bool{}
	for _, file := range []string{"laws.json", "calibrations.json", "compositions.json"} {
		for _, c := range read[numeric](t, file) {
			f := functions[c.What]
			require.NotNil(t, f, "%s: there is no function %s", c.ID, c.What)
			named[c.What] = true
			got := f(c)
			if why := wrong(c, got); why != "" {
				t.Error(file, why)
			}
			// Controls: a number that is a little off is not taken for right.
			if c.Direction == "near" || c.Direction == "up" {
				little := (2*c.Within + 1e-9) * math.Abs(got)
				if strings.Contains(c.What, "Log") {
					little = (2*c.Within + 1e-9) * max(math.Abs(got), 1)
				}
				require.NotEmpty(t, wrong(c, got+little), c.ID)
				require.NotEmpty(t, wrong(c, got-little), c.ID)
			}
		}
	}
	require.Len(t, named, len(functions), "a function that no vector names")
}

// encoded is a case of encodings.json.
type encoded struct {
	ID, Result, Hex, Type, Why string
	Decoded                    map[string]any
}

// object is what every released object can do.
type object interface {
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// objects make receivers for each type of encodings: one for each type of keys.
var objects = map[string][]func() object{
	"misragries.Histogram":        {to[misragries.Histogram[string]], to[misragries.Histogram[int]], to[misragries.Histogram[uint64]], to[misragries.Histogram[[16]byte]]},
	"threshold.Vector":            {to[sparse.Vector[string]], to[sparse.Vector[int]], to[sparse.Vector[uint64]], to[sparse.Vector[[16]byte]]},
	"threshold/groupby.Groups":    {to[groupby.Groups[string]], to[groupby.Groups[int]], to[groupby.Groups[uint64]], to[groupby.Groups[[16]byte]]},
	"misragries/series.Slice":     {to[series.Slice[string]], to[series.Slice[int]], to[series.Slice[uint64]], to[series.Slice[[16]byte]]},
	"alp.Projection":              {to[alp.Projection]},
	"kor.Sketch":                  {to[kor.Sketch], to[kor.StreamSketch]},
	"jl.Sketch":                   {to[jl.Sketch]},
	"elliptical.Sum":              {to[elliptical.Sum]},
	"plan.Mean":                   {to[plan.Mean]},
	"arete.Value":                 {to[arete.Value]},
	"noise/approx.Value":          {to[approx.Value]},
	"noise/approx.Advised":        {to[approx.Advised]},
	"noise/budget.Guarantee":      {to[budget.Guarantee]},
	"noise/budget.Ledger":         {to[budget.Ledger]},
	"kor/distinct.Sketch":         {to[distinct.Sketch]},
	"kor/distinct.Running":        {to[distinct.Running]},
	"kor/distinct.Windows":        {to[distinct.Windows]},
	"kor/distinct.Pair":           {to[distinct.Pair]},
	"kor/distinct.Cohorts":        {to[distinct.Cohorts]},
	"kor/distinct.Frequencies":    {to[distinct.Frequencies]},
	"elliptical/column.Summary":   {to[column.Summary]},
	"elliptical/column.Quantiles": {to[column.Quantiles]},
}

func to[T any, PT interface {
	*T
	object
}]() object {
	return PT(new(T))
}

// The library reads what must be read, as the second implementation does, and rejects the others.
func TestEncodings(t *testing.T) {
	valid, invalid := map[string]int{}, map[string]int{}
	for _, c := range read[encoded](t, "encodings.json") {
		data := dptest.OK(hex.DecodeString(c.Hex))(t, c.ID)
		require.NotEmpty(t, objects[c.Type], "%s: no type %s", c.ID, c.Type)
		read := 0
		for _, make := range objects[c.Type] {
			o := make()
			if err := o.UnmarshalBinary(data); err != nil {
				require.ErrorIs(t, err, check.ErrFormat, c.ID)
				continue
			}
			read++
			if c.Result == "valid" {
				again := dptest.OK(o.MarshalBinary())(t)
				require.Equal(t, c.Hex, hex.EncodeToString(again), c.ID)
				sameParams(t, c, o)
			}
		}
		if c.Result == "valid" {
			valid[c.Type]++
			require.Equal(t, 1, read, "%s is read by %d types of keys", c.ID, read)
		} else {
			invalid[c.Type]++
			if read > 0 {
				t.Errorf("%s (%s) is read", c.ID, c.Why)
			}
		}
	}
	for name := range objects {
		require.Positive(t, valid[name], name)
		require.GreaterOrEqual(t, invalid[name], 10, name)
	}
}

// sameParams compares the Params of an object with what the second implementation read, where they
// have one name.
func sameParams(t *testing.T, c encoded, o object) {
	method := reflect.ValueOf(o).MethodByName("Params")
	if !method.IsValid() {
		return
	}
	params, compared := method.Call(nil)[0], 0
	for i := range params.NumField() {
		name := params.Type().Field(i).Name
		want, ok := c.Decoded[name]
		if !ok {
			continue
		}
		compared++
		switch f := params.Field(i); {
		case f.CanFloat():
			require.Equal(t, want, f.Float(), "%s: %s", c.ID, name)
		case f.CanInt():
			require.Equal(t, want, float64(f.Int()), "%s: %s", c.ID, name)
		case f.CanUint():
			require.Equal(t, want, float64(f.Uint()), "%s: %s", c.ID, name)
		case f.Kind() == reflect.Bool:
			require.Equal(t, want, f.Bool(), "%s: %s", c.ID, name)
		case f.Type() == reflect.TypeFor[hashing.Seed]():
			seed := f.Interface().(hashing.Seed)
			require.Equal(t, want, hex.EncodeToString(seed[:]), "%s: %s", c.ID, name)
		case f.Kind() == reflect.Array:
			require.Equal(t, fmt.Sprint(want), fmt.Sprint(f.Interface()), "%s: %s", c.ID, name)
		default:
			compared--
		}
	}
	require.GreaterOrEqual(t, compared, 2, "%s: nothing to compare", c.ID)
}

// Bytes near an encoding: what is read is written as it was, whatever the type.
func FuzzDecoders(f *testing.F) {
	text := dptest.OK(os.ReadFile("encodings.json"))(f)
	var file struct{ Cases []encoded }
	require.NoError(f, json.Unmarshal(text, &file))
	for _, c := range file.Cases {
		data := dptest.OK(hex.DecodeString(c.Hex))(f)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, all := range objects {
			for _, make := range all {
				o := make()
				if err := o.UnmarshalBinary(data); err != nil {
					require.ErrorIs(t, err, check.ErrFormat)
					continue
				}
				again := dptest.OK(o.MarshalBinary())(t)
				require.Equal(t, data, again)
			}
		}
	})
}

// FORMAT.md has all kinds with their versions, as the vectors have them.
func TestFormatIsComplete(t *testing.T) {
	text := dptest.OK(os.ReadFile("../../wire/FORMAT.md"))(t)
	for _, c := range read[encoded](t, "encodings.json") {
		if c.Result == "valid" {
			data := dptest.OK(hex.DecodeString(c.Hex))(t)
			found := false
			for line := range strings.Lines(string(text)) {
				found = found || strings.HasPrefix(line, fmt.Sprintf("| %d | %s", data[4], c.Type)) && strings.Contains(line, fmt.Sprintf("| %d | [", data[5]))
			}
			require.True(t, found, "kind %d, %s, version %d", data[4], c.Type, data[5])
		}
	}
	for kind := range wire.KindPrivate {
		if !strings.HasPrefix(kind.String(), "kind ") && kind.String() != "" {
			require.Contains(t, string(text), fmt.Sprintf("\n| %d | ", kind), "%v", kind)
		}
	}
}

// python returns the interpreter, or skips the test: .ci/run has one.
func python(t *testing.T) string {
	dptest.NeedsLong(t)
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	return path
}

// The decoder in Python, which was written from FORMAT.md, reads all vectors.
func TestDecoder(t *testing.T) {
	out, err := exec.Command(python(t), "../../wire/decode.py", "-check", "encodings.json").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.True(t, strings.HasPrefix(string(out), fmt.Sprint(len(read[encoded](t, "encodings.json")), " vectors")), "%s", out)
}

// generate.py writes the files as they are.
func TestGenerate(t *testing.T) {
	out, err := exec.Command(python(t), "generate.py", "-check").CombinedOutput()
	require.NoError(t, err, "%s\nrun: python3 internal/audit/vectors/generate.py", out)
	require.Contains(t, string(out), "encodings:")
}
