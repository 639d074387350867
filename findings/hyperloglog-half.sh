#!/usr/bin/env bash
# The HyperLogLog of the npm package bloom-filters 3.0.4 counts half of the elements, as long as
# there are fewer of them than registers: one is 0, ten are 5, a thousand are 489. From three times
# as many elements as registers on, it is right. So a report of small groups beside large ones has
# the small ones at half.
# Needs Node.js and npm (Debian: nodejs, npm).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund bloom-filters@3.0.4 >/dev/null

cat >main.mjs <<'END'
import filters from 'bloom-filters'
for (const n of [1, 10, 100, 1000, 10000]) {
	const sketch = new filters.HyperLogLog(1024)
	for (let i = 0; i < n; i++) sketch.update('x' + i)
	console.log(`${n} elements: ${sketch.count().toFixed(0)}`)
}
END
cat >want <<'END'
1 elements: 0
10 elements: 5
100 elements: 54
1000 elements: 489
10000 elements: 9659
END

node main.mjs | tee got
diff want got
echo "as found: half of what is there"
