package groupby

import (
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// row is a key of the view: what is not released is left out.
type row struct {
	view.Keyed
	Sum  *view.Estimated `json:"sum,omitempty"`
	Mean *view.Estimated `json:"mean,omitempty"`
	// with Values: see [Groups.Lost]
	Lost *view.Number `json:"lost,omitempty"`
	// unknown ones are null
	Quantiles []level `json:"quantiles,omitempty"`
}

// level is a quantile of the view.
type level struct {
	Level float64 `json:"level"`
	view.Estimated
	LowRank  view.Number `json:"lowRank"`
	HighRank view.Number `json:"highRank"`
}

// MarshalJSON returns the guarantee and the keys with their estimates and intervals at .95, also of
// sums and means, and Others if released. A key that is not UTF-8, or that begins with \x, is \x
// and its bytes in hexadecimal digits. The member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (g Groups[K]) MarshalJSON() ([]byte, error) {
	rows := []row{}
	for key, count := range g.All() {
		low, high := g.Interval(key, view.Confidence)
		r := row{Keyed: view.Keyed{Key: view.Key(key), Estimated: view.Of(count, low, high)}}
		if g.params.values() {
			low, high = g.SumInterval(key, view.Confidence)
			sum := view.Of(g.Sum(key), low, high)
			low, high = g.MeanInterval(key, view.Confidence)
			mean := view.Of(g.Mean(key), low, high)
			r.Sum, r.Mean = &sum, &mean
			if lost := view.Number(g.Lost(key)); g.params.Values {
				r.Lost = &lost
			}
		}
		for _, q := range g.params.levels() {
			low, high := g.QuantileInterval(key, q, view.Confidence)
			least, most := g.RankInterval(key, q, view.Confidence)
			r.Quantiles = append(r.Quantiles, level{q, view.Of(g.Quantile(key, q), low, high), view.Number(least), view.Number(most)})
		}
		rows = append(rows, r)
	}
	shown := struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Keys      []row            `json:"keys"`
		Others    *view.Estimated  `json:"others,omitempty"`
	}{Guarantee: g.Guarantee(), Keys: rows}
	if g.valid() && g.params.Others {
		half := g.reach(g.law.others, (1-view.Confidence)/2) + 1/float64(unit)
		others := view.Of(g.Others(), max(g.Others()-half, 0), max(g.Others()+half, 0))
		shown.Others = &others
	}
	return view.Marshal(&g, shown)
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (g *Groups[K]) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, g) }
