//go:build race

package misragries

const raceEnabled = true
