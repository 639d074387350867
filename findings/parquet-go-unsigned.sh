#!/usr/bin/env bash
# A column of 4,294,967,291 is -5 where a Go program reads it into an int64 or a float64, and
# 18,446,744,073,709,551,611 in a uint64: each of these could hold it. Parquet stores unsigned
# numbers of 32 bits in signed words, and parquet-go v0.32.0 widens the word, not the number. The
# file says that the column is unsigned, and a field of type uint32 reads it right.
# Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/parquet-go/parquet-go@v0.32.0

cat >main.go <<'END'
package main

import (
	"bytes"
	"fmt"

	"github.com/parquet-go/parquet-go"
)

type row[T any] struct {
	Bytes T `parquet:"bytes"`
}

func main() {
	var file bytes.Buffer
	if err := parquet.Write(&file, []row[uint32]{{4294967291}, {4294967290}, {7}}); err != nil {
		panic(err)
	}
	read[uint32](file.Bytes())
	read[int64](file.Bytes())
	read[uint64](file.Bytes())
	read[float64](file.Bytes())
}

func read[T int64 | uint32 | uint64 | float64](file []byte) {
	rows, err := parquet.Read[row[T]](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%T:", rows[0].Bytes)
	for _, r := range rows {
		fmt.Printf(" %v", r.Bytes)
	}
	fmt.Println()
}
END
cat >want <<'END'
uint32: 4294967291 4294967290 7
int64: -5 -6 7
uint64: 18446744073709551611 18446744073709551610 7
float64: -5 -6 7
END

go run . | tee got
diff want got
echo "as found: large unsigned numbers are negative in a wider type"
