package profile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRan(t *testing.T) {
	require.Equal(t, []Block{{"kor/plan.go", Point{7, 12}, Point{9, 3}}}, Ran("mode: set\nexample.org/m/kor/plan.go:7.12,9.3 2 1\nexample.org/m/kor/plan.go:11.2,12.3 1 0\n", "example.org/m"))
}
