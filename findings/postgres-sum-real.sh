#!/usr/bin/env bash
# The sum of twenty million ones is 16,777,216: PostgreSQL adds a column of type real in single
# precision, where 2²⁴ + 1 is 2²⁴ again. The average of the same column is right, as it adds in double
# precision. PostgreSQL 15; the sum of other types is not of this kind.
# Needs a PostgreSQL server (Debian: postgresql), which is started by itself for one statement.
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
"${as[@]}" "$bin/initdb" -D "$folder/data" -U postgres -A trust --no-locale -N >/dev/null

cat >want <<'END'
sum = "1.6777216e+07"
wide = "20000000"
mean = "1"
END

echo 'SELECT sum(1::real) AS sum, sum(1::float8) AS wide, avg(1::real) AS mean FROM generate_series(1, 20000000)' |
	"${as[@]}" "$bin/postgres" --single -D "$folder/data" postgres 2>log | sed -n 's/.*: \([a-z]* = "[^"]*"\).*/\1/p' | tee got
diff want got || { cat log; exit 1; }
echo "as found: the sum of a column of type real stops at 2^24"
