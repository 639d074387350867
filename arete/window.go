package arete

// window sums the last n numbers that were pushed, Σ x(k) and Σ k·x(k), where x(1) is the latest.
// It never subtracts: numbers are taken in chunks of n, and the window is the end of one chunk,
// summed from behind, and the beginning of the next, summed from the front. So where the numbers
// are positive the sums are accurate to a few roundings for each number, however fast these
// decrease.
type window struct {
	chunk    []float64 // the current chunk
	ends     []float64 // ends[i]: numbers i, i+1, … of the last chunk, summed
	weighted []float64 // the same with the weights 1 for the last one, 2 for the one before, …
	sum, lag float64   // of the current chunk
}

func newWindow(n int) *window {
	return &window{chunk: make([]float64, 0, n), ends: make([]float64, n+1), weighted: make([]float64, n+1)}
}

// push takes the next number.
func (w *window) push(x float64) {
	w.chunk = append(w.chunk, x)
	w.sum += x
	w.lag += w.sum
	if len(w.chunk) < cap(w.chunk) {
		return
	}
	sum, lag := 0.0, 0.0
	for i := len(w.chunk) - 1; i >= 0; i-- {
		sum += w.chunk[i]
		lag += float64(len(w.chunk)-i) * w.chunk[i]
		w.ends[i], w.weighted[i] = sum, lag
	}
	w.chunk, w.sum, w.lag = w.chunk[:0], 0, 0
}

// sums returns Σ x(k) and Σ k·x(k), k = 1, …, n.
func (w *window) sums() (sum, lag float64) {
	i := len(w.chunk)
	return w.sum + w.ends[i], w.lag + w.weighted[i] + float64(i)*w.ends[i]
}
