package main

import (
	"database/sql"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// typed is a column of one type, whose rows have one and the other of two literals in turn, which
// are equal to the database.
type typed struct {
	declared, first, second string
	value                   float64 // of a row; NaN: refused as -value
	key                     string  // refused as -key if empty
}

var refused = math.NaN()

// engine is a database with its types of columns, and a statement before them.
type engine struct {
	driver string
	types  []typed
	setup  string
}

var sqliteTypes = engine{driver: "sqlite", types: []typed{
	{"INTEGER", "5", "5.0", 5, "5"}, {"INT", "-5", "'-5'", -5, "-5"}, {"TINYINT", "5", "5", 5, "5"}, {"SMALLINT", "5", "5", 5, "5"},
	{"BIGINT", "9007199254740993", "9007199254740993", 9007199254740992, "9007199254740993"}, {"UNSIGNED BIG INT", "5", "5", 5, "5"},
	{"REAL", "2.5", "2.5", 2.5, "2.5"}, {"REAL", "2", "2.0", 2, "2"}, {"FLOAT", "0", "-0.0", 0, "0"}, {"DOUBLE PRECISION", "1e300", "1e300", 1e300, "1.0e+300"},
	{"NUMERIC", "1.0", "1.00", 1, "1"}, {"DECIMAL(10,2)", "'1.50'", "1.5", 1.5, "1.5"}, {"", "1", "1.0", 1, "1"}, {"", "'1.5'", "'1.5'", 1.5, "1.5"},
	{"TEXT", "'7'", "7", refused, "7"}, {"VARCHAR(10)", "'tea'", "'tea'", refused, "tea"}, {"BLOB", "x'414200'", "x'414200'", refused, "AB\x00"},
	{"BOOLEAN", "1", "true", refused, "1"}, {"DATE", "'2026-01-31'", "'2026-01-31'", refused, "2026-01-31"},
	{"DATETIME", "'2026-01-31 10:00:00'", "'2026-01-31 10:00:00'", refused, "2026-01-31 10:00:00"},
	{"TIMESTAMP", "1700000000", "1700000000", refused, "1700000000"}, {"MONEY", "5", "5", refused, "5"},
}}

var postgresTypes = engine{driver: "postgres", setup: "CREATE TYPE taste AS ENUM ('sour', 'sweet')", types: []typed{
	{"smallint", "5", "5", 5, "5"}, {"integer", "-5", "-5", -5, "-5"}, {"bigint", "9007199254740993", "9007199254740993", 9007199254740992, "9007199254740993"},
	{"numeric", "1.0", "1.00", 1, "1"}, {"numeric(10,2)", "1.5", "1.50", 1.5, "1.5"}, {"numeric", "100", "100.000", 100, "100"}, {"real", "0.1", "0.1", 0.1, "0.1"},
	{"double precision", "2.5", "2.5", 2.5, "2.5"}, {"double precision", "0", "-0.0::float8", 0, "0"}, {"money", "1.5", "1.50", refused, "$1.50"},
	{"boolean", "true", "'yes'", refused, "true"}, {"text", "'7'", "'7'", refused, "7"}, {"varchar(10)", "'tea'", "'tea'", refused, "tea"}, {"char(5)", "'a'", "'a  '", refused, "a"},
	{"bytea", `'\x4100'`, `'\x4100'`, refused, `\x4100`}, {"date", "'2026-01-31'", "'2026-01-31'", refused, "2026-01-31"}, {"time", "'10:00'", "'10:00:00'", refused, "10:00:00"},
	{"timestamp", "'2026-01-31 10:00'", "'2026-01-31 10:00:00'", refused, "2026-01-31 10:00:00"},
	{"timestamptz", "'2026-01-31 10:00Z'", "'2026-01-31 11:00+01'", refused, "2026-01-31 10:00:00+00"}, {"interval", "'1 mon'", "'30 days'", refused, ""},
	{"uuid", "'00112233-4455-6677-8899-aabbccddeeff'", "'00112233-4455-6677-8899-AABBCCDDEEFF'", refused, "00112233-4455-6677-8899-aabbccddeeff"},
	{"jsonb", `'{"a": 1}'`, `'{"a":1}'`, refused, `{"a": 1}`}, {"taste", "'sweet'", "'sweet'", refused, "sweet"}, {"integer[]", "'{1,2}'", "'{1, 2}'", refused, "{1,2}"}, {"inet", "'10.0.0.1'", "'10.0.0.1'", refused, "10.0.0.1/32"},
}}

// Every type of column is summed rightly and is one key, of the same text with -key and -back, or
// is refused before anything is spent.
func (e engine) test(t *testing.T, dsn func() string) {
	with := func(work func(db *sql.DB)) {
		db := cli.Must(sql.Open(e.driver, dsn()))
		defer db.Close() // DuckDB has a file once
		work(db)
	}
	table := func(i int) string { return fmt.Sprint("typed", i) }
	with(func(db *sql.DB) {
		statements := []string{e.setup}
		for i, c := range e.types {
			var rows []string
			for user := range 400 {
				rows = append(rows, fmt.Sprintf("(%d, 'one', %s)", user, []string{c.first, c.second}[user%2]))
			}
			rows = append(rows, "(1, 'one', NULL)", "(NULL, 'one', "+c.first+")")
			statements = append(statements, fmt.Sprintf("CREATE TABLE %s (u INTEGER, k VARCHAR(10), x %s)", table(i), c.declared),
				"INSERT INTO "+table(i)+" VALUES "+strings.Join(rows, ","))
		}
		for _, s := range statements {
			if _, err := db.Exec(s); s != "" && err != nil {
				t.Fatalf("%.100s: %v", s, err)
			}
		}
		for i, c := range e.types {
			q := query{driver: e.driver, table: table(i), user: "u", key: "k", value: "x"}
			sum, rows := 0.0, 0
			err := q.read(db, func(_ int64, key string, value float64) {
				if key == "one" {
					sum, rows = sum+value, rows+1
				}
			}, nil)
			if want := 400 * c.value; math.IsNaN(want) != (err != nil) || err == nil && (rows != 400 || math.Abs(sum-want) > 1e-12*math.Abs(want)) {
				t.Errorf("%s %s: %d rows with sum %v, want %v: %v", e.driver, c.declared, rows, sum, want, err)
			}
			q.key, q.value = "x", ""
			keys, days := map[string]int{}, map[string]int{}
			err = q.read(db, func(_ int64, key string, _ float64) { keys[key]++ }, nil)
			clitest.Not(t, (c.key == "") != (err != nil) || err == nil && !maps.Equal(keys, map[string]int{c.key: 400}), "%s %s: keys %v, want %q: %v", e.driver, c.declared, keys, c.key, err)
			if text, err := q.schema(db); err == nil {
				var user, key string
				err = each(db, q.users(text), func() error { days[key]++; return nil }, &user, &key)
				clitest.Not(t, err != nil || !maps.Equal(days, keys), "%s %s: with -back %v, with -key %v: %v", e.driver, c.declared, days, keys, err)
			}
		}
	})
	for i, c := range e.types {
		s := shop{t: t, path: filepath.Join(t.TempDir(), "x"), args: []string{"-driver", e.driver, "-dsn", dsn(), "-table", table(i), "-user", "u", "-epsilon", "8", "-total", "99"}}
		s.args = append(s.args, "-journal", s.path+".journal")
		spent := uint64(0)
		for _, run := range []struct {
			args    []string
			refused bool
		}{{[]string{"-key", "k", "-value", "x", "-max", "10"}, math.IsNaN(c.value)}, {[]string{"-key", "x"}, c.key == ""}} {
			code, out, errs := s.run(run.args...)
			if !run.refused {
				spent++
			}
			if run.refused != (code == 2) || !run.refused && (code != 0 || !strings.Contains(out, "Released: 1 keys")) || run.refused && out != "" || s.spent() != spent {
				t.Errorf("%s %s %v: exit code %d, %d releases: %s%s", e.driver, c.declared, run.args, code, s.spent(), errs, out)
			}
		}
	}
}

func TestSQLiteTypes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "types.db")
	sqliteTypes.test(t, func() string { return path })
}

func TestPostgresTypes(t *testing.T) {
	dsn := clitest.Postgres(t, func(dsn string) error {
		db, err := sql.Open("postgres", dsn)
		if err != nil {
			return err
		}
		defer db.Close()
		return db.Ping()
	})
	postgresTypes.test(t, func() string { return dsn + "&timezone=UTC" })
}

// Each engine has at least twenty types, and some that are refused.
func TestTypesAreMany(t *testing.T) {
	for _, e := range slices.Concat([]engine{sqliteTypes, postgresTypes}, more) {
		names := map[string]bool{}
		for _, c := range e.types {
			names[c.declared] = true
		}
		clitest.Not(t, len(names) < 20, "%s: %d types", e.driver, len(names))
	}
}

// more are the engines of other builds.
var more []engine

// An error while rows are read does not say what is in them.
func TestErrorsTellNoData(t *testing.T) {
	s := newShop(t)
	s.exec(`CREATE VIEW bad AS SELECT 1 AS u, json_extract(name, '$') AS k FROM (SELECT 'secret' AS name)`)
	code, out, errs := s.run("-table", "bad", "-user", "u", "-key", "k")
	if code != 1 || out != "" || strings.Contains(errs, "secret") || !strings.Contains(errs, "while it read the rows") || s.spent() != 0 {
		t.Errorf("exit code %d, %d releases: %s%s", code, s.spent(), errs, out)
	}
}
