package misragries

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/dpsketch/dpsketch/misragries/internal/sketch"
)

// Plan is what a release will be, before any data is seen.
type Plan struct {
	Params    Params  // filled in, with the Method of the first row
	StdDev    float64 // of the noise of an estimate by the first row
	Threshold float64 // of the first row
	// Bytes is what one Builder holds for uint64 keys. String keys take 16 more
	// each, plus their text.
	Bytes   int
	Servers int
	Rows    []Row // the constructors, those that lose least first
}

// Row is what one constructor needs and loses.
type Row struct {
	// Constructor is New, NewSum, Builder.Merge, Combine, NewUserBuilder,
	// UserBuilder.Merge or FromMisraGries.
	Constructor string
	Method      Method
	// Threshold is the least noisy count that is released; for Combine the count,
	// wherever it was, that would be without noise. For PureUniverse it is about
	// the k-th largest noise, or −Inf if all Dim keys are released.
	Threshold float64
	// Hidden95 is the count, on all servers together, at which a key is released
	// with a probability of 95 %, after the worst loss if MaxLength is given.
	Hidden95 float64
	// Lost bounds what a key loses, as a share of all elements of all streams.
	Lost float64
	// StdDev is the standard deviation of the noise of an estimate.
	StdDev float64
	// Bias is by how much every noisy count is too low on average; Estimate adds
	// it.
	Bias float64
	// Trusted says that one server sees the sketches of the others.
	Trusted bool

	lost string // what String adds to Hidden95, without MaxLength
}

// String has a line for each row.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d servers, %d counters each, %v:", p.Servers, p.Params.Counters, p.Params.Guarantee())
	for _, r := range p.Rows {
		fmt.Fprintf(&b, "\n%v", r)
	}
	return b.String()
}

// String returns one line.
func (r Row) String() string {
	trusted := ""
	if r.Trusted {
		trusted = ", needs a server that sees the sketches"
	}
	return fmt.Sprintf("%s by %v: shows keys with 95 %% from a count of about %.4g%s (threshold %.4g), noise %.3g%s",
		r.Constructor, r.Method, r.Hidden95, r.lost, r.Threshold, r.StdDev, trusted)
}

// Plan compares the constructors for that many servers. The error wraps [ErrParams]: none accepts
// the Params, or servers is below 1.
func (p Params) Plan(servers int) (Plan, error) {
	if servers < 1 || servers > math.MaxInt32 {
		return Plan{}, bad("servers", servers, "an integer in [1, 2³¹)")
	}
	list := []input{summed, merged, oneStream, users}
	if servers == 1 {
		list = []input{oneStream, users, summed, givenCounters}
	}
	plan := Plan{Params: p.normal(), Servers: servers}
	counters := plan.Params.Counters
	var refused error
	for _, in := range list {
		if in == users && p.MaxElements == 0 {
			continue
		}
		q, c, err := p.check(in)
		if in == users && servers > 1 && !c.together && err == nil {
			// only what counts the keys of a user together can be merged
			q.Method = cmp.Or(p.Method, possible[users][0])
			if q, c, err = q.check(in); !c.together && err == nil {
				continue
			}
		}
		if err != nil {
			if refused == nil {
				refused = err
			}
			continue
		}
		if len(plan.Rows) == 0 {
			plan.Params.Method = c.method
		}
		if c.together {
			counters = q.Counters + q.MaxElements
		}
		plan.Rows = append(plan.Rows, q.row(c, servers))
	}
	if len(plan.Rows) == 0 {
		return Plan{}, refused
	}
	plan.StdDev, plan.Threshold = plan.Rows[0].StdDev, plan.Rows[0].Threshold
	plan.Bytes = int(min(sketch.Size(counters), math.MaxInt)) // 32-bit platforms
	return plan, nil
}

// row returns what the calibration needs for that many servers.
func (p Params) row(c calibration, servers int) Row {
	is, m := c.is(), float64(servers)
	sketches := 1
	if c.input == summed {
		sketches = servers
	}
	h := Histogram[uint64]{params: p, calibration: c}
	r := Row{Constructor: c.input.String(), Method: c.method, Threshold: h.threshold(), Hidden95: c.needs(p, sketches), StdDev: c.stdDev(), Bias: c.bias(sketches)}
	r.Trusted = servers > 1
	if servers > 1 && c.input == users {
		r.Constructor = "UserBuilder.Merge"
	}
	if servers > 1 && c.input == oneStream {
		// a key may be below the threshold on every server
		below := func(hidden float64) float64 { return max(m*(hidden-1)+1, hidden) }
		r.Constructor, r.Trusted = "Combine", false
		r.Threshold, r.Hidden95, r.StdDev, r.Bias = below(r.Threshold), below(r.Hidden95), math.Sqrt(m)*r.StdDev, m*r.Bias
	}
	if math.IsInf(r.Threshold, -1) {
		return r // all keys are released
	}
	counters := p.Counters + 1
	if is.trimmed {
		counters--
	}
	r.Lost = 1 / float64(counters)
	switch lost := float64(p.MaxLength) / float64(counters); {
	case p.MaxLength > 0:
		r.Hidden95 += lost
		if is.reduced {
			r.Bias += lost
		}
	case is.reduced:
		r.lost = fmt.Sprintf(" + n/%d", counters)
	default:
		r.lost = fmt.Sprintf(" + at most n/%d", counters)
	}
	return r
}
