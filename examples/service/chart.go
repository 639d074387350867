package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The numbers of the pictures, in units of their view boxes.
const (
	chartWidth, chartHeight           = 920.0, 320.0
	left, right, above, below float64 = 56, 172, 14, 30
	barWidth                          = 480.0
)

// mark is a labelled place on an axis.
type mark struct {
	At   float64
	Text string
}

// dot is a point that says its numbers when the pointer is on it.
type dot struct {
	X, Y float64
	Text string
}

// line is a key over time, with its band.
type line struct {
	Key    string
	Label  string // the key, cut off
	Number int    // selects the colour
	Path   string
	Bands  []string
	Dots   []dot
	LabelY float64
}

// lineChart is a line for each of some keys.
type lineChart struct {
	Lines []line
	X, Y  []mark
}

// column is a number with its interval, as a column.
type column struct {
	X, Width, Y, Height float64
	Low, High           float64
	Middle              float64
	Label, Text, Top    string
	Open                bool // more is to come
}

// columnChart is a column for each of some numbers.
type columnChart struct {
	Columns []column
	Y       []mark
}

// reading is the row of a key in a window that ends at a time.
type reading struct {
	end time.Time
	row
}

// drawLines draws the readings of each key, all of the same windows in order.
func drawLines(keys [][]reading) lineChart {
	var c lineChart
	if len(keys) == 0 || len(keys[0]) < 2 {
		return c
	}
	highest := 1.0
	for _, readings := range keys {
		for _, r := range readings {
			highest = max(highest, r.Estimate)
		}
	}
	most := highest // bands may be cut off beyond half as much again
	for _, readings := range keys {
		for _, r := range readings {
			if r.High != nil {
				most = max(most, min(*r.High, 1.5*highest))
			}
		}
	}
	scale := vertical(&c.Y, most*1.05, chartHeight)
	begin, end := keys[0][0].end, keys[0][len(keys[0])-1].end
	x := func(t time.Time) float64 {
		return left + (chartWidth-left-right)*float64(t.Sub(begin))/float64(end.Sub(begin))
	}
	for t, unit := ticks(begin, end); !t.After(end); t = t.Add(unit) {
		format := "Jan 2"
		if unit < 24*time.Hour {
			format = "Mon 15:04"
		}
		c.X = append(c.X, mark{x(t), t.Format(format)})
	}
	for i, readings := range keys {
		l := line{Key: readings[0].Key, Label: cutOff(readings[0].Key), Number: i, LabelY: scale(readings[len(readings)-1].Estimate)}
		var path strings.Builder
		for _, r := range readings {
			fmt.Fprintf(&path, "%.1f,%.1f ", x(r.end), scale(r.Estimate))
			l.Dots = append(l.Dots, dot{x(r.end), scale(r.Estimate), fmt.Sprintf("%s\n%s: %s", r.Key, r.end.Format("Jan 2, 15:04"), between(r.row))})
		}
		l.Path = path.String()
		for from := 0; from < len(readings); from++ {
			to := from
			for to < len(readings) && readings[to].High != nil {
				to++
			}
			if to-from > 1 {
				l.Bands = append(l.Bands, band(readings[from:to], x, scale))
			}
			from = to
		}
		c.Lines = append(c.Lines, l)
	}
	spread(c.Lines)
	return c
}

// ticks returns the first round time of a stretch, and the distance of the others: up to eight.
func ticks(begin, end time.Time) (first time.Time, unit time.Duration) {
	const day = 24 * time.Hour
	for _, unit = range []time.Duration{time.Second, 5 * time.Second, 15 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour,
		3 * time.Hour, 6 * time.Hour, 12 * time.Hour, day, 2 * day, 4 * day, 7 * day, 14 * day, 28 * day, 56 * day} {
		if end.Sub(begin) < 8*unit {
			break
		}
	}
	if first = begin.Truncate(unit); first.Before(begin) {
		first = first.Add(unit)
	}
	return first, unit
}

// band is the outline of the intervals.
func band(readings []reading, x func(time.Time) float64, y func(float64) float64) string {
	var path strings.Builder
	for _, r := range readings {
		fmt.Fprintf(&path, "%.1f,%.1f ", x(r.end), y(*r.High))
	}
	for _, r := range slices.Backward(readings) {
		fmt.Fprintf(&path, "%.1f,%.1f ", x(r.end), y(r.Low))
	}
	return path.String()
}

// spread moves the labels of lines that end close to each other apart.
func spread(lines []line) {
	const distance = 17
	order := make([]*line, len(lines))
	for i := range lines {
		order[i] = &lines[i]
	}
	slices.SortFunc(order, func(a, b *line) int { return cmp.Compare(a.LabelY, b.LabelY) })
	for i, l := range order {
		if i > 0 {
			l.LabelY = max(l.LabelY, order[i-1].LabelY+distance)
		}
	}
	lowest := chartHeight - below
	for _, l := range slices.Backward(order) {
		l.LabelY = min(l.LabelY, lowest)
		lowest = l.LabelY - distance
	}
}

// drawUsers draws the last number of users of each period.
func drawUsers(list []users, h head) columnChart {
	var c columnChart
	var last []users
	for _, u := range list {
		if n := len(last); n > 0 && last[n-1].From == u.From {
			last[n-1] = u
		} else {
			last = append(last, u)
		}
	}
	last = last[max(0, len(last)-12):]
	highest := 1.0
	for _, u := range last {
		highest = max(highest, u.Estimate)
		if u.High != nil {
			highest = max(highest, *u.High)
		}
	}
	const height = 200
	scale := vertical(&c.Y, highest, height)
	slot := (chartWidth - left) / 12
	for i, u := range last {
		x := left + slot*(float64(i)+0.18)
		k := column{X: x, Width: slot * 0.64, Y: scale(u.Estimate), Middle: x + slot*0.32, Low: scale(u.Low), High: scale(highest), Open: u.To%week != 0}
		k.Height, k.Top, k.Label = height-below-k.Y, thousands(u.Estimate), h.end(u.From).Format("Jan 2")
		if u.High != nil {
			k.High = scale(*u.High)
		}
		k.Text = fmt.Sprintf("%s to %s: %s", h.end(u.From).Format("Jan 2, 15:04"), h.end(u.To).Format("Jan 2, 15:04"), between(row{"", u.Estimate, u.Low, u.High}))
		c.Columns = append(c.Columns, k)
	}
	return c
}

// vertical returns the scale of a chart with values from 0 to highest, and its marks.
func vertical(marks *[]mark, highest, height float64) func(float64) float64 {
	y := func(v float64) float64 {
		return above + (height-above-below)*(1-min(max(v, 0), highest)/highest)
	}
	unit := math.Pow(10, math.Floor(math.Log10(highest/4)))
	for _, k := range []float64{1, 2, 5, 10} {
		if highest/(k*unit) <= 5 {
			unit *= k
			break
		}
	}
	for v := 0.0; v <= highest; v += unit {
		*marks = append(*marks, mark{y(v), short(v)})
	}
	return y
}

// short writes a number in few letters.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return fmt.Sprintf("%g", v)
}

// thousands writes a number as people read it.
func thousands(v float64) string {
	s := fmt.Sprintf("%.0f", math.Abs(v))
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v <= -0.5 {
		return "−" + s
	}
	return s
}

// cutOff returns a key as it fits beside its line: a long one ends with ….
func cutOff(key string) string {
	const most = 24
	if runes := []rune(key); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return key
}

// between writes an estimate with its interval.
func between(r row) string {
	if r.High == nil {
		return fmt.Sprintf("%s (at least %s)", thousands(r.Estimate), thousands(r.Low))
	}
	return fmt.Sprintf("%s (%s to %s)", thousands(r.Estimate), thousands(r.Low), thousands(*r.High))
}
