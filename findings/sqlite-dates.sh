#!/usr/bin/env bash
# One SQLite file, two drivers for Go, two answers. In a column declared DATE, mattn/go-sqlite3
# v1.14.53 gives the first day of the year 1 for each text that it cannot read as a date, without an
# error, so that three different texts become one key; modernc.org/sqlite v1.61.1 gives the texts.
# A number in a column declared TIMESTAMP is seconds for mattn up to 10¹², and milliseconds above: one
# more, and the date falls from the year 33658 to 2001. modernc gives the numbers.
# Needs Go and a C compiler (Debian: gcc, libc6-dev).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod CGO_ENABLED=1
go mod init finding 2>/dev/null
go get github.com/mattn/go-sqlite3@v1.14.53 modernc.org/sqlite@v1.61.1

cat >main.go <<'END'
package main

import (
	"database/sql"
	"fmt"

	_ "github.com/mattn/go-sqlite3"
	_ "modernc.org/sqlite"
)

func main() {
	for _, driver := range []string{"sqlite", "sqlite3"} {
		db, err := sql.Open(driver, "visits.db")
		if err != nil {
			panic(err)
		}
		if driver == "sqlite" {
			for _, s := range []string{"CREATE TABLE visits (day DATE, at TIMESTAMP)",
				"INSERT INTO visits VALUES ('2026-01-31', 1000000000000), ('31.01.2026', 1000000000001), ('Q1 2026', 1), ('January', 2)"} {
				if _, err := db.Exec(s); err != nil {
					panic(err)
				}
			}
		}
		rows, err := db.Query("SELECT day, at FROM visits ORDER BY rowid")
		if err != nil {
			panic(err)
		}
		for rows.Next() {
			var day, at string
			if err := rows.Scan(&day, &at); err != nil {
				panic(err)
			}
			fmt.Println(map[string]string{"sqlite": "modernc:", "sqlite3": "mattn:  "}[driver], day, at)
		}
		if err := rows.Err(); err != nil {
			panic(err)
		}
		db.Close()
	}
}
END
cat >want <<'END'
modernc: 2026-01-31T00:00:00Z 1000000000000
modernc: 31.01.2026 1000000000001
modernc: Q1 2026 1
modernc: January 2
mattn:   2026-01-31T00:00:00Z 33658-09-27T01:46:40Z
mattn:   0001-01-01T00:00:00Z 2001-09-09T01:46:40.001Z
mattn:   0001-01-01T00:00:00Z 1970-01-01T00:00:01Z
mattn:   0001-01-01T00:00:00Z 1970-01-01T00:00:02Z
END

go run . | tee got
diff want got
echo "as found: three texts are one date, and a second more is thirty thousand years less"
