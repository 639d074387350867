#!/usr/bin/env bash
# A Parquet column that may have missing values, read by Beam's parquetio into a field that may not,
# comes out as numbers near 10⁻³⁰⁹: the bytes that say which values are there are taken for the
# values. There is no error, and a column with no value missing comes out in the same way.
# Beam's Go SDK v2.77.0 on Prism (its reader is xitongsys/parquet-go v1.6.2), and a file of
# parquet-go/parquet-go v0.32.0. Seen: 10, nothing, 30 are 2.8e-309, 1.3e-321, 8.1e-320 in a
# float64, and right in a *float64.
# Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/apache/beam/sdks/v2@v2.77.0 github.com/parquet-go/parquet-go@v0.32.0

cat >main.go <<'END'
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/parquetio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/parquet-go/parquet-go"
)

type written struct {
	Day    int64    `parquet:"day"`
	Amount *float64 `parquet:"amount,optional"`
}

type plain struct {
	Day    int64   `parquet:"name=day, type=INT64"`
	Amount float64 `parquet:"name=amount, type=DOUBLE"`
}

type pointer struct {
	Day    int64    `parquet:"name=day, type=INT64"`
	Amount *float64 `parquet:"name=amount, type=DOUBLE"`
}

func showPlain(r plain) { fmt.Printf("day %d: float64 %.2g\n", r.Day, r.Amount) }

func showPointer(r pointer) {
	if r.Amount == nil {
		fmt.Printf("day %d: *float64 nil\n", r.Day)
	} else {
		fmt.Printf("day %d: *float64 %.2g\n", r.Day, *r.Amount)
	}
}

func init() {
	register.Function1x0(showPlain)
	register.Function1x0(showPointer)
	beam.RegisterType(reflect.TypeFor[plain]())
	beam.RegisterType(reflect.TypeFor[pointer]())
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	log.SetupLogging("error", "text")
	beam.Init()
	here, err := os.Getwd()
	check(err)
	file := filepath.Join(here, "sales.parquet")
	ten, thirty := 10., 30.
	check(parquet.WriteFile(file, []written{{1, &ten}, {2, nil}, {3, &thirty}}))
	for _, read := range []struct{ show, row any }{{showPlain, plain{}}, {showPointer, pointer{}}} {
		p, s := beam.NewPipelineWithRoot()
		beam.ParDo0(s, read.show, parquetio.Read(s, file, reflect.TypeOf(read.row)))
		_, err := prism.Execute(context.Background(), p)
		fmt.Println("error:", err)
	}
}
END
cat >want <<'END'
day 1: float64 2.8e-309
day 2: float64 1.3e-321
day 3: float64 8.1e-320
error: <nil>
day 1: *float64 10
day 2: *float64 nil
day 3: *float64 30
error: <nil>
END

go run . | tee got
diff want got
echo "as found: a column of numbers near 0"
