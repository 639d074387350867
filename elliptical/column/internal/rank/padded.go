package rank

// Padded are rows with so many more before place 0, at place −1, and as many at place Places, the
// first behind the axis. Among them there is a row of every rank from −More to the number of rows
// + More.
type Padded struct {
	Rows         Ordered
	N            int64 // the number of rows
	More, Places int64
}

// Place returns the place of a row.
func (p Padded) Place(rank int64) int64 {
	switch {
	case rank < p.More:
		return -1
	case rank >= p.More+p.N:
		return p.Places
	}
	return p.Rows.Place(rank - p.More)
}

// Below returns the number of rows before a place.
func (p Padded) Below(x int64) int64 {
	switch {
	case x < 0:
		return 0
	case x > p.Places:
		return 2*p.More + p.N
	}
	return p.More + p.Rows.Below(x)
}

// Part returns the part of all places in which the row is wanted that is off rows behind the
// quantile, off from −More to More.
func (p Padded) Part(q, loss float64, off int64) Part {
	part := NewPart(-1, p.Places+1, 0, p.N+2*p.More, q, loss)
	part.of, part.shift = p.N, p.More+off
	return part
}
