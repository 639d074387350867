#!/usr/bin/env bash
# The median of 1, 2, 3 is 1.5: stat.Quantile of gonum v0.17.0 with LinInterp takes the k-th of n
# values for the quantile at k/n, so the one at 1/2 lies half a rank under the median. Seen: of 10 to
# 50 in steps of 10 it is 25, and by Empirical 30.
# Needs Go.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export GOWORK=off GOFLAGS=-mod=mod
go mod init finding 2>/dev/null
go get gonum.org/v1/gonum@v0.17.0

cat >main.go <<'END'
package main

import (
	"fmt"

	"gonum.org/v1/gonum/stat"
)

func main() {
	for _, x := range [][]float64{{1, 2, 3}, {10, 20, 30, 40, 50}} {
		fmt.Println(x, "median by LinInterp:", stat.Quantile(0.5, stat.LinInterp, x, nil), "by Empirical:", stat.Quantile(0.5, stat.Empirical, x, nil))
	}
}
END
cat >want <<'END'
[1 2 3] median by LinInterp: 1.5 by Empirical: 2
[10 20 30 40 50] median by LinInterp: 25 by Empirical: 30
END

go run . | tee got
diff want got
echo "as found: the median of an odd number of values is none of them"
