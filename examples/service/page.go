package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"a": article}).Parse(pageText))

const (
	mostBars   = 10
	mostLines  = 5
	mostPoints = 60
)

// shownWindows are the lengths, in steps, of the windows of the page.
var shownWindows = []int{1, day, week, 30 * day}

// page is what the template shows.
type page struct {
	Tabs              []tab
	Window            string // its name
	Begin, End        string
	Counted           string // which share of all that users did counts
	Short             bool   // fewer steps than the name says
	Steps             int
	Now               string
	Bars              []bar
	Lines             lineChart
	Users             columnChart
	Report            *report // of the last day; nil without reports and before the first one
	ReportDay         string
	ReportBars        []bar
	ReportValues      [][]string // of keys: the key and its quantiles
	Reports           bool
	Width, Height     float64
	Epsilon, Delta    string
	Factor            string
	Elements, Burst   int
	Hour, Day, Period string // names of 1, 24 and 168 steps
	Began, Spent      string
}

// tab is a window that can be chosen.
type tab struct {
	Name    string
	Steps   int
	Current bool
}

// bar is a key with its interval.
type bar struct {
	Key, Count, Range string
	Number            int // of its line; −1 for none
	Width, Low, High  float64
	Unbounded         bool
}

// getPage serves the page for one of the windows, as of the last step that is published.
func (p *published) getPage(w http.ResponseWriter, r *http.Request) {
	length := day
	if text := r.FormValue("steps"); text != "" {
		length, _ = strconv.Atoi(text)
	}
	html, err := p.page(length)
	if err != nil || html == nil {
		notFound(w)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; frame-ancestors 'none'")
	_, _ = w.Write(html) // the client may be gone
}

// page returns the page for a window, nil if no window has that length. It is drawn once a step.
func (p *published) page(length int) ([]byte, error) {
	p.drawing.Lock()
	defer p.drawing.Unlock()
	steps := p.steps()
	if p.pages == nil || p.drawn != steps {
		p.pages, p.drawn = map[int][]byte{}, steps
	}
	if html := p.pages[length]; html != nil {
		return html, nil
	}
	c, found := p.describe(length, steps)
	if !found {
		return nil, nil
	}
	if steps > p.first() {
		if err := p.draw(&c, length, steps); err != nil {
			return nil, err
		}
	}
	var html bytes.Buffer
	if err := pageTemplate.Execute(&html, c); err != nil {
		return nil, err
	}
	p.pages[length] = html.Bytes()
	return html.Bytes(), nil
}

// describe returns a page without pictures: its windows, and what is promised.
func (p *published) describe(length, steps int) (c page, found bool) {
	epsilon, delta := p.ledger.Budget()
	h := p.head
	c = page{Steps: steps, Now: h.end(steps).Format("Monday, January 2, 15:04 MST"), Width: chartWidth, Height: chartHeight,
		Epsilon: decimal(epsilon), Delta: decimal(delta), Factor: decimal(math.Exp(epsilon)), Elements: h.Keys.MaxElements, Burst: (h.Keys.MaxElements + 1) / 2,
		Reports: h.Reports.Epsilon > 0, Hour: h.name(1), Day: h.name(day), Period: h.name(week), Began: h.Started.Format("January 2, 2006, 15:04 MST"), Spent: p.ledger.String()}
	for _, n := range shownWindows {
		c.Tabs = append(c.Tabs, tab{h.name(n), n, n == length})
		if n == length {
			c.Window, found = h.name(n), true
		}
	}
	return c, found
}

// draw computes the pictures.
func (p *published) draw(c *page, length, steps int) error {
	from := max(steps-length, p.first())
	window, err := p.window(from, steps)
	if err != nil {
		return err
	}
	c.Begin, c.End = p.head.end(from).Format("Jan 2, 15:04"), p.head.end(steps).Format("Jan 2, 15:04 MST")
	c.Short = steps-from < length
	c.Counted = countedText(window.Counted(confidence))
	top := rows(window, mostBars)
	c.Bars = drawBars(top)
	c.Users = drawUsers(p.visitors(), p.head)
	c.drawReport(p.lastReport())

	keys := make([][]reading, min(len(top), mostLines))
	first := p.first() + length // the first step in which a window can end
	stride := max(min(length/4, (steps-first)/(mostPoints-1)), 1)
	for i := mostPoints - 1; i >= 0; i-- {
		to := steps - i*stride
		if to < first {
			continue
		}
		window, err := p.window(to-length, to)
		if err != nil {
			return err
		}
		for j := range keys {
			keys[j] = append(keys[j], reading{p.head.end(to), rowOf(window, top[j].Key)})
		}
	}
	c.Lines = drawLines(keys)
	return nil
}

// countedText says which share of all that users did counts: between two bounds, that is.
func countedText(low, high float64) string {
	percent := func(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) }
	switch middle := (low + high) / 2; {
	case high-low > 0.5:
		return "it is not known which share of what users did counts"
	case low > 0.9:
		return "nearly all that users did counts"
	default:
		return "about " + percent(middle) + " % of what users did counts (" + percent(low) + " to " + percent(high) + " %)"
	}
}

// drawReport draws the first keys of a day's report, and lists the quantiles of their values.
func (c *page) drawReport(r *report) {
	if r == nil {
		return
	}
	c.Report, c.ReportDay = r, r.Begin.Format("Jan 2, 15:04")+" to "+r.End.Format("Jan 2, 15:04 MST")
	var top []row
	for _, line := range r.Keys[:min(len(r.Keys), mostBars)] {
		top = append(top, line.row)
		if line.Quantiles == nil {
			continue
		}
		list := []string{line.Key}
		for _, q := range line.Quantiles {
			if q.Value == nil {
				list = append(list, "–")
			} else {
				list = append(list, value(*q.Value))
			}
		}
		c.ReportValues = append(c.ReportValues, list)
	}
	c.ReportBars = drawBars(top)
	for i := range c.ReportBars {
		c.ReportBars[i].Number = -1 // there are no lines of them
	}
}

// drawBars draws the keys of a window.
func drawBars(top []row) []bar {
	highest := 1.0
	for _, r := range top {
		highest = max(highest, r.Estimate)
		if r.High != nil {
			highest = max(highest, *r.High)
		}
	}
	bars := make([]bar, len(top))
	for i, r := range top {
		b := bar{Key: r.Key, Count: thousands(r.Estimate), Number: i, Width: barWidth * r.Estimate / highest, Low: barWidth * r.Low / highest, High: barWidth}
		if r.High != nil {
			b.High, b.Range = barWidth**r.High/highest, thousands(r.Low)+" – "+thousands(*r.High)
		} else {
			b.Unbounded, b.Range = true, "from "+thousands(r.Low)
		}
		if i >= mostLines {
			b.Number = -1
		}
		bars[i] = b
	}
	return bars
}

// name says how long a number of steps is.
func (h head) name(steps int) string {
	d := h.Step * time.Duration(steps)
	for _, u := range []struct {
		name string
		time.Duration
	}{{"month", 30 * 24 * time.Hour}, {"week", 7 * 24 * time.Hour}, {"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}, {"second", time.Second}} {
		switch n := d / u.Duration; {
		case d != n*u.Duration || n == 0:
		case n == 1:
			return u.name
		default:
			return fmt.Sprintf("%d %ss", n, u.name)
		}
	}
	return d.String()
}

// article returns "a day", "an hour" or "72 seconds".
func article(name string) string {
	switch {
	case name[0] >= '0' && name[0] <= '9':
		return name
	case name[0] == 'h':
		return "an " + name
	}
	return "a " + name
}

// value writes a value of an event with three digits.
func value(x float64) string {
	if math.Abs(x) < 1000 {
		return decimal(x)
	}
	rounded, _ := strconv.ParseFloat(decimal(x), 64)
	return short(rounded)
}

// decimal writes a number with three digits, small ones as 1e-6.
func decimal(x float64) string {
	return strings.Replace(strconv.FormatFloat(x, 'g', 3, 64), "e-0", "e-", 1)
}
