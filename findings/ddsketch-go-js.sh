#!/usr/bin/env bash
# A DDSketch of Datadog's Go library is empty to Datadog's JavaScript library, and one from
# JavaScript has larger values in Go: one bin more, 2 %, where both promise 1 %. Both use the same
# Protocol Buffers message, both name γ = 1.0202, and Go merges the two kinds without an error.
# sketches-go v1.4.8 and @datadog/sketches-js 2.1.1, the numbers 1 to 1000 at an accuracy of 0.01.
# Seen: Go's 1000 values are 0 values and NaN in JavaScript; JavaScript's median of 497.8 is 507.8
# in Go.
# Needs Go, Node.js and npm (Debian: nodejs, npm).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/DataDog/sketches-go@v1.4.8
npm install --silent --no-fund --no-audit @datadog/sketches-js@2.1.1 protobufjs@7.5.4

cat >main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/pb/sketchpb"
	"github.com/DataDog/sketches-go/ddsketch/store"
	"google.golang.org/protobuf/proto"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func show(name string, s *ddsketch.DDSketch) {
	values, err := s.GetValuesAtQuantiles([]float64{0.25, 0.5, 0.99})
	check(err)
	fmt.Printf("%s: %.0f values, quantiles %.1f\n", name, s.GetCount(), values)
}

func main() {
	s, err := ddsketch.NewDefaultDDSketch(0.01)
	check(err)
	for i := 1; i <= 1000; i++ {
		check(s.Add(float64(i)))
	}
	if len(os.Args) == 1 {
		show("Go, in Go", s)
		encoded, err := proto.Marshal(s.ToProto())
		check(err)
		check(os.WriteFile("go.bin", encoded, 0o600))
		return
	}
	encoded, err := os.ReadFile("js.bin")
	check(err)
	var message sketchpb.DDSketch
	check(proto.Unmarshal(encoded, &message))
	js, err := ddsketch.FromProtoWithStoreProvider(&message, store.DefaultProvider)
	check(err)
	show("JavaScript, in Go", js)
	s, err = ddsketch.LogUnboundedDenseDDSketch(0.01)
	check(err)
	fmt.Println("merged in Go, error:", s.MergeWith(js))
}
END
cat >main.js <<'END'
const fs = require('fs');
const { DDSketch } = require('@datadog/sketches-js');

function show(name, s) {
  const values = [0.25, 0.5, 0.99].map((q) => s.getValueAtQuantile(q).toFixed(1));
  console.log(`${name}: ${s.count} values, quantiles [${values.join(' ')}]`);
}

const s = new DDSketch({ relativeAccuracy: 0.01 });
for (let i = 1; i <= 1000; i++) s.accept(i);
show('JavaScript, in JavaScript', s);
fs.writeFileSync('js.bin', s.toProto());
show('Go, in JavaScript', DDSketch.fromProto(fs.readFileSync('go.bin')));
END
cat >want <<'END'
Go, in Go: 1000 values, quantiles [252.2 497.8 982.6]
JavaScript, in JavaScript: 1000 values, quantiles [252.2 497.8 982.6]
Go, in JavaScript: 0 values, quantiles [NaN NaN NaN]
JavaScript, in Go: 1000 values, quantiles [257.3 507.8 1002.4]
merged in Go, error: <nil>
END

{ go run . && node main.js && go run . read; } | tee got
diff want got
echo "as found: nothing in one direction, 2 % more in the other"
