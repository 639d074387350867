package main

import (
	"database/sql"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// This file decides what the values of columns are: which can be summed, by their declared type,
// which values of a column that takes any are no numbers, and which text a key has.

// numeric are the types of columns whose values are numbers, in SQLite, PostgreSQL and DuckDB.
var numeric = strings.Fields("INT INTEGER TINYINT SMALLINT MEDIUMINT BIGINT HUGEINT INT2 INT4 INT8 " +
	"UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT BIGNUM UNSIGNED_BIG_INT REAL FLOAT FLOAT4 FLOAT8 DOUBLE DOUBLE_PRECISION DECIMAL NUMERIC")

// declared returns the type of a column in capitals, without its size.
func declared(t *sql.ColumnType) string {
	name, _, _ := strings.Cut(strings.ToUpper(t.DatabaseTypeName()), "(")
	if strings.HasSuffix(t.DatabaseTypeName(), "]") { // DECIMAL(9,2)[] is a list
		return "LIST"
	}
	return strings.Join(strings.Fields(name), "_")
}

// checkValue refuses a column of values whose declared type is not that of numbers. It looks at no
// row, so that the error tells the schema alone. In SQLite an expression has no type, nor has a
// column that was declared without one; in PostgreSQL an enumeration has none.
func (q query) checkValue(t *sql.ColumnType) error {
	if name := declared(t); !slices.Contains(numeric, name) && (name != "" || q.driver != "sqlite") {
		return cli.Usage(fmt.Errorf("-value = %q: a column of type %s: want numbers, of a view that casts it perhaps", q.value, t.DatabaseTypeName()))
	}
	return nil
}

// keyText returns the SQL for the text of a key, which depends on its own row alone and is the same
// for keys that the database takes for equal: 1.0 and 1.00 are, and 0 and −0. Those that are alike
// in a collation alone are different keys. Intervals are refused: a month is 30 days, and which of
// the texts stood for both would depend on somebody's row.
func (q query) keyText(t *sql.ColumnType) (string, error) {
	key := column(q.key)
	text := "CAST(" + key + " AS TEXT)"
	switch name := declared(t); {
	case q.driver == "sqlite": // whose columns take any value
		whole := "CAST(" + key + " AS INTEGER)"
		return fmt.Sprintf("CASE WHEN typeof(%s) = 'real' AND %[1]s = %[2]s THEN CAST(%[2]s AS TEXT) ELSE %[3]s END", key, whole, text), nil
	case name == "INTERVAL":
		return "", cli.Usage(fmt.Errorf("-key = %q: equal values of type INTERVAL have several texts: want a view that gives one", q.key))
	case name == "NUMERIC" && q.driver == "postgres":
		return "CAST(trim_scale(" + key + ") AS TEXT)", nil
	case slices.Contains([]string{"FLOAT4", "FLOAT8", "FLOAT", "DOUBLE"}, name):
		return fmt.Sprintf("CASE WHEN %s = 0 THEN '0' ELSE %s END", key, text), nil
	}
	return text, nil
}

// real returns a value as a number, if it is one: of any type of numbers in Go or in a driver, or a
// decimal text, as PostgreSQL gives them.
func real(value any) (x float64, ok bool) {
	switch v := value.(type) {
	case *big.Int:
		x, _ = new(big.Float).SetInt(v).Float64()
		return x, true
	case interface{ Float64() float64 }:
		return v.Float64(), true
	case []byte:
		return real(string(v))
	}
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return float64(v.Int()), true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return float64(v.Uint()), true
	case reflect.Float32, reflect.Float64:
		return v.Float(), true
	case reflect.String:
		x, err := strconv.ParseFloat(strings.TrimSpace(v.String()), 64)
		return x, err == nil || errors.Is(err, strconv.ErrRange) // which is infinite
	}
	return 0, false
}

// unread are the users who have a value that is no number. SQLite takes any value in a column of
// any type; such a row is left out, and how many users have one is released, with noise of its own.
type unread struct {
	builder *groupby.Builder[string]
	users   map[int64]bool
}

const (
	unreadKey   = "a value that is no number"
	unreadShare = 1. / 50 // of ε
	leastShare  = 0x1p-10 // the least ε of a release
)

// newUnread takes its part of ε.
func newUnread(p *groupby.Params) (*unread, error) {
	share := max(p.Epsilon*unreadShare, leastShare)
	p.Epsilon -= share
	b, err := groupby.NewListed(groupby.Params{Epsilon: share}, unreadKey)
	return &unread{b, map[int64]bool{}}, err
}

// add counts a user, once.
func (u *unread) add(user int64) {
	if !u.users[user] {
		u.users[user] = true
		u.builder.AddUser([]string{unreadKey})
	}
}
