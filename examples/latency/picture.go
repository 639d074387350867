package main

import (
	"fmt"
	"math"
	"strings"
)

// Pixels of the picture.
const (
	margin, width, step = 130, 760, 22
	leastMS, mostMS     = 1., 60_000.
)

// picture returns an SVG of the percentiles: their intervals as bars, what is released as dots, and
// the truth as strokes, on a logarithmic axis of milliseconds.
func picture(lines []line) string {
	x := func(ms float64) float64 {
		return margin + width*math.Log(min(max(ms, leastMS), mostMS)/leastMS)/math.Log(mostMS/leastMS)
	}
	height := step * (len(lines) + 2)
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n", margin+width+20, height)
	for ms := leastMS; ms <= mostMS; ms *= 10 {
		fmt.Fprintf(&b, "<line x1=\"%.1f\" y1=\"0\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%d\">%g ms</text>\n", x(ms), x(ms), height-step, x(ms), height-6, ms)
	}
	for i, l := range lines {
		y := step * (i + 1)
		fmt.Fprintf(&b, "<text x=\"4\" y=\"%d\">%s</text>\n", y+4, l.name)
		for j, p := range l.at {
			color := [...]string{"#2a6", "#26a", "#a42"}[j]
			fmt.Fprintf(&b, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\" stroke-width=\"3\" opacity=\".35\"/>\n", x(p.low), y, x(p.high), y, color)
			fmt.Fprintf(&b, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"%s\"/>\n", x(p.truth), y-7, x(p.truth), y+7, color)
			if p.value == p.value {
				fmt.Fprintf(&b, "<circle cx=\"%.1f\" cy=\"%d\" r=\"4\" fill=\"%s\"/>\n", x(p.value), y, color)
			}
		}
	}
	return b.String() + "</svg>\n"
}
