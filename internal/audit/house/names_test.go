package main

import (
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// The exported names are those of the list: a new one is a decision, and stands in the same commit.
// After a change: go test ./internal/audit/house -update.
func TestNames(t *testing.T) {
	rooms := dptest.OK(count("../../.."))(t)
	dptest.Golden(t, "names.txt", strings.Join(exported(rooms), "\n")+"\n")
}
