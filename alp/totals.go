package alp

import "github.com/dpsketch/dpsketch/internal/totals"

// total is an index with the sum of its values, in steps.
type total = totals.Entry[uint64]

// maxTotal is where a total saturates, in steps: φ₁ of it is below 2⁶⁰.
const maxTotal = 1 << 54

// clamped returns the totals that are not 0 once clamped to ±limit, and to 0 from below unless
// signed. They take the memory of the table, which is not used again, and are in the order of
// arrival, on which nothing released may depend.
func clamped(t *totals.Table[uint64], limit int64, signed bool) []total {
	all := t.Entries()
	entries := all[:0]
	for _, e := range all {
		e.Steps = min(max(e.Steps, -limit), limit)
		if e.Steps > 0 || e.Steps < 0 && signed {
			entries = append(entries, e)
		}
	}
	return entries
}
