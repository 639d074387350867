package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// query is what is asked: the names of a table and its columns. No value is "", which is none.
type query struct{ table, user, key, value string }

// check refuses names that no database has.
func (q query) check() error {
	for _, name := range []struct{ flag, text string }{{"table", q.table}, {"user", q.user}, {"key", q.key}} {
		if name.text == "" {
			return fmt.Errorf("-%s is empty: want a name", name.flag)
		}
	}
	if strings.ContainsRune(q.table+q.user+q.key+q.value, 0) {
		return errors.New("there is a zero byte in a name")
	}
	return nil
}

// quote returns a name as SQL, whatever is in it: in double quotes, those in it doubled.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// column returns a column of the table. With the table's name before it SQLite cannot take the
// quoted name of a column that is not there for a text.
func column(name string) string { return "t." + quote(name) }

// from returns the table with the rows that count.
func (q query) from() string {
	parts := strings.Split(q.table, ".")
	for i, part := range parts {
		parts[i] = quote(part)
	}
	where := column(q.user) + " IS NOT NULL AND " + column(q.key) + " IS NOT NULL"
	if q.value != "" { // a row without a value is none
		where += " AND " + column(q.value) + " IS NOT NULL"
	}
	return fmt.Sprintf("FROM %s AS t WHERE %s", strings.Join(parts, "."), where)
}

// rows returns the SQL for all rows that count, each with the number of its user, in any order.
//
// The database numbers the users, as it alone knows which of its values are equal: where "Ann" and
// "ann" are, telling users apart by their text would split one into many.
func (q query) rows() string {
	value := "0"
	if q.value != "" {
		value = column(q.value)
	}
	return fmt.Sprintf("SELECT DENSE_RANK() OVER (ORDER BY %s), %s, %s %s", column(q.user), column(q.key), value, q.from())
}

// read gives each row to add, in the order of the database, and the users of values that are no
// numbers to left. Without it such a value is an error: the database has the types that it
// declares, so that it tells what the driver makes of a type.
func (q query) read(db *sql.DB, add func(user int64, key string, value float64), left *unread) error {
	rows, err := db.Query(q.rows())
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := q.checkValue(rows); err != nil {
		return err
	}
	for rows.Next() {
		var number int64
		var key string
		var value any
		if err := rows.Scan(&number, &key, &value); err != nil {
			return errors.New("there is a row that cannot be read") // and not what is in it
		}
		switch x, ok := real(value); {
		case ok:
			add(number, key, x)
		case left != nil:
			left.add(number)
		default:
			return fmt.Errorf("-value = %q: the driver gives a %T, which is no number", q.value, value)
		}
	}
	return rows.Err()
}

// total is the true answer for a key.
type total struct {
	users int
	sum   float64
}

// truth returns the answer without privacy, the sums of values as they are.
func (q query) truth(db *sql.DB) (map[string]total, error) {
	value := "0"
	if q.value != "" {
		value = column(q.value)
	}
	rows, err := db.Query(fmt.Sprintf("SELECT %s, COUNT(DISTINCT %s), SUM(%s) %s GROUP BY 1", column(q.key), column(q.user), value, q.from()))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]total{}
	for rows.Next() {
		var key string
		var t total
		if err := rows.Scan(&key, &t.users, &t.sum); err != nil {
			return nil, err
		}
		all[key] = t
	}
	return all, rows.Err()
}
