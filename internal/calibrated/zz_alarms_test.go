package calibrated

import (
	"testing"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// What the tests of this package may fail by chance; the file's name makes it the last of them.
func TestFalseAlarms(t *testing.T) { dptest.FalseAlarms(t) }
