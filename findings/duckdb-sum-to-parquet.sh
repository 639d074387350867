#!/usr/bin/env bash
# Sums of integers lose digits on their way to a Parquet file: DuckDB's SUM of whole numbers is a
# HUGEINT, which Parquet has no type for, and COPY writes DOUBLE without a warning. A column of sums,
# or of 128-bit identifiers, comes back as floating point, and two identifiers that differ in the
# last digit are one. DuckDB 1.5.6 (duckdb-go v2.10506.0).
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
	if _, err := db.Exec(`COPY (SELECT sum(x) AS s FROM (VALUES (9007199254740992), (9007199254740993)) v(x) GROUP BY x) TO 'sums.parquet'`); err != nil {
		panic(err)
	}
	var before, after string
	var sums, read int
	row(`SELECT typeof(sum(x)), 2 FROM (VALUES (1)) v(x)`, &before, &sums)
	row(`SELECT any_value(typeof(s)), count(DISTINCT s) FROM 'sums.parquet'`, &after, &read)
	fmt.Printf("written: %s, %d different sums\nread: %s, %d\n", before, sums, after, read)
}
END
cat >want <<'END'
DuckDB v1.5.6
written: HUGEINT, 2 different sums
read: DOUBLE, 1
END

go run . | tee got
diff want got
echo "as found: two sums that differ are one in the file"
