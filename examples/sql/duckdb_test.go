//go:build duckdb

package main

import (
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

func init() { more = append(more, duckTypes) }

var duckTypes = engine{driver: "duckdb", setup: "SET TimeZone = 'UTC'", types: []typed{
	{"TINYINT", "5", "5", 5, "5"}, {"SMALLINT", "-5", "-5", -5, "-5"}, {"INTEGER", "5", "5", 5, "5"}, {"BIGINT", "9007199254740993", "9007199254740993", 9007199254740992, "9007199254740993"},
	{"HUGEINT", "150000", "150000", 150000, "150000"}, {"UTINYINT", "5", "5", 5, "5"}, {"USMALLINT", "5", "5", 5, "5"}, {"UINTEGER", "5", "5", 5, "5"}, {"UBIGINT", "5", "5", 5, "5"},
	{"UHUGEINT", "5", "5", 5, "5"}, {"BIGNUM", "5", "5", 5, "5"}, {"FLOAT", "0.5", "0.5", 0.5, "0.5"}, {"DOUBLE", "0.1", "0.1", 0.1, "0.1"}, {"DOUBLE", "0", "-0.0::DOUBLE", 0, "0"},
	{"DECIMAL(9,2)", "1.5", "1.50", 1.5, "1.50"}, {"DECIMAL(38,10)", "12345678.25", "12345678.250", 12345678.25, "12345678.2500000000"},
	{"BOOLEAN", "true", "true", refused, "true"}, {"VARCHAR", "'7'", "'7'", refused, "7"}, {"BLOB", `'\x41\x00'::BLOB`, `'\x41\x00'::BLOB`, refused, `A\x00`},
	{"DATE", "'2026-01-31'", "'2026-01-31'", refused, "2026-01-31"}, {"TIME", "'10:00:00'", "'10:00:00'", refused, "10:00:00"},
	{"TIMESTAMP", "'2026-01-31 10:00:00'", "'2026-01-31 10:00:00'", refused, "2026-01-31 10:00:00"},
	{"TIMESTAMPTZ", "'2026-01-31 10:00:00+00'", "'2026-01-31 11:00:00+01'", refused, "2026-01-31 10:00:00+00"}, {"INTERVAL", "'1 month'", "'30 days'", refused, ""},
	{"UUID", "'00112233-4455-6677-8899-aabbccddeeff'", "'00112233-4455-6677-8899-AABBCCDDEEFF'", refused, "00112233-4455-6677-8899-aabbccddeeff"},
	{"ENUM('sour', 'sweet')", "'sweet'", "'sweet'", refused, "sweet"}, {"INTEGER[]", "[1, 2]", "[1,2]", refused, "[1, 2]"}, {"DECIMAL(9,2)[]", "[1]", "[1.0]", refused, "[1.00]"},
	{"STRUCT(a INTEGER)", "{'a': 1}", "{'a': 1}", refused, "{'a': 1}"}, {"BIT", "'101'", "'101'", refused, "101"},
}}

func TestDuckDBTypes(t *testing.T) {
	t.Setenv("TZ", "UTC")
	path := filepath.Join(t.TempDir(), "types.duckdb")
	duckTypes.test(t, func() string { return path })
}

// duck runs statements in a database in memory, and returns what the last one gives.
func duck[T any](t *testing.T, statements ...string) (x T) {
	t.Helper()
	db := cli.Must(sql.Open("duckdb", ""))
	defer db.Close()
	db.SetMaxOpenConns(1)
	for i, s := range statements {
		if i < len(statements)-1 {
			cli.Must(db.Exec(s))
		} else {
			cli.OK(db.QueryRow(s).Scan(&x))
		}
	}
	return x
}

// The command reads Parquet files, without a database, and each interval holds the truth.
func TestParquet(t *testing.T) {
	folder := t.TempDir()
	for _, part := range []int{0, 1} {
		duck[int](t, fmt.Sprintf(`COPY (SELECT i %% 500 AS "user", CASE WHEN i %% 2 = 0 THEN 'tea' ELSE 'secret ' || i END AS page,
			(i %% 4)::DECIMAL(9,2) AS price, DATE '2026-01-30' + (i // 500 %% 2)::INTEGER AS day FROM range(%d, %d) r(i)) TO '%s/part%d.parquet' (FORMAT parquet)`,
			part*1000, part*1000+1000, folder, part), "SELECT 1")
	}
	s := shop{t: t, path: filepath.Join(folder, "x"), args: []string{"-driver", "duckdb", "-from", "read_parquet('" + folder + "/*.parquet')", "-epsilon", "4", "-total", "99", "-confidence", fmt.Sprint(nearly)}}
	if code, _, errs := s.run(); code != 2 || !strings.Contains(errs, "-journal is missing") {
		t.Errorf("without a journal: exit code %d: %s", code, errs)
	}
	s.args = append(s.args, "-journal", s.path+".journal")
	// 4 rows of 0 or 2 for each of 250 users
	code, out, errs := s.run("-value", "price", "-max", "16")
	clitest.Not(t, code != 0 || !strings.Contains(out, "Released: 1 keys"), "exit code %d: %s%s", code, errs, out)
	_, line, _ := strings.Cut(strings.ReplaceAll(out, "–", " "), "\n  tea ")
	var users, low, high, sum, sumLow, sumHigh float64
	if _, err := fmt.Sscan(line, &users, &low, &high, &sum, &sumLow, &sumHigh); err != nil || !(low <= 250 && 250 <= high && high-low < 200 && sumLow <= 1000 && 1000 <= sumHigh && sumHigh-sumLow < 2000) {
		t.Errorf("%v:\n%s", err, out)
	}
	code, out, errs = s.run("-key", "day", "-back", "2026-01-30,2026-01-31")
	clitest.Not(t, code != 0 || !strings.Contains(out, "with both"), "exit code %d: %s%s", code, errs, out)
	if code, _, errs = s.run("-key", "page", "-value", "day"); code != 2 || !strings.Contains(errs, "DATE") || s.spent() != 2 {
		t.Errorf("exit code %d, %d releases: %s", code, s.spent(), errs)
	}
	if code, _, errs = s.run("-from", "(SELECT 1 AS \"user\", CAST('secret' || page AS INTEGER) AS page FROM read_parquet('"+folder+"/*.parquet'))"); code != 1 || strings.Contains(errs, "secret 1") || s.spent() != 2 {
		t.Errorf("exit code %d, %d releases: %s", code, s.spent(), errs)
	}
}

// What the README says that DuckDB would spoil: a sample of it is of blocks, so that it holds
// nearly all rows of some users and none of others; two ways to count users differ where a
// collation makes names equal, and the command counts those that GROUP BY takes for one; its
// quantile of a reservoir is that of the first 8192 rows (of a thread).
func TestWhatDuckDBSpoils(t *testing.T) {
	const big = "CREATE TABLE big AS SELECT i, i // 2048 AS block FROM range(1000000) r(i)"
	if blocks := duck[int](t, big, "SELECT count(DISTINCT block) FROM (FROM big USING SAMPLE 1% (system, 7))"); blocks < 1 || blocks > 40 {
		t.Errorf("a sample of 1%% is of %d blocks of 489", blocks)
	}
	if blocks := duck[int](t, big, "SELECT count(DISTINCT block) FROM (FROM big USING SAMPLE 1% (bernoulli, 7))"); blocks < 450 {
		t.Errorf("a Bernoulli sample of 1%% is of %d blocks of 489", blocks)
	}
	const names = "CREATE TABLE names (u VARCHAR COLLATE NOCASE)"
	const four = "INSERT INTO names VALUES ('Ann'), ('ann'), ('ANN'), ('bob')"
	for statement, want := range map[string]int{
		"SELECT count(DISTINCT u) FROM names":                                        4,
		"SELECT count(*) FROM (SELECT u FROM names GROUP BY u)":                      2,
		"SELECT max(n) FROM (SELECT DENSE_RANK() OVER (ORDER BY u) AS n FROM names)": 2,
	} {
		if n := duck[int](t, names, four, statement); n != want {
			t.Errorf("%s: %d, want %d", statement, n, want)
		}
	}
	if m := duck[float64](t, "SET threads = 1", big, "SELECT reservoir_quantile(i, 0.5) FROM big"); math.Abs(m-4096) > 10 {
		t.Errorf("the median of 0 … 999999 is given as %v", m)
	}
}
