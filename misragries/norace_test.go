//go:build !race

package misragries

const raceEnabled = false
