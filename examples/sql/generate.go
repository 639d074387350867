package main

import (
	"database/sql"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
)

// generate makes the table visits with so many rows, in no order of users: some 16 visits a user,
// most of them to a few pages, and many pages that one user alone has seen. What is spent in a
// visit is often nothing, and else depends on the page.
func generate(db *sql.DB, rows int, seed uint64) (err error) {
	for _, text := range []string{
		"PRAGMA journal_mode = off", "PRAGMA synchronous = off", // it is thrown away
		`CREATE TABLE visits ("user" INTEGER, page TEXT, seconds REAL, revenue REAL)`,
	} {
		if _, err := db.Exec(text); err != nil {
			return err
		}
	}
	const block = 200 // rows of a statement
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	insert := func(n int) string {
		return "INSERT INTO visits VALUES " + strings.Repeat("(?,?,?,?),", n-1) + "(?,?,?,?)"
	}
	statement, err := tx.Prepare(insert(block))
	if err != nil {
		return err
	}
	defer statement.Close()
	rng, sales := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
	frequent := rand.NewZipf(rng, 1.3, 8, 50_000)
	users := 1 + rows/16
	args := make([]any, 0, 4*block)
	for i := range rows {
		user := rng.IntN(users)
		user = min(user, rng.IntN(users)) // the first ones come more often
		number := frequent.Uint64()
		page, revenue := "/page/"+strconv.FormatUint(number, 10), 0.0
		if sales.IntN(2) == 0 {
			revenue = math.Exp(1 + float64(number%7)/2 + sales.NormFloat64())
		}
		if rng.IntN(20) == 0 {
			page = "/account/" + strconv.Itoa(user)
		}
		args = append(args, user, page, 20*rng.ExpFloat64(), revenue)
		if n := len(args) / 4; n == block {
			if _, err := statement.Exec(args...); err != nil {
				return err
			}
			args = args[:0]
		} else if i == rows-1 {
			if _, err := tx.Exec(insert(n), args...); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}
