package main

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// grouped prints a count with commas between groups of three digits.
func grouped[T int | float64](n T) string {
	x := float64(n)
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	digits := strconv.FormatFloat(math.Abs(x), 'f', 0, 64)
	var b strings.Builder
	if math.Round(x) < 0 {
		b.WriteByte('-')
	}
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// maxShown is the number of characters of a key that a table shows.
const maxShown = 60

// printable prints a key so that it fits into a table and cannot disturb a terminal.
func printable(key string) string {
	if quoted := strconv.Quote(key); !utf8.ValidString(key) || quoted[1:len(quoted)-1] != key {
		key = quoted
	}
	if utf8.RuneCountInString(key) > maxShown {
		key = string([]rune(key)[:maxShown-1]) + "…"
	}
	return key
}
