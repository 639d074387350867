package dptest

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	secretText   = "martha@example.org"
	secretNumber = int64(918273645546372)
)

var secrets = []string{secretText, "918273645546372"}

// box keeps its state behind a pointer to a pointer and redacts itself, as the design asks.
type box struct{ state **boxState }

type boxState struct {
	name  string
	count int64
}

func newBox() *box {
	s := &boxState{secretText, secretNumber}
	return &box{&s}
}

func (b box) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, "box(redacted)") }
func (b box) LogValue() slog.Value         { return slog.StringValue("box(redacted)") }
func (b box) MarshalJSON() ([]byte, error) { return nil, errors.New("a box is private") }

// Each leaky type has one hole.
type (
	plain    struct{ name string }
	exported struct{ Name string }
	number   struct{ count int64 }
	float    struct{ value float64 }
	data     struct{ bytes []byte }
	stringer struct{ state **boxState }
	loud     struct{ state **boxState }
	logged   struct{ state **boxState }
	inJSON   struct{ state **boxState }
	inGob    struct{ state **boxState }
	shallow  struct{ state *boxState }
	panics   struct{ state **boxState }
	jsonErr  struct{ state **boxState }
)

func (p plain) Format(f fmt.State, _ rune)     { _, _ = io.WriteString(f, "redacted") }
func (s stringer) String() string              { return strings.ToUpper((*s.state).name) }
func (l *loud) GoString() string               { return fmt.Sprintf("loud{%#x}", (*l.state).count) }
func (l logged) LogValue() slog.Value          { return slog.Int64Value((*l.state).count) }
func (j inJSON) MarshalText() ([]byte, error)  { return []byte((*j.state).name), nil }
func (g *inGob) GobEncode() ([]byte, error)    { return []byte((*g.state).name), nil }
func (p panics) String() string                { panic((*p.state).name) }
func (j jsonErr) MarshalJSON() ([]byte, error) { return nil, errors.New((*j.state).name) }

// Format on a pointer only: a copy of the struct behind it is not protected, and neither is an
// unexported field of it.
func (s *shallow) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "redacted") }

func TestLeaks(t *testing.T) {
	s := &boxState{secretText, secretNumber}
	for _, leaky := range []any{
		secretText, []byte(secretText), secretNumber, uint64(secretNumber), float64(secretNumber), []rune(secretText),
		plain{secretText}, &plain{secretText}, exported{secretText}, number{secretNumber}, float{float64(secretNumber)}, data{[]byte(secretText)},
		stringer{&s}, &loud{&s}, logged{&s}, inJSON{&s}, &inGob{&s}, shallow{s}, &shallow{s}, panics{&s}, jsonErr{&s},
		errors.New("no user " + secretText), func() error { return fmt.Errorf("count %d", secretNumber) }(),
		map[string]int{secretText: 1}, []any{newBox(), secretText},
	} {
		require.NotEmpty(t, Leaks(leaky, secrets...), "%T", leaky)
	}
	require.True(t, fails(func(t testing.TB) { Redacted(t, plain{secretText}, secrets...) }))
}

func TestRedacted(t *testing.T) {
	Redacted(t, newBox(), secrets...)
	Redacted(t, *newBox(), secrets...)
	Redacted(t, func() string { return secretText }, secrets...)
	Redacted(t, nil, secrets...)
	Redacted(t, (*box)(nil), secrets...)
	Redacted(t, struct{ A, B any }{1, "public"}, secrets...)
}

func TestLeaksMisuse(t *testing.T) {
	require.NotEmpty(t, Leaks(newBox()), "no secrets")
	require.NotEmpty(t, Leaks(newBox(), "short"))
}

func TestNeedles(t *testing.T) {
	for _, c := range []struct{ secret, text string }{
		{"martha@example.org", "x 6d 61 72 74 68 61 40 65 78 61 6d 70 6c 65 2e 6f 72 67"},
		{"martha@example.org", "0x6D0x610x720x740x680x610x400x650x780x610x6D0x700x6C0x650x2E0x6F0x720x67"},
		{"martha@example.org", "[109 97 114 116 104 97 64 101 120 97 109 112 108 101 46 111 114 103]"},
		{"martha@example.org", "bWFydGhhQGV4YW1wbGUub3Jn"},
		{"martha@example.org", "eG1hcnRoYUBleGFtcGxlLm9yZ3g="}, // xmartha…x
		{"martha@example.org", "eHhtYXJ0aGFAZXhhbXBsZS5vcmd4"}, // xxmartha…x
		{"zwölf Äpfel", `zw\u00f6lf \u00c4pfel`},
		{"918273645546372", "0X3432A3E730B84"},
		{"918273645546372", "9.18273645546372e+14"},
		{"123456.75", "1.2345675e+05"},
		{"-918273645546372", "-3432a3e730b84"},
	} {
		hay, found := newHaystack(c.text), false
		for _, n := range needles(c.secret) {
			found = found || hay.holds(n)
		}
		require.True(t, found, "%q in %q", c.secret, c.text)
	}
}
