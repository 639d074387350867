package distinct

import (
	"github.com/dpsketch/dpsketch/internal/view"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// MarshalJSON returns the guarantee and the estimate with its interval at .95 and its standard
// error. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (s Sketch) MarshalJSON() ([]byte, error) {
	return view.Marshal(&s, view.CountOf(s.Guarantee(), &s))
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (s *Sketch) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, s) }

// MarshalJSON returns the guarantee of all slots, the slot, and the estimate with its interval at
// .95 and its standard error. Its member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (r Running) MarshalJSON() ([]byte, error) {
	return view.Marshal(&r, struct {
		Slot int `json:"slot"`
		view.Count
	}{r.slots, view.CountOf(r.Guarantee(), &r)})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (r *Running) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, r) }

// MarshalJSON returns the guarantee, the day and the estimates of all windows with their intervals
// at .95 and standard errors. Its member data is the binary encoding, the only part that
// UnmarshalJSON reads.
func (w Windows) MarshalJSON() ([]byte, error) {
	windows := []window{}
	for _, days := range w.params.windows() {
		c := w.count(days)
		windows = append(windows, window{days, view.SizeOf(&c)})
	}
	return view.Marshal(&w, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Day       int              `json:"day"`
		Windows   []window         `json:"windows"`
	}{w.Guarantee(), w.Day(), windows})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (w *Windows) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, w) }

// window is a line of the JSON of [Windows].
type window struct {
	Days int `json:"days"`
	view.Size
}

// MarshalJSON returns the guarantee and the sizes, each with its interval at .95 and its standard
// error. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (p Pair) MarshalJSON() ([]byte, error) {
	return view.Marshal(&p, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		A         view.Size        `json:"a"`
		B         view.Size        `json:"b"`
		Both      view.Size        `json:"both"`
		Either    view.Size        `json:"either"`
		OnlyA     view.Size        `json:"onlyA"`
		OnlyB     view.Size        `json:"onlyB"`
		Jaccard   view.Size        `json:"jaccard"`
	}{p.Guarantee(), view.SizeOf(p.A()), view.SizeOf(p.B()), view.SizeOf(p.Both()), view.SizeOf(p.Either()), view.SizeOf(p.OnlyA()), view.SizeOf(p.OnlyB()), view.SizeOf(p.Jaccard())})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (p *Pair) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, p) }

// MarshalJSON returns the guarantee, the number of keys, and the share of each class with its
// interval at .95. Its member data is the binary encoding, the only part that UnmarshalJSON reads.
func (f Frequencies) MarshalJSON() ([]byte, error) {
	type share struct {
		Times int `json:"times"`
		view.Estimated
	}
	shares := []share{}
	for times := 1; times <= f.most; times++ {
		low, high := f.ShareInterval(times, view.Confidence)
		shares = append(shares, share{times, view.Of(f.Share(times), low, high)})
	}
	return view.Marshal(&f, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Users     view.Size        `json:"users"`
		Shares    []share          `json:"shares"`
	}{f.Guarantee(), view.SizeOf(f.Users()), shares})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (f *Frequencies) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, f) }

// MarshalJSON returns the guarantee and a row for each day: the number of new keys, and for each
// later day how many of them are back then or later, with intervals at .95 and standard errors. Its
// member data is the binary encoding, the only part that UnmarshalJSON reads.
func (c Cohorts) MarshalJSON() ([]byte, error) {
	type cohort struct {
		Day      int         `json:"day"`
		Since    view.Size   `json:"since"`
		New      view.Size   `json:"new"`
		Returned []view.Size `json:"returned"`
	}
	cohorts := []cohort{}
	for day := 1; day <= c.days; day++ {
		row := cohort{day, view.SizeOf(c.Since(day)), view.SizeOf(c.New(day)), []view.Size{}}
		for since := day + 1; since <= c.days; since++ {
			row.Returned = append(row.Returned, view.SizeOf(c.Returned(day, since)))
		}
		cohorts = append(cohorts, row)
	}
	return view.Marshal(&c, struct {
		Guarantee budget.Guarantee `json:"guarantee"`
		Cohorts   []cohort         `json:"cohorts"`
	}{c.Guarantee(), cohorts})
}

// UnmarshalJSON decodes what MarshalJSON encoded. It treats the member data as UnmarshalBinary
// does.
func (c *Cohorts) UnmarshalJSON(encoded []byte) error { return view.Unmarshal(encoded, c) }
