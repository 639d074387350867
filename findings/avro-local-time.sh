#!/usr/bin/env bash
# A visit at half past midnight is on the day before in a file: of the same time and the same schema,
# local-timestamp-micros, two Go libraries write different bytes. Avro's local timestamp is what the
# clock on the wall says, whatever the zone. twmb/avro v1.9.1 writes that; hamba/avro v2.31.0 writes
# the clock in UTC, so 00:30 in a zone of +02:00 is 22:30 of the day before for every other reader.
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
	"time"

	hamba "github.com/hamba/avro/v2"
	twmb "github.com/twmb/avro"
)

const schema = `{"type": "long", "logicalType": "local-timestamp-micros"}`

func main() {
	visit := time.Date(2026, 1, 2, 0, 30, 0, 0, time.FixedZone("", 2*60*60))
	fmt.Println("visit:", visit.Format(time.DateTime))

	one, err := twmb.Parse(schema)
	check(err)
	bytes, err := one.Encode(visit)
	check(err)
	var back time.Time
	_, err = one.Decode(bytes, &back)
	check(err)
	fmt.Println("twmb to twmb:", back.Format(time.DateTime))
	check(hamba.Unmarshal(hamba.MustParse(schema), bytes, &back))
	fmt.Println("twmb to hamba:", back.Format(time.DateTime))

	bytes, err = hamba.Marshal(hamba.MustParse(schema), visit)
	check(err)
	check(hamba.Unmarshal(hamba.MustParse(schema), bytes, &back))
	fmt.Println("hamba to hamba:", back.Format(time.DateTime))
	_, err = one.Decode(bytes, &back)
	check(err)
	fmt.Println("hamba to twmb:", back.Format(time.DateTime))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
END
cat >want <<'END'
visit: 2026-01-02 00:30:00
twmb to twmb: 2026-01-02 00:30:00
twmb to hamba: 2026-01-02 00:30:00
hamba to hamba: 2026-01-01 22:30:00
hamba to twmb: 2026-01-01 22:30:00
END

go run . | tee got
diff want got
echo "as found: local times of one library are in UTC"
