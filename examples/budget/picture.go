package main

import (
	"fmt"
	"html"
	"strings"
)

// picture draws months as columns, each from what was spent before it to what was spent with it,
// under a line for the whole budget.
func picture(title string, months []line) string {
	const left, top, height, foot = 60, 60, 260, 40
	width := 710 / max(len(months), 1)
	right := left + width*max(len(months), 1)
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13">`+"\n", max(right+30, 800), top+height+foot)
	fmt.Fprintf(&s, `<rect width="100%%" height="100%%" fill="#fff"/><text x="12" y="27" font-size="13" font-weight="bold">%s</text>`+"\n", html.EscapeString(title))
	at := func(share float64) float64 { return top + height*(1-share) }
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		colour := "#ddd"
		if share == 1 {
			colour = "#c0392b"
		}
		fmt.Fprintf(&s, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="%s"/><text x="%d" y="%.1f" text-anchor="end">%.0f %%</text>`+"\n", left, right, at(share), at(share), colour, left-8, at(share)+4, 100*share)
	}
	sum := 0.0
	for i, m := range months {
		x := left + i*width
		fmt.Fprintf(&s, `<rect x="%d" y="%.1f" width="%d" height="%.1f" fill="#d6dce8"/>`, x+2, at(sum), width-4, at(0)-at(sum))
		fmt.Fprintf(&s, `<rect x="%d" y="%.1f" width="%d" height="%.1f" fill="#2456c4"/>`, x+2, at(sum+m.share), width-4, at(sum)-at(sum+m.share))
		if every := (len(months) + 11) / 12; i%every == 0 {
			fmt.Fprintf(&s, `<text x="%d" y="%d" text-anchor="middle">%s</text>`, x+width/2, top+height+20, html.EscapeString(strings.TrimPrefix(m.name, "20")))
		}
		s.WriteByte('\n')
		sum += m.share
	}
	return s.String() + "</svg>\n"
}
