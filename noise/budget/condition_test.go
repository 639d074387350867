package budget

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/big"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// What Stable makes says what the caller promised, and so does all that is made from it: in String,
// in JSON and after a codec.
func TestStableSaysWhatTheCallerPromised(t *testing.T) {
	u := User(0, AddRemove)
	for _, c := range []struct {
		g        Guarantee
		distance float64
		want     string
	}{
		{PureDP(1, Element(AddRemove)), 20, "each user has at most 20 elements"},
		{PureDP(1, OwnElement()), 1, "each user has at most 1 element"},
		{PureDP(1, Key(AddRemove)), 1, "each user has at most 1 key"},
		{PureDP(1, Row(Replace)), 3, "each user has at most 3 rows"},
		{PureDP(1, Party(AddRemove)), 2, "each user has at most 2 parties"},
		{PureDP(1, User(5, AddRemove)), 2, "each user counts as at most 2 users"},
		{PureDP(1, User(5, AddRemove)), 1, "each user counts as at most 1 user"},
		{ZCDP(0.01, L1(2)), 20, "each user moves the vector by at most 20 in ℓ₁"},
		{GDP(1, L2(2)), 0.5, "each user moves the vector by at most 0.5 in ℓ₂"},
	} {
		stable := dptest.OK(c.g.Stable(u, c.distance))(t)
		l := dptest.OK(NewLedger(100, 1e-3, u))(t)
		require.NoError(t, l.Spend(PureDP(0.1, u)))
		require.NotContains(t, l.Spent().String(), "promises")
		require.NoError(t, l.Spend(stable))
		require.Contains(t, l.Spent().String(), ", if "+c.want+", as the caller promises")
		data := dptest.OK(l.MarshalBinary())(t)
		again := new(Ledger)
		require.NoError(t, again.UnmarshalBinary(data))
		for name, g := range map[string]Guarantee{
			"itself":     stable,
			"twice":      stable.Times(2),
			"composed":   dptest.OK(Compose(PureDP(1, u), stable, stable))(t),
			"converted":  dptest.OK(stable.For(User(0, Replace)))(t),
			"group":      dptest.OK(stable.Group(2))(t),
			"group of 1": dptest.OK(stable.Group(1))(t),
			"escape":     stable.WithEscape(1e-6),
			"pair":       PureDP(100, u).WithPair(stable),
			"spent":      l.Spent(),
			"decoded":    again.Spent(),
		} {
			require.True(t, strings.HasSuffix(g.String(), ", if "+c.want+", as the caller promises"), "%s: %v", name, g)
			text := string(dptest.OK(json.Marshal(g))(t))
			require.Contains(t, text, `"if":"`+c.want+`"`)
			require.Contains(t, text, "as the caller promises")
			decoded := new(Guarantee)
			require.NoError(t, json.Unmarshal([]byte(text), decoded))
			require.True(t, decoded.Equal(g), name)
		}
	}
	sampled := dptest.OK(dptest.OK(PureDP(1, Row(AddRemove)).Stable(u, 1))(t).Subsampled(0.5))(t)
	require.Contains(t, sampled.String(), "as the caller promises")
	// Of two promises about the same the stronger implies both; of others both are said.
	of := func(unit Unit, most float64) Guarantee { return dptest.OK(PureDP(1, unit).Stable(u, most))(t) }
	both := dptest.OK(Compose(of(Row(AddRemove), 5), of(Element(AddRemove), 2), of(Row(AddRemove), 3)))(t)
	require.Contains(t, both.String(), "if each user has at most 2 elements and each user has at most 3 rows, as")
	// Of a group each has his share: two users with 20 rows each would have 40.
	for most, want := range map[float64]string{20: "10 rows", 2: "1 row,", 1: "0.5 rows"} {
		g := dptest.OK(PureDP(1, Row(AddRemove)).Stable(u.times(2), most))(t)
		require.Contains(t, g.String(), "if each user has at most "+want)
		require.Equal(t, most, g.Epsilon())
	}
	third := dptest.OK(PureDP(1, Row(AddRemove)).Stable(u.times(3), 2))(t).on.list()[0].distance
	require.Less(t, new(big.Float).Mul(big.NewFloat(third), big.NewFloat(3).SetPrec(100)).Cmp(big.NewFloat(2)), 1)
	require.ErrorIs(t, dptest.Err(PureDP(1, Row(AddRemove)).Stable(u.times(3), leastDistance)), ErrParams)
	require.NotContains(t, dptest.OK(PureDP(1, Row(AddRemove)).For(Row(Replace)))(t).String(), "promises", "a rule for all data")
}

// What a user does in some steps is no statement about the user, whatever the caller promises.
func TestStableNeverTurnsWindowsIntoUsers(t *testing.T) {
	for _, relation := range []Relation{AddRemove, Replace} {
		g := PureDP(1, UserWithin(168, 3, relation))
		for _, to := range allUnits {
			got, err := g.Stable(to, 1)
			if to.period == 168 {
				require.NoError(t, err)
				continue
			}
			require.ErrorIs(t, err, ErrMismatch, to)
			require.False(t, got.Promises())
		}
		require.NoError(t, dptest.Err(g.Stable(UserWithin(168, 0, AddRemove), 2)))
		require.ErrorIs(t, dptest.Err(g.Stable(UserWithin(24, 0, AddRemove), 1)), ErrMismatch)
	}
}

// No text of the program names Stable: it is for promises about data that a caller knows, not for
// whoever has a guarantee of another unit than asked for.
func TestNoErrorProposesStable(t *testing.T) {
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "internal/audit") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
				require.NotContains(t, text.Value, "Stable", path)
			}
			return true
		})
		return nil
	}))
}
