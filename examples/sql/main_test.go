package main

import (
	"database/sql"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

// nearly is a confidence at which an interval that does not hold the truth is a mistake.
const nearly = 1 - 1e-10

func TestUsage(t *testing.T) {
	own := []string{"-dsn", "x.db"}
	with := func(args ...string) []string { return slices.Concat(own, []string{"-journal", "x.journal"}, args) }
	clitest.Usage(t, func() cli.Command { return new(options) }, [][]string{
		own, {"-driver", "oracle"}, {"-driver", "postgres"}, {"-from", "(SELECT 1)"}, {"-driver", "duckdb"}, with("-table", "orders", "-from", "orders"), {"-table", "orders"}, {"-user", "page"}, {"-key", "user"}, {"-value", "price", "-max", "1"},
		{"-value", "dollars"}, {"-back", "a,b", "-value", "seconds"}, {"-rows", "10", "-back", "a"}, {"-rows", "10", "-back", "a,a"}, {"-rows", "10", "-back", "a,b,c"}, {"-value", "seconds", "-min", "3", "-max", "1"}, {"-max", "5"}, {"-top", "-1"}, {"-rows", "0"}, {"-rows", "1000000000"},
		{"-confidence", "1"}, {"-confidence", "NaN"}, {"-levels", ".5"}, {"-value", "seconds", "-levels", "half"}, {"-rows", "10", "-value", "seconds", "-levels", "2"}, {"-epsilon", "x"}, {"orders"},
		with("-table", ""), with("-user", ""), with("-key", ""), with("-key", "a\x00b"),
		{"-rows", "10", "-epsilon", "0"}, {"-rows", "10", "-delta", "1"}, {"-rows", "10", "-total", "-1"}, {"-rows", "10", "-total-delta", "1"},
	})
	for _, driver := range []string{"sqlite", "postgres"} {
		clitest.Not(t, !slices.Contains(sql.Drivers(), driver), "there is no driver %s", driver)
	}
}

// Quantiles of the values of each page, with intervals that hold them and each other's order.
func TestLevels(t *testing.T) {
	out := clitest.Output(t, new(options), []string{"-rows", "100123", "-epsilon", "8", "-top", "3", "-value", "seconds", "-levels", ".5,.9"}, []string{"p50", "p90"})
	rows := lines(t, out, "/page/", 11, 6)
	for _, x := range rows {
		clitest.Not(t, !(x[1] <= x[0] && x[0] <= x[2] && x[4] <= x[3] && x[3] <= x[5] && x[0] < x[3] && x[0] > 5 && x[3] < 200), "%v", x)
	}
	clitest.Not(t, len(rows) != 3, "%d rows:\n%s", len(rows), out)
}

// lines returns the last n numbers of the lines that have a text and so many fields.
func lines(t *testing.T, out, text string, fields, n int) (rows [][]float64) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(out, "–", " ")) {
		words := strings.Fields(line)
		if !strings.Contains(line, text) || len(words) != fields {
			continue
		}
		x := make([]float64, n)
		for i, word := range words[fields-n:] {
			x[i] = cli.Must(strconv.ParseFloat(word, 64))
		}
		rows = append(rows, x)
	}
	return rows
}

// The answer stands beside the truth, and each interval of the table holds it.
func TestMadeDatabase(t *testing.T) {
	for _, name := range []string{"TMPDIR", "TMP"} { // of Unix, of Windows
		t.Setenv(name, t.TempDir())
	}
	args := []string{"-rows", "50123", "-confidence", fmt.Sprint(nearly), "-top", "10"}
	want := []string{"Made: 50123 rows", "How many users has each page in visits?", "ε = 1, δ = 1e-6 for one user, added or removed",
		"of 10 at δ = 1e-5, 1 release", "record 1", "The 10 most frequent", "/page/0", "Hidden: "}
	counts := clitest.Output(t, new(options), args, want)
	sums := clitest.Output(t, new(options), append(args, "-value", "seconds", "-max", "5000"), append(want, "sum"))
	for _, out := range []string{counts, sums} {
		var keys, inside int
		_, line, _ := strings.Cut(out, "\nOf the ")
		if _, err := fmt.Sscanf(line, "%d intervals %d hold", &keys, &inside); err != nil || keys < 20 || inside != keys {
			t.Errorf("%d of %d intervals hold the truth (%v):\n%s", inside, keys, err, out)
		}
	}
	// Nobody has 5,000 seconds on a page, so the sums are not clamped.
	rows := lines(t, sums, "/page/", 9, 3)
	for _, x := range rows {
		if lo, hi, truth := x[0], x[1], x[2]; !(lo <= truth && truth <= hi) {
			t.Errorf("%v", x)
		}
	}
	clitest.Not(t, len(rows) != 10, "%d rows with sums", len(rows))
	// Without a range it is learned, for large sums and small ones.
	learned := clitest.Output(t, new(options), []string{"-rows", "100123", "-epsilon", "8", "-top", "3", "-value", "revenue"}, []string{"The range of revenue was learned."})
	rows = lines(t, learned, "/page/", 9, 4)
	for _, x := range rows {
		if sum, lo, hi, truth := x[0], x[1], x[2], x[3]; !(sum > 0.7*truth && sum < 1.3*truth && lo < sum && sum < hi) {
			t.Errorf("%v", x)
		}
	}
	clitest.Not(t, len(rows) != 3, "%d rows with sums that were learned", len(rows))
	clitest.Output(t, new(options), []string{"-rows", "5000", "-value", "revenue"}, []string{"Nothing was learned of the range of revenue"})
	clitest.BrokenOutput(t, new(options), "-rows", "100")
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// Who has both of two keys: the truth is in the intervals, for a database that is made.
func TestBack(t *testing.T) {
	out := clitest.Output(t, new(options), []string{"-rows", "50123", "-back", "/page/0,/page/1", "-confidence", fmt.Sprint(nearly)},
		[]string{"ε = 1 for one user, added or removed", "of 10 at δ = 1e-5, 1 release", "users with /page/0 ", "with both "})
	rows := 0
	for line := range strings.Lines(strings.ReplaceAll(out, "–", " ")) {
		var lo, hi, truth float64
		if fields := strings.Fields(line); len(fields) > 5 && strings.Contains(line, "with") {
			rows++
			if _, err := fmt.Sscan(strings.Join(fields[len(fields)-3:], " "), &lo, &hi, &truth); err != nil || !(lo <= truth && truth <= hi && truth > 0) {
				t.Errorf("%v: %s", err, line)
			}
		}
	}
	clitest.Not(t, rows != 4, "%d rows:\n%s", rows, out)
}

// shop makes a database with a table, and columns of it, of names that try to be SQL.
type shop struct {
	t    *testing.T
	path string
	args []string
}

const (
	wickedTable = `ord"ers; DROP TABLE users; --`
	wickedUser  = `cust'omer" OR 1=1; --`
	wickedKey   = `prod"uct)`
)

// newShop has 400 users named in capitals and not, which are the same to the database: all have
// tea, every second cake, of 3 and 2.5, in four rows of each; a tenth bread, in one.
func newShop(t *testing.T) shop {
	s := shop{t: t, path: filepath.Join(t.TempDir(), "shop.db")}
	s.args = []string{"-dsn", s.path, "-table", wickedTable, "-user", wickedUser, "-key", wickedKey, "-journal", s.path + ".journal", "-confidence", fmt.Sprint(nearly)}
	s.exec(fmt.Sprintf(`CREATE TABLE %s (%s TEXT COLLATE NOCASE, %s TEXT, price)`, quote(wickedTable), quote(wickedUser), quote(wickedKey)))
	s.exec(`CREATE TABLE users (name TEXT)`)
	var values []string
	for round := range 4 {
		for i := range 400 {
			name := fmt.Sprintf("%s%d", []string{"ann", "Ann", "ANN", "aNN"}[(round+i)%4], i)
			values = append(values, fmt.Sprintf("('%s', 'tea', 3)", name))
			if i%2 == 0 {
				values = append(values, fmt.Sprintf("('%s', 'cake', '2.5')", name))
			}
			if i%10 == 0 && round == 0 {
				values = append(values, fmt.Sprintf("('%s', 'bread', 'dear')", name))
			}
		}
	}
	values = append(values, "(NULL, 'tea', 3)", "('ann1', NULL, 3)", "('ann1', 'tea', NULL)")
	s.exec(fmt.Sprintf(`INSERT INTO %s VALUES %s`, quote(wickedTable), strings.Join(values, ",")))
	return s
}

// open opens the database of the shop.
func (s shop) open() *sql.DB {
	db, err := sql.Open("sqlite", s.path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { db.Close() })
	return db
}

func (s shop) exec(text string) {
	if _, err := s.open().Exec(text); err != nil {
		s.t.Fatal(err)
	}
}

// run runs the command on the shop with more arguments.
func (s shop) run(args ...string) (code int, stdout, stderr string) {
	return clitest.Run(new(options), slices.Concat(s.args, args)...)
}

// spent returns how many releases the journal holds.
func (s shop) spent() uint64 {
	file, err := os.OpenFile(s.path+".journal", os.O_RDWR, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	defer file.Close()
	l, err := budget.OpenJournal(file, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	return l.Records()
}

// A user is who is the same to the database; what is NULL does not count, nor what is no number.
func TestUsersAreThoseOfTheDatabase(t *testing.T) {
	s := newShop(t)
	q := query{driver: "sqlite", table: wickedTable, user: wickedUser, key: wickedKey, value: "price"}
	users, rows, sum := map[int64]bool{}, 0, 0.0
	left := cli.Must(newUnread(&groupby.Params{Epsilon: 1}))
	add := func(user int64, _ string, value float64) {
		users[user] = true
		rows++
		sum += value
	}
	err := q.read(s.open(), add, left)
	if err != nil || len(users) != 400 || rows != 4*400+4*200 || sum != 4*400*3+4*200*2.5 || len(left.users) != 40 {
		t.Errorf("%d users with %d rows of %g, and %d left: %v", len(users), rows, sum, len(left.users), err)
	}
	if err := q.read(s.open(), add, nil); err == nil || strings.Contains(err.Error(), "dear") {
		t.Errorf("a database whose columns take one type: %v", err)
	}
	q.value = ""
	rows = 0
	if err := q.read(s.open(), add, nil); err != nil || rows != 4*400+4*200+40+1 {
		t.Errorf("%d rows without values: %v", rows, err)
	}
	q.value = "price"
	truth, err := q.truth(s.open())
	clitest.Not(t, err != nil || truth["tea"] != (total{400, 4800}) || truth["cake"] != (total{200, 2000}) || truth["bread"].users != 40 || len(truth) != 3, "%v: %v", truth, err)
}

// A database of one's own: no truth is printed, and the counts and sums are near it.
func TestOwnDatabase(t *testing.T) {
	s := newShop(t)
	code, out, errs := s.run("-epsilon", "4", "-value", "price", "-max", "12")
	if code != 0 || errs != "" || strings.Contains(out, "truth") || strings.Contains(out, "Made") || !strings.Contains(out, "Released: 2 keys") || !strings.Contains(out, "ε = 4, δ = 1e-6") {
		t.Fatalf("exit code %d: %s\n%s", code, errs, out)
	}
	for key, want := range map[string]total{"tea": {400, 4800}, "cake": {200, 2000}} {
		_, line, _ := strings.Cut(out, "\n  "+key+" ")
		line, _, _ = strings.Cut(strings.ReplaceAll(line, "–", " "), "\n")
		var users, usersLow, usersHigh, sum, sumLow, sumHigh float64
		if _, err := fmt.Sscan(line, &users, &usersLow, &usersHigh, &sum, &sumLow, &sumHigh); err != nil {
			t.Fatalf("%s: %v\n%s", key, err, out)
		}
		if n := float64(want.users); !(usersLow <= n && n <= usersHigh && usersHigh-usersLow < 300) || !(sumLow <= want.sum && want.sum <= sumHigh && sumHigh-sumLow < 2500) {
			t.Errorf("%s: want %+v:\n%s", key, want, out)
		}
	}
	_, line, _ := strings.Cut(out, "Rows whose price is no number are left out: ")
	var users, lo, hi float64
	if _, err := fmt.Sscanf(line, "%g users have some, between %g and %g", &users, &lo, &hi); err != nil || !(lo <= 40 && 40 <= hi) {
		t.Errorf("%g users between %g and %g have bread: %v\n%s", users, lo, hi, err, out)
	}
	if s.spent() != 1 {
		t.Errorf("%d releases are in the journal", s.spent())
	}
}

// A column that is not declared as one of numbers is refused before anything is spent, whatever is
// in it, or nothing; numbers of all kinds are read.
func TestValuesAreNumbers(t *testing.T) {
	s := newShop(t)
	s.exec(`CREATE TABLE typed (u INTEGER, k TEXT, a DATE, b BOOLEAN, c TEXT, d VARCHAR(10), e DATETIME, f BLOB, g MONEY, h TIMESTAMP WITH TIME ZONE, i INTERVAL,
		o INTEGER, p double precision, q DECIMAL(10, 2), r Unsigned  Big Int, s)`)
	s.exec(`CREATE VIEW cast AS SELECT u, k, 2 * s AS s FROM typed`)
	s.args = append(s.args, "-user", "u", "-key", "k", "-table", "typed", "-max", "10")
	for range 2 {
		for _, column := range strings.Fields("a b c d e f g h i") {
			code, out, errs := s.run("-value", column)
			if code != 2 || out != "" || !strings.Contains(errs, "want numbers") || s.spent() != 0 {
				t.Errorf("%s: exit code %d, %d releases: %s%s", column, code, s.spent(), errs, out)
			}
		}
		s.exec(`INSERT INTO typed VALUES (1, 'x', 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3)`)
	}
	for i, args := range [][]string{{"-value", "o"}, {"-value", "p"}, {"-value", "q"}, {"-value", "r"}, {"-value", "s"}, {"-value", "s", "-table", "cast"}} {
		if code, out, errs := s.run(args...); code != 0 || s.spent() != uint64(i+1) {
			t.Errorf("%v: exit code %d: %s%s", args, code, errs, out)
		}
	}
}

// decimal is a number of a driver, as DuckDB's is.
type decimal struct{ value, scale int }

func (d decimal) Float64() float64 { return float64(d.value) / math.Pow10(d.scale) }

func TestReal(t *testing.T) {
	huge, _ := new(big.Int).SetString("100000000000000000000000000000000000000", 10)
	for _, c := range []struct {
		value any
		want  float64
	}{
		{int64(-5), -5}, {int32(5), 5}, {int16(5), 5}, {int8(-5), -5}, {5, 5}, {uint64(math.MaxUint64), 0x1p64}, {uint32(5), 5}, {uint16(5), 5}, {uint8(5), 5}, {uint(5), 5},
		{float32(0.5), 0.5}, {-0.25, -0.25}, {huge, 1e38}, {decimal{1250, 2}, 12.5}, {"12.50", 12.5}, {[]byte("-1e3 "), -1000}, {[]byte("Infinity"), math.Inf(1)}, {"1e999", math.Inf(1)},
	} {
		if got, ok := real(c.value); !ok || got != c.want {
			t.Errorf("%T %v: %v, %v", c.value, c.value, got, ok)
		}
	}
	for _, value := range []any{nil, "", "12,50 €", "2026-01-31", []byte("$5.00"), true, time.Now(), []int{1}} {
		if got, ok := real(value); ok {
			t.Errorf("%T %v: %v", value, value, got)
		}
	}
	if got, ok := real("NaN"); !ok || got == got { // which is no row
		t.Errorf("NaN: %v, %v", got, ok)
	}
}

// A run that the budget does not allow prints nothing and spends nothing; what fails before the
// release spends nothing either.
func TestBudgetIsSpent(t *testing.T) {
	s := newShop(t)
	for i := range 2 {
		if code, out, errs := s.run("-total", "2", "-total-delta", "2e-6"); code != 0 || !strings.Contains(out, fmt.Sprintf("of 2 at δ = 2e-6, %d release", i+1)) {
			t.Fatalf("run %d: exit code %d: %s%s", i, code, errs, out)
		}
	}
	code, out, errs := s.run("-total", "2", "-total-delta", "2e-6")
	if code != 1 || out != "" || !strings.Contains(errs, "does not allow ε = 1, δ = 1e-6 for one user") || s.spent() != 2 {
		t.Errorf("exit code %d, %d releases: %s%s", code, s.spent(), errs, out)
	}
	// All runs compose like their noise, so that a small one has room beside the two.
	if code, out, errs = s.run("-epsilon", "0.25", "-total", "2", "-total-delta", "2e-6"); code != 0 || s.spent() != 3 {
		t.Errorf("exit code %d: %s%s", code, errs, out)
	}
	if code, out, errs = s.run("-total", "20"); code != 2 || out != "" || !strings.Contains(errs, "differs, ε = 2 at δ = 2e-06 for one user, added or removed, rule plan and ε = 20 at") {
		t.Errorf("exit code %d: %s%s", code, errs, out)
	}

	// What is no column, and what would end the statement if names were not quoted.
	s = newShop(t)
	for _, args := range [][]string{
		{"-key", "nosuch"}, {"-user", "nosuch"}, {"-value", "nosuch", "-max", "1"}, {"-table", "nosuch"},
		{"-key", `page" FROM sqlite_master; DROP TABLE users; --`}, {"-table", `users"; DROP TABLE users; --`}, {"-user", `"`}, {"-table", "."},
		{"-driver", "postgres", "-dsn", "host=127.0.0.1 port=1 connect_timeout=1"},
	} {
		if code, out, errs = s.run(args...); code != 1 || out != "" || s.spent() != 0 {
			t.Errorf("%q: exit code %d, %d releases: %s%s", args, code, s.spent(), errs, out)
		}
	}
	s.exec("SELECT name FROM users")
}

// One process at a time has a journal, and a damaged one is not opened.
func TestJournal(t *testing.T) {
	s := newShop(t)
	unit := budget.User(0, budget.AddRemove)
	l := cli.Must(openJournal(s.path+".journal", 10, 1e-5, unit))
	if runtime.GOOS != "windows" {
		if code, _, errs := s.run(); code != 1 || !strings.Contains(errs, "in use by process") {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
	cli.OK(l.Close())
	if _, err := openJournal(s.path+".journal", 10, 1e-5, budget.User(5, budget.AddRemove)); err == nil {
		t.Error("the journal protects somebody else")
	}
	cli.OK(os.WriteFile(s.path+".journal", []byte("0 ledger v1\n"), 0o600))
	if code, out, errs := s.run(); code != 1 || out != "" || !strings.Contains(errs, "damaged") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
