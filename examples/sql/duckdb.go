//go:build duckdb

package main

// DuckDB is 30 MB to download, links C++, and makes the binary 50 MB larger. So whoever wants
// SQLite alone builds without it.
import _ "github.com/duckdb/duckdb-go/v2"
