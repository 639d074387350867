#!/usr/bin/env bash
# The distribution function of a t-digest of few values is below 0 in one Go library, and 0 at the
# largest value in another: caio/go-tdigest v4.1.0 says −0.75 for the share of the values 1 and 2
# that are at most −1, and influxdata/tdigest v0.0.1 says 0 for the share of 5, 5, 5 that are at
# most 5, where caio says 1.
# Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/caio/go-tdigest/v4@v4.1.0 github.com/influxdata/tdigest@v0.0.1

cat >main.go <<'END'
package main

import (
	"fmt"

	caio "github.com/caio/go-tdigest/v4"
	"github.com/influxdata/tdigest"
)

func main() {
	for _, c := range []struct {
		values []float64
		at     float64
	}{{[]float64{1, 2}, -1}, {[]float64{1, 2}, 0}, {[]float64{1, 2}, 1}, {[]float64{5, 5, 5}, 5}} {
		a, err := caio.New()
		if err != nil {
			panic(err)
		}
		b := tdigest.New()
		for _, x := range c.values {
			if err := a.Add(x); err != nil {
				panic(err)
			}
			b.Add(x, 1)
		}
		fmt.Printf("share of %v at most %v: caio %v, influxdata %v\n", c.values, c.at, a.CDF(c.at), b.CDF(c.at))
	}
}
END
cat >want <<'END'
share of [1 2] at most -1: caio -0.75, influxdata 0
share of [1 2] at most 0: caio -0.25, influxdata 0
share of [1 2] at most 1: caio 0.25, influxdata 0
share of [5 5 5] at most 5: caio 1, influxdata 0
END

go run . | tee got
diff want got
echo "as found: a share below 0, and all values above their maximum"
