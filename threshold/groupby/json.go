package groupby

import (
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// row is a key of the view: what is not released is left out.
type row struct {
	wire.KeyEstimate
	Sum  *wire.Estimated `json:"sum,omitempty"`
	Mean *wire.Estimated `json:"mean,omitempty"`
	// with Values: see [Groups.Lost]
	Lost *wire.Number `json:"lost,omitempty"`
	// unknown ones are null
	Quantiles []level `json:"quantiles,omitempty"`
}

// level is a quantile of the view.
type level struct {
	Level float64 `json:"level"`
	wire.Estimated
	LowRank  wire.Number `json:"lowRank"`
	HighRank wire.Number `json:"highRank"`
}

// MarshalJSON returns the guarantee and the keys with their estimates and intervals at .95, also of
// sums and means, and Others if released. A key that is not UTF-8, or that begins with \x, is \x
// and its bytes in hexadecimal digits. The member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (g Groups[K]) MarshalJSON() ([]byte, error) {
	rows := []row{}
	for key, count := range g.All() {
		low, high := g.Interval(key, wire.Confidence)
		r := row{KeyEstimate: wire.KeyEstimate{Key: wire.KeyText(key), Estimated: wire.EstimatedOf(count, low, high)}}
		if g.params.values() {
			low, high = g.SumInterval(key, wire.Confidence)
			sum := wire.EstimatedOf(g.Sum(key), low, high)
			low, high = g.MeanInterval(key, wire.Confidence)
			mean := wire.EstimatedOf(g.Mean(key), low, high)
			r.Sum, r.Mean = &sum, &mean
			if lost := wire.Number(g.Lost(key)); g.params.Values {
				r.Lost = &lost
			}
		}
		for _, q := range g.params.levels() {
			low, high := g.QuantileInterval(key, q, wire.Confidence)
			least, most := g.RankInterval(key, q, wire.Confidence)
			r.Quantiles = append(r.Quantiles, level{q, wire.EstimatedOf(g.Quantile(key, q), low, high), wire.Number(least), wire.Number(most)})
		}
		rows = append(rows, r)
	}
	shown := struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Keys      []row            `json:"keys"`
		Others    *wire.Estimated  `json:"others,omitempty"`
	}{Guarantee: g.Guarantee(), Keys: rows}
	if g.valid() && g.params.Others {
		half := g.reach(g.law.others, (1-wire.Confidence)/2) + 1/float64(unit)
		others := wire.EstimatedOf(g.Others(), max(g.Others()-half, 0), max(g.Others()+half, 0))
		shown.Others = &others
	}
	return wire.MarshalJSON(&g, shown)
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (g *Groups[K]) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, g) }
