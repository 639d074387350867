package figures

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
)

// picture is a plot that takes curves one by one.
type picture struct {
	*plot.Plot
	curves int
	table  []string // lines that are printed
}

const (
	width  = 18 * vg.Centimeter
	height = 11 * vg.Centimeter
)

// colours are told apart in print and by most colour-blind readers (Okabe and Ito).
var colours = []color.Color{
	color.RGBA{0, 114, 178, 255}, color.RGBA{213, 94, 0, 255}, color.RGBA{0, 158, 115, 255},
	color.RGBA{204, 121, 167, 255}, color.RGBA{86, 180, 233, 255}, color.RGBA{230, 159, 0, 255}, color.RGBA{90, 90, 90, 255},
}

func newPicture(title, x, y string) *picture {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font.Size, p.Title.Padding = 14, 8
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size, a.Tick.Label.Font.Size = 12, 11
	}
	p.Legend.Top, p.Legend.TextStyle.Font.Size = true, 11
	p.Legend.Padding, p.Legend.XOffs, p.Legend.YOffs = 2, -8, -8
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.TickerFunc(linearTicks), plot.TickerFunc(linearTicks)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{230}, color.Gray{230}
	p.Add(grid)
	return &picture{Plot: p}
}

// log makes both axes, or one, logarithmic.
func (p *picture) log(x, y bool) *picture {
	if x {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if y {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	return p
}

// logTicks marks 1, 2, …, 9 of each decade, and labels 1, or 1, 2 and 5 where there are few
// decades.
func logTicks(lo, hi float64) (ticks []plot.Tick) {
	few := math.Log10(hi/lo) < 2.5
	for decade := math.Floor(math.Log10(lo)); decade <= math.Log10(hi); decade++ {
		for digit := 1.; digit < 10; digit++ {
			// exact in decimal
			value, _ := strconv.ParseFloat(fmt.Sprintf("%ge%g", digit, decade), 64)
			t := plot.Tick{Value: value}
			if t.Value < lo*(1-1e-9) || t.Value > hi*(1+1e-9) {
				continue
			}
			if digit == 1 || few && (digit == 2 || digit == 5) {
				t.Label = strconv.FormatFloat(t.Value, 'g', -1, 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// linearTicks are the default ones with shorter labels.
func linearTicks(lo, hi float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(lo, hi)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = strconv.FormatFloat(ticks[i].Value, 'g', 6, 64)
		}
	}
	return ticks
}

// kind is how a curve is drawn.
type kind int

const (
	ours   kind = iota // a full line
	theirs             // a dashed line
)

// add draws a curve.
func (p *picture) add(name string, k kind, points plotter.XYs) *picture {
	l := cli.Must(plotter.NewLine(points))
	l.Color, l.Width = colours[p.curves%len(colours)], vg.Points(2)
	p.curves++
	if k == theirs {
		l.Dashes = []vg.Length{vg.Points(6), vg.Points(4)}
	}
	p.Add(l)
	p.Legend.Add(name, l)
	return p
}

// save writes a PNG, and returns its name.
func (p *picture) save(dir, name string) (string, error) {
	file := filepath.Join(dir, name+".png")
	return file, p.Plot.Save(width, height, file)
}

// curve computes f at the points of x.
func curve(x []float64, f func(float64) float64) plotter.XYs {
	points := make(plotter.XYs, len(x))
	for i := range x {
		points[i] = plotter.XY{X: x[i], Y: f(x[i])}
	}
	return points
}
