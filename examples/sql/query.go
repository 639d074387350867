package main

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// query is what is asked: the names of a table and its columns. No value is "", which is none.
// Instead of a table there may be any SQL that can stand behind FROM.
type query struct{ driver, table, source, user, key, value string }

// check refuses names that no database has.
func (q query) check() error {
	for _, name := range []struct{ flag, text string }{{"table", q.table + q.source}, {"user", q.user}, {"key", q.key}} {
		if name.text == "" {
			return fmt.Errorf("-%s is empty: want a name", name.flag)
		}
	}
	if strings.ContainsRune(q.table+q.source+q.user+q.key+q.value, 0) {
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
	source := q.source
	if source == "" {
		parts := strings.Split(q.table, ".")
		for i, part := range parts {
			parts[i] = quote(part)
		}
		source = strings.Join(parts, ".")
	}
	where := column(q.user) + " IS NOT NULL AND " + column(q.key) + " IS NOT NULL"
	if q.value != "" { // a row without a value is none
		where += " AND " + column(q.value) + " IS NOT NULL"
	}
	return fmt.Sprintf("FROM %s AS t WHERE %s", source, where)
}

// number returns the SQL for the value of a row.
func (q query) number() string {
	if q.value == "" {
		return "0"
	}
	return column(q.value)
}

// rows returns the SQL for all rows that count, each with the number of its user, in any order.
//
// The database numbers the users, as it alone knows which of its values are equal: where "Ann" and
// "ann" are, telling users apart by their text would split one into many.
func (q query) rows(key string) string {
	return fmt.Sprintf("SELECT DENSE_RANK() OVER (ORDER BY %s), %s, %s %s", column(q.user), key, q.number(), q.from())
}

// schema asks for the types of the columns, without a row, and returns the SQL for the text of a
// key. An error is of the schema, or of the connection, and may be shown.
func (q query) schema(db *sql.DB) (key string, err error) {
	rows, err := db.Query(fmt.Sprintf("SELECT %s, %s %s AND 1 = 0", column(q.key), q.number(), q.from()))
	if err != nil {
		return "", err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return "", err
	}
	if q.value != "" {
		if err := q.checkValue(types[1]); err != nil {
			return "", err
		}
	}
	if key, err = q.keyText(types[0]); err != nil {
		return "", err
	}
	return key, rows.Err()
}

// errRows stands for an error of the database while it reads rows, whose text may have values of
// them: a cast in a view that fails says of which text.
var errRows = errors.New("the database failed while it read the rows")

// each scans the rows of a statement into pointers and calls next for each.
func each(db *sql.DB, statement string, next func() error, into ...any) error {
	rows, err := db.Query(statement)
	if err != nil {
		return errRows
	}
	defer rows.Close()
	for rows.Next() {
		if rows.Scan(into...) != nil {
			return errRows
		}
		if err := next(); err != nil {
			return err
		}
	}
	if rows.Err() != nil {
		return errRows
	}
	return nil
}

// read gives each row to add, in the order of the database, and the users of values that are no
// numbers to left. Without it such a value is an error: the database has the types that it
// declares, so that it tells what the driver makes of a type.
func (q query) read(db *sql.DB, add func(user int64, key string, value float64), left *unread) error {
	text, err := q.schema(db)
	if err != nil {
		return err
	}
	var number int64
	var key string
	var value any
	return each(db, q.rows(text), func() error {
		switch x, ok := real(value); {
		case ok:
			add(number, key, x)
		case left != nil:
			left.add(number)
		default:
			return fmt.Errorf("-value = %q: the driver gives a %T, which is no number", q.value, value)
		}
		return nil
	}, &number, &key, &value)
}

// total is the true answer for a key.
type total struct {
	users int
	sum   float64
}

// truth returns the answer without privacy, the sums of values as they are.
func (q query) truth(db *sql.DB) (map[string]total, error) {
	text, err := q.schema(db)
	if err != nil {
		return nil, err
	}
	all := map[string]total{}
	var key string
	var t total
	err = each(db, fmt.Sprintf("SELECT %s, COUNT(DISTINCT %s), SUM(%s) %s GROUP BY 1", text, column(q.user), q.number(), q.from()), func() error {
		all[key] = t
		return nil
	}, &key, &t.users, &t.sum)
	return all, err
}
