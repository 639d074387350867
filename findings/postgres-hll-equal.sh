#!/usr/bin/env bash
# 1.0, 1.00 and 1.000 are one value to DISTINCT and GROUP BY, and three to a HyperLogLog: hll_hash_any
# hashes the bytes that a value is sent in, and equal values of type numeric, interval or float8 may
# have different bytes. A thousand prices, each written with one and with two decimals, are 2000.
# PostgreSQL 15 with Debian's postgresql-hll 2.17; integers and text are not of this kind.
# Needs a PostgreSQL server with the extension (Debian 12: postgresql-15-hll), which is started by
# itself for some statements.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
as=()
if [ "$(id -u)" = 0 ]; then # it refuses to run as root
	chown postgres .
	as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
fi
"$bin/postgres" --version
dpkg-query -W "postgresql-*-hll" 2>/dev/null || true
"${as[@]}" "$bin/initdb" -D "$folder/data" -U postgres -A trust --no-locale -N >/dev/null

cat >want <<'END'
numerics = "3"
distinct = "1"
zeros = "2"
distinct = "1"
days = "2"
distinct = "1"
prices = "t"
distinct = "1000"
END

cat >statements <<'END'
CREATE EXTENSION hll
SELECT #hll_add_agg(hll_hash_any(x)) AS numerics, count(DISTINCT x) AS distinct FROM (VALUES (1.0), (1.00), (1.000)) AS t(x)
SELECT #hll_add_agg(hll_hash_any(x)) AS zeros, count(DISTINCT x) AS distinct FROM (VALUES (0.0::float8), ('-0'::float8)) AS t(x)
SELECT #hll_add_agg(hll_hash_any(x)) AS days, count(DISTINCT x) AS distinct FROM (VALUES (interval '1 day'), (interval '24 hours')) AS t(x)
SELECT #hll_add_agg(hll_hash_any(x)) BETWEEN 1800 AND 2200 AS prices, count(DISTINCT x) AS distinct FROM (SELECT round(i, d) AS x FROM generate_series(1, 1000) AS i, generate_series(1, 2) AS d) AS t
END
"${as[@]}" "$bin/postgres" --single -D "$folder/data" postgres <statements 2>log |
	sed -n 's/.*: \([a-z]* = "[^"]*"\).*/\1/p' | tee got
diff want got || { cat log; exit 1; }
echo "as found: equal values are counted apart"
