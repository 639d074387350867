package surface

import (
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/stretchr/testify/require"
)

// fakes stand in for packages that the flawed package below imports, each after those that it
// imports.
var fakes = []struct{ path, text string }{
	{"fmt", "package fmt\ntype State interface{}"},
	{"log/slog", "package slog\ntype Value struct{}"},
	{module + "/noise/budget", "package budget\ntype Guarantee struct{}"},
	{kit, `package dptest
func Codec[T any](valid *T, equal func(a, b *T) bool) {}
func Decoded[T any](data []byte) *T { return nil }
func Redacted(object any, secrets ...string) {}
func Builder[T any](fresh func() *T, use func(*T), others ...*T) {}`},
	{module + "/internal/private", `package private
import ("fmt"; "log/slog")
type State[S any] struct{ at **S }
func (State[S]) Format(fmt.State, rune) {}
func (State[S]) LogValue() slog.Value { return slog.Value{} }
func (State[S]) MarshalText() ([]byte, error) { return nil, nil }
func (*State[S]) UnmarshalText([]byte) error { return nil }`},
}

// a package x with nothing missing: one declaration a line.
const (
	good = `package x
import ("` + module + `/noise/budget"; "` + module + `/internal/private")
type Params struct{ epsilon float64; seed [16]byte }
type secret = private.State[map[string]int]
type Builder struct{ secret; params Params }
func New(p Params) (*Builder, error) { return nil, nil }
func (b *Builder) Add(k uint64) {}
func (b *Builder) Release() (*Sketch, error) { return nil, nil }
func (b *Builder) Released() bool { return false }
func (b *Builder) Guarantee() budget.Guarantee { return budget.Guarantee{} }
type Sketch struct{ x int }
func (s *Sketch) Guarantee() budget.Guarantee { return budget.Guarantee{} }
func (s *Sketch) Params() Params { return Params{} }
func (s *Sketch) String() string { return "" }
func (s *Sketch) AppendBinary(dst []byte) ([]byte, error) { return nil, nil }
func (s *Sketch) MarshalBinary() ([]byte, error) { return nil, nil }
func (s *Sketch) UnmarshalBinary(data []byte) error { return nil }
func (s Sketch) MarshalJSON() ([]byte, error) { return nil, nil }
func (s *Sketch) UnmarshalJSON(data []byte) error { return nil }
`
	goodTests = `package x
import "` + module + `/internal/audit/dptest"
func ExampleBuilder() { b, _ := New(Params{}); s, _ := b.Release(); s.String() }
func FuzzUnmarshal() { decoded(nil) }
func decoded(data []byte) { dptest.Decoded[Sketch](data) }
func TestCodec() { dptest.Codec(&Sketch{}, func(a, b *Sketch) bool { return true }) }
func TestRedaction() { b, _ := New(Params{}); dptest.Redacted(b) }
func TestBuilder() { dptest.Builder(func() *Builder { return nil }, func(*Builder) {}) }
`
)

type fakeImporter map[string]*types.Package

func (f fakeImporter) Import(path string) (*types.Package, error) {
	if p := f[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("no such package")
}

// audited returns what the audit says of a package x, whose Params are in the list public.
func audited(t *testing.T, source, tests string) []string {
	t.Helper()
	set, imports := token.NewFileSet(), fakeImporter{}
	for _, fake := range fakes {
		c := dptest.OK(check(fake.path, map[string]string{"fake.go": fake.text}, set, imports))(t, fake.path)
		imports[fake.path] = c.types
	}
	c := dptest.OK(check(module+"/x", map[string]string{"x.go": source, "x_test.go": tests}, set, imports))(t, source)
	was := public
	defer func() { public = was }()
	public = []string{"x.Params"}
	return (&subject{path: "x", inner: c, doc: []string{"package x"}}).audit()
}

// TestAudit gives the audit one flaw at a time.
func TestAudit(t *testing.T) {
	require.Empty(t, audited(t, good, goodTests))
	for method, want := range map[string]string{
		"func (b *Builder) Released":     "x.Builder lacks the method Released",
		"func (b *Builder) Guarantee":    "x.Builder lacks the method Guarantee",
		"func (s *Sketch) Guarantee":     "x.Sketch lacks the method Guarantee",
		"func (s *Sketch) Params":        "x.Sketch lacks the method Params",
		"func (s *Sketch) String":        "x.Sketch lacks the method String",
		"func (s *Sketch) AppendBinary":  "x.Sketch lacks the method AppendBinary",
		"func (s *Sketch) MarshalBinary": "x.Sketch lacks the method MarshalBinary",
		"func (s *Sketch) UnmarshalB":    "x.Sketch lacks the method UnmarshalBinary",
		"func (s Sketch) MarshalJSON":    "x.Sketch lacks the method MarshalJSON",
		"func (s *Sketch) UnmarshalJ":    "x.Sketch lacks the method UnmarshalJSON",
	} {
		tests := strings.ReplaceAll(goodTests, "s.String()", "_ = s")
		require.Contains(t, strings.Join(audited(t, without(t, good, method), tests), "\n"), want)
	}
	for function, want := range map[string]string{
		"func Example":       "x.Sketch lacks an Example",
		"func FuzzUnmarshal": "x.Sketch lacks a fuzz target",
		"func TestCodec":     "x.Sketch lacks a test with dptest.Codec",
		"func TestRedaction": "x.Builder lacks a test with dptest.Redacted",
		"func TestBuilder":   "x.Builder lacks a test with dptest.Builder",
	} {
		require.Contains(t, strings.Join(audited(t, good, without(t, goodTests, function)), "\n"), want)
	}
}

// TestAuditOfChanges gives the audit one change at a time that brings a flaw, and the line that
// names it.
func TestAuditOfChanges(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"Builder struct{ secret; params Params }", "Builder struct{ s **int }", "x.Builder lacks an embedded private.State"},
		{"Builder struct{ secret; params Params }", "Builder struct{ s **int }", "x.Builder lacks secrecy: its field s is neither"},
		{"Builder struct{ secret; params Params }", "Builder struct{ s **int }", "x.Builder lacks the method Format"},
		{"Builder struct{ secret; params Params }", "Builder struct{ held secret; params Params }", "x.Builder lacks redaction: it has a private.State that is not embedded"},
		{"Builder struct{ secret; params Params }", "Builder struct{ secret; more []float64 }", "x.Builder lacks secrecy: its field more is neither"},
		{"Builder struct{ secret; params Params }", "Builder struct{ base }\ntype base struct{ secret; more []float64 }", "x.Builder lacks secrecy: its field more is neither"},
		{"Builder struct{ secret; params Params }", "Builder struct{ base }\ntype base struct{ held secret }", "x.Builder lacks redaction: it has a private.State that is not embedded"},
		{"Builder struct{ secret; params Params }", "Builder struct{ secret; more struct{ f func() } }", "x.Builder lacks secrecy: its field more is neither"},
		{"Sketch struct{ x int", "Sketch struct{ X int", "x.Sketch lacks immutability: it has the exported field X"},
		{"String() string { return \"\" }", "String() []byte { return nil }", "x.Sketch lacks the method String() (string), it has () ([]byte)"},
		{"Params() Params { return Params{} }", "Params() []Params { return nil }", "x.Sketch lacks a method Params that returns comparable Params"},
		{"Release() (*Sketch, error)", "Publish() (*Sketch, error)", "x.Builder lacks the method Release, though it takes in data"},
		{"", "func (b *Builder) Content() []float64 { return nil }", "x.Builder lacks secrecy: the method Content returns []float64"},
		{"", "type Other struct{}\nfunc (b *Builder) Finish() (Other, error) { return Other{}, nil }",
			"x.Other lacks a codec, though it comes out of Builder.Finish"},
		{"", "type Other []float64\nfunc (b *Builder) ReleaseAll() Other { return nil }", "x.Other lacks immutability: it is not a struct"},
		{"", "type Other[K comparable] struct{ k K }\nfunc Publish[K comparable](b *Builder) (*Other[K], error) { return nil, nil }",
			"x.Other lacks a test with dptest.Codec"},
		{"", "type Other struct{}\nfunc (b *Builder) Parts() []*Other { return nil }", "x.Other lacks a fuzz target"},
		{"", "type Other struct{ Sketch }\nfunc (b *Builder) ReleaseOther() *Other { return nil }", "x.Other lacks a test with dptest.Codec"},
		{"", "type Other struct{}", "x.Other lacks a role"},
		{"", "type Other struct{}\nfunc Publish(x []float64) *Other { return nil }", "x.Other lacks a role"},
		{"", "type Other struct{}\nfunc (o Other) GobEncode() ([]byte, error) { return nil, nil }", "x.Other lacks the method UnmarshalBinary"},
		{"", "type other struct{ Sketch }\ntype Other = other\nfunc (b *Builder) ReleaseOther() *Other { return nil }",
			"x.Builder lacks secrecy: the method ReleaseOther returns"},
		{"", "type Machine struct{}\nfunc (m Machine) Release(x float64) float64 { return 0 }", "x.Machine lacks the method Guarantee"},
		{"", "type Mechanism uint8", "x.Mechanism lacks a method Release: what chooses"},
		{"", "type Method struct{}", "x.Method lacks constants"},
		{"", "func Plan(epsilon float64) Params { return Params{} }", "x.Plan lacks a receiver"},
		{"", "type Plan struct{ Size int }\nfunc (p Params) Plan() (Plan, error) { return Plan{}, nil }", "x.Plan lacks a first field Params"},
		{"", "type Plan struct{ Params Params }\nfunc (p Params) Plan() (Plan, error) { return Plan{}, nil }", "x.Plan lacks the method String"},
		{"", "type Plan struct{ Params Params }\nfunc (p Params) Plan() []Plan { return nil }", "x.Params lacks one shape of Plan"},
		{"", "func (s *Sketch) Len() int64 { return 0 }", "x.Sketch lacks the meaning of Len() (int)"},
		{"", "func (s *Sketch) Interval(delta float64) (lo, hi float64) { return 0, 0 }", "x.Sketch lacks a confidence as the last argument"},
		{"", "func (s *Sketch) Interval(confidence float64) (float64, float64) { return 0, 0 }", "x.Sketch lacks the results lo, hi"},
		{"", "func (s *Sketch) Sigma() float64 { return 0 }", "x.Sketch lacks the word StdDev or StdErr for Sigma"},
		{"type Params struct{ epsilon float64;", "type Params struct{ KeyLimit int; epsilon float64;", "x.Params lacks the word Max, Min or Method for its field KeyLimit"},
		{"func New(p Params) (*Builder, error)", "func New(p Params) (*Sketch, error)", "x.New lacks a result Builder or Mechanism"},
		{"", "func NewStream(p Params) (*Sketch, error) { return nil, nil }", "x.NewStream lacks the name NewSketch"},
		{"", "type Second struct{ s **int }\nfunc (s *Second) Toggle(k uint64) {}", "x.Second lacks a test with dptest.Redacted"},
	} {
		source := good + c.new + "\n"
		if c.old != "" {
			require.Equal(t, 1, strings.Count(good, c.old), c.old)
			source = strings.Replace(good, c.old, c.new, 1)
		}
		tests := strings.NewReplacer("s.String()", "_ = s", "s, _ := b.Release()", "s := &Sketch{}; _ = b").Replace(goodTests)
		require.Contains(t, strings.Join(audited(t, source, tests), "\n"), c.want, fmt.Sprint(c))
	}
}

// Tests of one type do not count for another, nor do those that nothing calls.
func TestAuditOfTests(t *testing.T) {
	source := good + "type Other struct{}\n"
	for _, c := range []struct{ old, new, want string }{
		{"Codec(&Sketch{}, func(a, b *Sketch)", "Codec(&Other{}, func(a, b *Other)", "x.Sketch lacks a test with dptest.Codec"},
		{"Decoded[Sketch]", "Decoded[Other]", "x.Sketch lacks a fuzz target with dptest.Decoded"},
		{"func FuzzUnmarshal() { decoded(nil) }", "func FuzzUnmarshal() {}", "x.Sketch lacks a fuzz target with dptest.Decoded"},
		{"dptest.Redacted(b)", "_ = b; dptest.Redacted(Other{})", "x.Builder lacks a test with dptest.Redacted"},
		{"b, _ := New(Params{}); s, _ := b.Release(); s.String()", "", "x.Sketch lacks an Example in which it occurs"},
	} {
		require.Equal(t, 1, strings.Count(goodTests, c.old), c.old)
		found := audited(t, source, strings.Replace(goodTests, c.old, c.new, 1))
		require.Contains(t, strings.Join(found, "\n"), c.want)
	}
	explicit := strings.Replace(goodTests, "dptest.Codec(", "dptest.Codec[Sketch](", 1)
	require.Empty(t, audited(t, good, explicit))
}

// without returns the text without the line that begins so.
func without(t *testing.T, text, start string) string {
	t.Helper()
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, start) {
			return strings.Join(append(lines[:i:i], lines[i+1:]...), "\n")
		}
	}
	require.Fail(t, "no line begins so", start)
	return ""
}
