#!/usr/bin/env bash
# A column of decimals, prices say, is a hundred times as large in Arrow's JavaScript library: it
# forgets the scale. 12.34, as Arrow's Go library writes it to a file with two places, is 1234 as a
# text, as a number and in JSON, without an error; the schema of the table still says 10e+2.
# arrow-go v18.8.0 and the npm package apache-arrow 21.2.0.
# Needs Go, Node.js and npm (Debian: nodejs, npm).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/apache/arrow-go/v18@v18.8.0
npm install --silent --no-fund --no-audit apache-arrow@21.2.0

cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	price := &arrow.Decimal128Type{Precision: 10, Scale: 2}
	schema := arrow.NewSchema([]arrow.Field{{Name: "price", Type: price}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for _, text := range []string{"12.34", "-0.05"} {
		x, err := decimal128.FromString(text, price.Precision, price.Scale)
		check(err)
		b.Field(0).(*array.Decimal128Builder).Append(x)
	}
	batch := b.NewRecordBatch()
	for i := range 2 {
		fmt.Println("Go:", batch.Column(0).ValueStr(i))
	}
	file, err := os.Create("prices.arrow")
	check(err)
	w, err := ipc.NewFileWriter(file, ipc.WithSchema(schema))
	check(err)
	check(w.Write(batch))
	check(w.Close())
	check(file.Close())
}
END
cat >main.mjs <<'END'
import fs from 'fs';
import { tableFromIPC } from 'apache-arrow';

const table = tableFromIPC(fs.readFileSync('prices.arrow'));
console.log('schema:', String(table.schema.fields[0].type));
for (const price of table.getChild('price')) {
  console.log(`JavaScript: ${price}, ${Number(price)}, ${JSON.stringify(price)}`);
}
END
cat >want <<'END'
Go: 12.34
Go: -0.05
schema: Decimal[10e+2]
JavaScript: 1234, 1234, "\"1234\""
JavaScript: -5, -5, "\"-5\""
END

{ go run . && node main.mjs; } | tee got
diff want got
echo "as found: a hundred times the price"
