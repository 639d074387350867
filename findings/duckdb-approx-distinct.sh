#!/usr/bin/env bash
# DuckDB counts 1249 distinct values in 1000 rows: approx_count_distinct has 64 registers and so an
# error of about 13 % (one standard deviation; 12.8 % over 400 sets of 5000), and is not held to the
# number of rows. SUMMARIZE shows the number as approx_unique, beside the count that it exceeds. For
# 10,000 values it is 7893 or 12652, depending on what they are called. DuckDB 1.5.6
# (duckdb-go v2.10506.0).
# Needs Go and a C++ compiler (Debian: g++).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod CGO_ENABLED=1
go mod init finding 2>/dev/null
go get github.com/duckdb/duckdb-go/v2@v2.10506.0

cat >main.go <<'END'
package main

import (
	"database/sql"
	"fmt"

	_ "github.com/duckdb/duckdb-go/v2"
)

func main() {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	row := func(query string, into ...any) {
		if err := db.QueryRow(query).Scan(into...); err != nil {
			panic(err)
		}
	}
	var version string
	row("SELECT version()", &version)
	fmt.Println("DuckDB", version)
	var unique, rows, number, text int
	row("SELECT approx_unique, count FROM (SUMMARIZE SELECT i FROM range(1000) r(i))", &unique, &rows)
	fmt.Printf("SUMMARIZE: approx_unique %d, count %d\n", unique, rows)
	row("SELECT approx_count_distinct(7 * i), approx_count_distinct('u' || i) FROM range(10000) r(i)", &number, &text)
	fmt.Printf("of 10000: %d as numbers, %d as texts\n", number, text)
}
END
cat >want <<'END'
DuckDB v1.5.6
SUMMARIZE: approx_unique 1249, count 1000
of 10000: 12652 as numbers, 7893 as texts
END

go run . | tee got
diff want got
echo "as found: more distinct values than rows"
