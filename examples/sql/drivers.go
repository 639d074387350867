package main

// The databases that -driver takes, one line each.
import (
	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"
)
