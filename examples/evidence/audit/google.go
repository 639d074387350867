package audit

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/dpsketch/dpsketch/noise"
)

// Google's test cases for their own library say what noise is wanted and how far a sample of it may
// be from a reference; their two tests are a few lines each. Nothing of theirs is here: a checkout
// of github.com/google/differential-privacy has the cases.

// block is a message of a text proto: scalars and lists as text, messages as blocks.
type block struct {
	text   map[string][]string
	blocks map[string][]*block
}

func (b *block) number(name string) float64 {
	if list := b.text[name]; len(list) > 0 {
		x, _ := strconv.ParseFloat(list[0], 64)
		return x
	}
	return 0
}

func (b *block) sum(name string) (total float64) {
	for _, text := range b.text[name] {
		x, _ := strconv.ParseFloat(text, 64)
		total += x
	}
	return total
}

// first returns a message, an empty one if there is none.
func (b *block) first(name string) *block {
	if list := b.blocks[name]; len(list) > 0 {
		return list[0]
	}
	return &block{}
}

// parse reads a text proto as these files have it: a field or a bracket on each line.
func parse(text string) *block {
	open := []*block{{map[string][]string{}, map[string][]*block{}}}
	for line := range strings.Lines(text) {
		if !strings.Contains(line, `"`) {
			line, _, _ = strings.Cut(line, "#")
		}
		line = strings.TrimSpace(line)
		name, value, isField := strings.Cut(line, ":")
		top := open[len(open)-1]
		switch {
		case line == "}":
			open = open[:len(open)-1]
		case strings.HasSuffix(line, "{"):
			b := &block{map[string][]string{}, map[string][]*block{}}
			name = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(line, "{"), ":"))
			name = strings.TrimSpace(strings.TrimSuffix(name, ":"))
			top.blocks[name] = append(top.blocks[name], b)
			open = append(open, b)
		case isField:
			for part := range strings.SplitSeq(strings.Trim(strings.TrimSpace(value), "[]"), ",") {
				if part = strings.Trim(strings.TrimSpace(part), `"`); part != "" {
					top.text[name] = append(top.text[name], part)
				}
			}
		}
	}
	return open[0]
}

// histogram counts n samples, rounded to the granularity.
func histogram(n int, granularity float64, draw func() float64) map[int64]float64 {
	counts := map[int64]float64{}
	for range n {
		counts[int64(math.Round(draw()/granularity))]++
	}
	return counts
}

// close is their test of closeness: collisions within and between two samples of size n.
func isClose(a, b map[int64]float64, n, tolerance float64) bool {
	value := 0.0
	for x, count := range a {
		value += count*(count-1)/2 - (n-1)/n*count*b[x]
	}
	for _, count := range b {
		value += count * (count - 1) / 2
	}
	return value < tolerance*(n-1)*tolerance*n/4
}

// private is their test of (ε, δ): the plain estimate of the divergence.
func isPrivate(a, b map[int64]float64, n, epsilon, delta, tolerance float64) bool {
	excess := func(a, b map[int64]float64) (sum float64) {
		for x, count := range a {
			sum += max(0, count-math.Exp(epsilon)*b[x])
		}
		return sum / n
	}
	return excess(a, b) < delta+tolerance && excess(b, a) < delta+tolerance
}

// majority votes up to nine times, as they do.
func majority(vote func() bool) bool {
	for yes, no := 0, 0; ; {
		if vote() {
			yes++
		} else {
			no++
		}
		if yes == 5 || no == 5 {
			return yes == 5
		}
	}
}

// grid is a step far below a scale.
func grid(scale float64) float64 { return math.Ldexp(1, math.Ilogb(scale)-30) }

// gaussian and laplace return samplers of noise by this library.
func laplace(src *noise.Source, epsilon, sensitivity float64) func() float64 {
	scale := must(noise.LaplaceScale(epsilon, sensitivity))
	d := must(noise.NewLaplace(scale))
	return func() float64 { return d.Sample(src, grid(scale)) }
}

func gaussian(src *noise.Source, epsilon, delta, sensitivity float64) func() float64 {
	sigma := must(noise.GaussianSigma(epsilon, delta, sensitivity))
	d := must(noise.NewGaussian(sigma))
	return func() float64 { return d.Sample(src, grid(sigma)) }
}

// closeCase and countCase are cases as their files have them.
const closeCase = `distribution_closeness_test_case {
  name: "ε = %[1]g, δ = %[2]g, %[3]g keys of %[4]g"
  closeness_test_parameters {
    mean: %[5]g
    variance: %.17[6]g
    l2_tolerance: 0.00065
    granularity: %.17[7]g
  }
  noise_sampling_parameters {
    number_of_samples: 1000000
    epsilon: %.17[1]g
    delta: %[2]g
    l0_sensitivity: %[3]g
    linf_sensitivity: %[4]g
    raw_input: %[5]g
  }
}
`

const countCase = `count_dp_test_case {
  name: "%[1]s, ε = %[2]g"
  dp_test_parameters {
    epsilon: %.17[2]g
    delta: %[3]g
    delta_tolerance: %[4]g
  }
  count_sampling_parameters {
    number_of_samples: 1000000
    noise_type: %[1]s
    max_partitions_contributed: 1
    epsilon: %.17[2]g
    delta: %[3]g
    raw_increment_by: []
    neighbour_raw_increment_by: [1]
  }
}
`

// ownCases are some of our own, for CI, which has no checkout: with the tolerance and about the
// granularity that theirs have at one million samples.
func ownCases(file string) (text string) {
	ln3 := math.Log(3)
	switch file {
	case "laplace_closeness":
		for _, c := range [][4]float64{{ln3, 1, 1, 0}, {2 * ln3, 25, 0.5, 45}} {
			variance := 2 * math.Pow(c[1]*c[2]/c[0], 2)
			text += fmt.Sprintf(closeCase, c[0], 0., c[1], c[2], c[3], variance, math.Sqrt(variance)/330)
		}
	case "gaussian_closeness":
		for _, c := range [][4]float64{{ln3, 1, 1, 0}, {2 * ln3, 4, 0.5, -7}} {
			sigma := analyticSigma(c[0], 1e-5) * math.Sqrt(c[1]) * c[2]
			text += fmt.Sprintf(closeCase, c[0], 1e-5, c[1], c[2], c[3], sigma*sigma, sigma/330)
		}
	default:
		text = fmt.Sprintf(countCase, "LAPLACE", ln3, 0., 0.0025) + fmt.Sprintf(countCase, "GAUSSIAN", ln3, 1e-5, 1e-4)
	}
	return text
}

// analyticSigma is σ for sensitivity 1 by theorem 8 of Balle and Wang (2018), by bisection.
func analyticSigma(epsilon, delta float64) float64 {
	above := func(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }
	lo, hi := 0.1, 100.0
	for range 60 {
		s := (lo + hi) / 2
		if above(epsilon*s-0.5/s)-math.Exp(epsilon)*above(epsilon*s+0.5/s) > delta {
			lo = s
		} else {
			hi = s
		}
	}
	return hi
}

// google runs the cases of a checkout, or "own" ones, and the same with half the noise, which must
// be rejected.
func google(dir string, wanted *regexp.Regexp) error {
	wrong := atomic.Int64{}
	fmt.Println("| cases | accepted | with half the noise rejected |\n|---|---|---|")
	for _, file := range []string{"laplace_closeness", "gaussian_closeness", "count_dp"} {
		if !wanted.MatchString(file) {
			continue
		}
		text := ownCases(file)
		if dir != "own" {
			read, err := os.ReadFile(filepath.Join(dir, "proto", "testing", file+"_test_cases.textproto"))
			if err != nil {
				return err
			}
			text = string(read)
		}
		all := parse(text)
		cases := append(all.blocks["distribution_closeness_test_case"], all.blocks["count_dp_test_case"]...)
		if len(cases) == 0 {
			return errors.New("there are no cases in " + file)
		}
		accepted, rejected := atomic.Int64{}, atomic.Int64{}
		inOrder(len(cases), func(i int) string {
			c, r, src := cases[i], rand.New(rand.NewPCG(1, uint64(i))), new(noise.Source)
			run := func(more float64) bool { // ε times more, for half the noise
				return majority(func() bool { return vote(src, r, file, c, more) })
			}
			if run(1) {
				accepted.Add(1)
			} else {
				wrong.Add(1)
				fmt.Fprintf(os.Stderr, "%s: %q is rejected\n", file, c.text["name"])
			}
			if !run(2) {
				rejected.Add(1)
			} else if dir == "own" {
				wrong.Add(1)
				fmt.Fprintf(os.Stderr, "%s: %q is accepted with half the noise\n", file, c.text["name"])
			}
			return ""
		})
		fmt.Printf("| %s | %d of %d | %d |\n", file, accepted.Load(), len(cases), rejected.Load())
	}
	if n := wrong.Load(); n > 0 {
		return fmt.Errorf("%d cases are wrong", n)
	}
	return nil
}

// vote runs a case once, with more times the noise's ε.
func vote(src *noise.Source, r *rand.Rand, file string, c *block, more float64) bool {
	if file == "count_dp" {
		p, want := c.first("count_sampling_parameters"), c.first("dp_test_parameters")
		n, parts := p.number("number_of_samples"), p.number("max_partitions_contributed")
		var draw func() float64
		if p.text["noise_type"][0] == "LAPLACE" {
			d := must(noise.NewDiscreteLaplace(must(noise.LaplaceScale(more*p.number("epsilon"), parts))))
			draw = func() float64 { return float64(d.SampleInt(src)) }
		} else {
			d := must(noise.NewGaussian(must(noise.GaussianSigma(p.number("epsilon"), p.number("delta"), math.Sqrt(parts))) / more))
			draw = func() float64 { return d.Sample(src, 1) }
		}
		a := histogram(int(n), 1, func() float64 { return p.sum("raw_increment_by") + draw() })
		b := histogram(int(n), 1, func() float64 { return p.sum("neighbour_raw_increment_by") + draw() })
		return isPrivate(a, b, n, want.number("epsilon"), want.number("delta"), want.number("delta_tolerance"))
	}
	p, want := c.first("noise_sampling_parameters"), c.first("closeness_test_parameters")
	n, parts, size := p.number("number_of_samples"), p.number("l0_sensitivity"), p.number("linf_sensitivity")
	spread := math.Sqrt(want.number("variance"))
	var draw, reference func() float64
	if file == "laplace_closeness" {
		draw = laplace(src, more*p.number("epsilon"), parts*size)
		reference = func() float64 { return spread / math.Sqrt2 * (r.ExpFloat64() - r.ExpFloat64()) }
	} else {
		sampled := gaussian(src, p.number("epsilon"), p.number("delta"), math.Sqrt(parts)*size)
		draw = func() float64 { return sampled() / more }
		reference = func() float64 { return spread * r.NormFloat64() }
	}
	step := want.number("granularity")
	a := histogram(int(n), step, func() float64 { return p.number("raw_input") + draw() })
	b := histogram(int(n), step, func() float64 { return want.number("mean") + reference() })
	return isClose(a, b, n, want.number("l2_tolerance"))
}
