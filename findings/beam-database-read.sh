#!/usr/bin/env bash
# A read from a database that fails half way is a complete read of the rows before it, to Beam's Go
# SDK v2.77.0: databaseio.Query stops at the row that the database could not compute, and the
# pipeline ends without an error. Seen with SQLite (modernc.org/sqlite v1.62.0) and a column of
# which the third of four values has no absolute value: database/sql tells of it after two rows,
# Beam counts two rows and succeeds.
# Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/apache/beam/sdks/v2@v2.77.0 modernc.org/sqlite@v1.62.0

cat >main.go <<'END'
package main

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"sync/atomic"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/databaseio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "modernc.org/sqlite"
)

const query = "SELECT day AS day, abs(amount) AS amount FROM sales"

type sale struct{ Day, Amount int64 }

var rows atomic.Int64

func count(sale) { rows.Add(1) }

func init() {
	register.Function1x0(count)
	beam.RegisterType(reflect.TypeFor[sale]())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	log.SetupLogging("error", "text")
	beam.Init()
	db, err := sql.Open("sqlite", "sales.db")
	check(err)
	_, err = db.Exec(`CREATE TABLE sales (day INTEGER, amount INTEGER);
		INSERT INTO sales VALUES (1, 10), (2, 20), (3, -9223372036854775807 - 1), (4, 40)`)
	check(err)
	result, err := db.Query(query)
	check(err)
	n := 0
	for result.Next() {
		n++
	}
	fmt.Printf("database/sql: %d rows, error: %v\n", n, result.Err())
	check(db.Close())

	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, count, databaseio.Query(s, "sqlite", "sales.db", query, reflect.TypeFor[sale]()))
	_, err = prism.Execute(context.Background(), p)
	fmt.Printf("Beam: %d rows, error: %v\n", rows.Load(), err)
}
END
cat >want <<'END'
database/sql: 2 rows, error: SQL logic error: integer overflow (1)
Beam: 2 rows, error: <nil>
END

go run . | tee got
diff want got
echo "as found: half of the table, and no error"
