#!/usr/bin/env bash
# The median of nine zeros and a 1000 is 100: equal values are one centroid of the npm package
# tdigest 0.1.3, and between two centroids it interpolates from the middle of one to the middle of
# the other. The digest of a column that is mostly one value, such as the bill of people who bought
# nothing, so has quantiles where there is no data. caio/go-tdigest and influxdata/tdigest, for Go,
# say 0 here.
# Needs Node.js and npm (Debian: nodejs, npm).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund tdigest@0.1.3 >/dev/null

cat >main.mjs <<'END'
import digest from 'tdigest'
const t = new digest.TDigest()
for (let i = 0; i < 9; i++) t.push(0)
t.push(1000)
for (const q of [0.25, 0.5, 0.75]) console.log(`quantile ${q}: ${t.percentile(q)}`)
END
cat >want <<'END'
quantile 0.25: 0
quantile 0.5: 100
quantile 0.75: 600
END

node main.mjs | tee got
diff want got
echo "as found: the median of nine zeros and a 1000 is 100"
