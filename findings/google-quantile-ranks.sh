#!/usr/bin/env bash
# BoundedQuantiles of Google's differential privacy library for Go (v3.0.0) moves every rank below
# 0.005 or above 0.995 to that bound, without an error: p99.9 is p99.5. The page of Result says that
# ranks lie between 0 and 1. Seen: of 0 to 999 ms, evenly, p99.9 comes out as 995, and so does p100.
# Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get github.com/google/differential-privacy/go/v3@v3.0.0

cat >main.go <<'END'
package main

import (
	"fmt"

	"github.com/google/differential-privacy/go/v3/dpagg"
	"github.com/google/differential-privacy/go/v3/noise"
)

func main() {
	// At ε = 1000 the noise is less than half a millisecond.
	q, err := dpagg.NewBoundedQuantiles(&dpagg.BoundedQuantilesOptions{Epsilon: 1000, MaxPartitionsContributed: 1,
		MaxContributionsPerPartition: 1, Lower: 0, Upper: 1000, Noise: noise.Laplace()})
	if err != nil {
		panic(err)
	}
	for i := range 100_000 {
		if err := q.Add(float64(i) / 100); err != nil {
			panic(err)
		}
	}
	for _, rank := range []float64{0, 0.001, 0.5, 0.99, 0.999, 1} {
		x, err := q.Result(rank)
		if err != nil {
			panic(err)
		}
		fmt.Printf("rank %v: %.0f ms, true %.0f\n", rank, x, 1000*rank)
	}
}
END
cat >want <<'END'
rank 0: 5 ms, true 0
rank 0.001: 5 ms, true 1
rank 0.5: 500 ms, true 500
rank 0.99: 990 ms, true 990
rank 0.999: 995 ms, true 999
rank 1: 995 ms, true 1000
END

go run . | tee got
diff want got
echo "as found: ranks above 0.995 are 0.995"
