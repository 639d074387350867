#!/usr/bin/env bash
# A count of 8,589,934,597 is 5 in a file: hamba/avro v2.31.0 writes a Go int into an Avro int, which
# has 32 bits, by its lower 32 bits, without an error. twmb/avro v1.9.1 refuses the same number with
# the same schema, and hamba itself refuses a decimal of too many digits.
# Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/hamba/avro/v2@v2.31.0 github.com/twmb/avro@v1.9.1

cat >main.go <<'END'
package main

import (
	"fmt"

	hamba "github.com/hamba/avro/v2"
	twmb "github.com/twmb/avro"
)

type row struct {
	Views int `avro:"views"`
}

const schema = `{"type": "record", "name": "row", "fields": [{"name": "views", "type": "int"}]}`

func main() {
	s := hamba.MustParse(schema)
	bytes, err := hamba.Marshal(s, row{8589934597})
	if err != nil {
		panic(err)
	}
	var back row
	if err := hamba.Unmarshal(s, bytes, &back); err != nil {
		panic(err)
	}
	fmt.Println("hamba:", back.Views)

	other, err := twmb.Parse(schema)
	if err != nil {
		panic(err)
	}
	_, err = other.Encode(row{8589934597})
	fmt.Println("twmb refuses:", err != nil)
}
END
cat >want <<'END'
hamba: 5
twmb refuses: true
END

go run . | tee got
diff want got
echo "as found: large counts lose their upper bits"
