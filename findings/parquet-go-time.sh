#!/usr/bin/env bash
# Ten hours in a Go struct are ten thousand when they come back from a Parquet file, by the same
# struct: a time.Duration in a field of type TIME with microseconds is written as its number of
# nanoseconds, and read as microseconds. With milliseconds it comes back negative. A time of day that
# another program wrote right, 10:00, is 36 seconds in a field of the default unit.
# parquet-go v0.32.0.
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
	"time"

	"github.com/parquet-go/parquet-go"
)

type micro struct {
	Open time.Duration `parquet:"open,time(microsecond)"`
}

type milli struct {
	Open time.Duration `parquet:"open,time(millisecond)"`
}

type number struct { // as another program stores 10:00
	Open int64 `parquet:"open,time(microsecond)"`
}

type duration struct {
	Open time.Duration `parquet:"open"`
}

func main() {
	fmt.Println("microseconds:", read[micro](write(micro{10 * time.Hour})).Open)
	fmt.Println("milliseconds:", read[milli](write(milli{10 * time.Hour})).Open)
	fmt.Println("another's microseconds:", read[duration](write(number{36_000_000_000})).Open)
}

func write[T any](row T) []byte {
	var file bytes.Buffer
	if err := parquet.Write(&file, []T{row}); err != nil {
		panic(err)
	}
	return file.Bytes()
}

func read[T any](file []byte) T {
	rows, err := parquet.Read[T](bytes.NewReader(file), int64(len(file)))
	if err != nil {
		panic(err)
	}
	return rows[0]
}
END
cat >want <<'END'
microseconds: 10000h0m0s
milliseconds: -115h31m15.072s
another's microseconds: 36s
END

go run . | tee got
diff want got
echo "as found: ten hours are ten thousand"
