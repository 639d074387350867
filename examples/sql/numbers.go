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

// This file decides which values are numbers: which columns can be summed, by their declared type,
// and which values of a column that takes any are none.

// numeric are the types of columns whose values are numbers, in SQLite, PostgreSQL and DuckDB. The
// last is that of an expression in a view of SQLite, or of a column that was declared without one.
var numeric = strings.Split("INT INTEGER TINYINT SMALLINT MEDIUMINT BIGINT HUGEINT INT2 INT4 INT8 "+
	"UTINYINT USMALLINT UINTEGER UBIGINT UHUGEINT UNSIGNED_BIG_INT REAL FLOAT FLOAT4 FLOAT8 DOUBLE DOUBLE_PRECISION DECIMAL NUMERIC ", " ")

// checkValue refuses a column of values whose declared type is not that of numbers. It looks at no
// row, so that the error tells the schema alone.
func (q query) checkValue(rows *sql.Rows) error {
	if q.value == "" {
		return nil
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	declared := types[len(types)-1].DatabaseTypeName()
	name, _, _ := strings.Cut(strings.ToUpper(declared), "(")
	if !slices.Contains(numeric, strings.Join(strings.Fields(name), "_")) {
		return cli.Usage(fmt.Errorf("-value = %q: a column of type %s: want numbers, of a view that casts it perhaps", q.value, declared))
	}
	return nil
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
