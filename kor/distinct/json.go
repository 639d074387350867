package distinct

import (
	"github.com/dpsketch/dpsketch/internal/wire"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee and the estimate with its interval at .95 and its standard
// error. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (s Sketch) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&s, wire.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, s) }

// MarshalJSON returns the guarantee of all slots, the slot, and the estimate with its interval at
// .95 and its standard error. Its member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (r Running) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&r, struct {
		Slot int `json:"slot"`
		wire.Count
	}{r.slots, wire.CountOf(r.Guarantee(), &r)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (r *Running) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, r) }

// MarshalJSON returns the guarantee, the day and the estimates of all windows with their intervals
// at .95 and standard errors. Its member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (w Windows) MarshalJSON() ([]byte, error) {
	windows := []window{}
	for _, days := range w.params.windows() {
		c := w.count(days)
		windows = append(windows, window{days, wire.SizeOf(&c)})
	}
	return wire.MarshalJSON(&w, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Day       int              `json:"day"`
		Windows   []window         `json:"windows"`
	}{w.Guarantee(), w.Day(), windows})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (w *Windows) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, w) }

// window is a line of the JSON of [Windows].
type window struct {
	Days int `json:"days"`
	wire.Size
}

// MarshalJSON returns the guarantee and the sizes, each with its interval at .95 and its standard
// error. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (p Pair) MarshalJSON() ([]byte, error) {
	return wire.MarshalJSON(&p, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		A         wire.Size        `json:"a"`
		B         wire.Size        `json:"b"`
		Both      wire.Size        `json:"both"`
		Either    wire.Size        `json:"either"`
		OnlyA     wire.Size        `json:"onlyA"`
		OnlyB     wire.Size        `json:"onlyB"`
		Jaccard   wire.Size        `json:"jaccard"`
	}{p.Guarantee(), wire.SizeOf(p.A()), wire.SizeOf(p.B()), wire.SizeOf(p.Both()), wire.SizeOf(p.Either()), wire.SizeOf(p.OnlyA()), wire.SizeOf(p.OnlyB()), wire.SizeOf(p.Jaccard())})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (p *Pair) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, p) }

// MarshalJSON returns the guarantee, the number of keys, the share of each class, and of keys that
// came as often or more, with intervals at .95. Its member data is the binary encoding, the only
// part that UnmarshalJSON reads.
func (f Frequencies) MarshalJSON() ([]byte, error) {
	type share struct {
		Times int `json:"times"`
		wire.Estimated
		AtLeast wire.Estimated `json:"atLeast"`
	}
	shares := []share{}
	for times := 1; times <= f.most; times++ {
		low, high := f.ShareInterval(times, wire.Confidence)
		least, most := f.AtLeastInterval(times, wire.Confidence)
		shares = append(shares, share{times, wire.EstimatedOf(f.Share(times), low, high), wire.EstimatedOf(f.AtLeast(times), least, most)})
	}
	return wire.MarshalJSON(&f, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Users     wire.Size        `json:"users"`
		Shares    []share          `json:"shares"`
	}{f.Guarantee(), wire.SizeOf(f.Users()), shares})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (f *Frequencies) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, f) }

// MarshalJSON returns the guarantee and a row for each day: the number of new keys, and for each
// later day how many of them are back then or later, and on that day, with intervals at .95 and
// standard errors. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (c Cohorts) MarshalJSON() ([]byte, error) {
	type cohort struct {
		Day      int         `json:"day"`
		Since    wire.Size   `json:"since"`
		New      wire.Size   `json:"new"`
		Returned []wire.Size `json:"returned"`
		On       []wire.Size `json:"on"`
	}
	cohorts := []cohort{}
	for day := 1; day <= c.days; day++ {
		row := cohort{day, wire.SizeOf(c.Since(day)), wire.SizeOf(c.New(day)), []wire.Size{}, []wire.Size{}}
		for since := day + 1; since <= c.days; since++ {
			row.Returned = append(row.Returned, wire.SizeOf(c.Returned(day, since)))
			row.On = append(row.On, wire.SizeOf(c.On(day, since)))
		}
		cohorts = append(cohorts, row)
	}
	return wire.MarshalJSON(&c, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Cohorts   []cohort         `json:"cohorts"`
	}{c.Guarantee(), cohorts})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (c *Cohorts) UnmarshalJSON(encoded []byte) error { return wire.UnmarshalJSON(encoded, c) }
