#!/usr/bin/env bash
# BoundedStandardDeviation of Google's differential privacy library for Go (v3.0.0) is exactly 0 in
# more than half of all releases of a hundred values that lie close together: a noisy variance below
# 0 is set to 0, and nothing tells that this happened. There is no interval. Seen: of 100 values
# between 50 and 54, with a deviation of 1.41, in a range of 0 to 100 at ε = 1, exactly 0 in 112 of
# 200 releases, and the others are mostly several times too large.
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
	zeros, near := 0, 0
	for range 400 {
		sd, err := dpagg.NewBoundedStandardDeviation(&dpagg.BoundedStandardDeviationOptions{Epsilon: 1, MaxPartitionsContributed: 1,
			MaxContributionsPerPartition: 1, Lower: 0, Upper: 100, Noise: noise.Laplace()})
		if err != nil {
			panic(err)
		}
		for i := range 100 {
			if err := sd.Add(float64(50 + i%5)); err != nil {
				panic(err)
			}
		}
		x, err := sd.Result()
		if err != nil {
			panic(err)
		}
		if x == 0 {
			zeros++
		} else if x > 0.7 && x < 2.8 {
			near++
		}
	}
	fmt.Println("exactly 0 in more than 140 of 400:", zeros > 140)
	fmt.Println("within a factor of 2 of 1.41 in fewer than 60:", near < 60)
}
END
cat >want <<'END'
exactly 0 in more than 140 of 400: true
within a factor of 2 of 1.41 in fewer than 60: true
END

go run . | tee got
diff want got
echo "as found: a deviation of 1.41 is mostly released as 0, or far off"
