package budget

import "testing"

// full returns n, or few with -short.
func full(n, few int) int {
	if testing.Short() {
		return few
	}
	return n
}
