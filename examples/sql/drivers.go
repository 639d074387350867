package main

// The databases that -driver takes, one line each; DuckDB's is in duckdb.go.
import (
	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"
)
