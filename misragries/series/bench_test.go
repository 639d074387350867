package series

import "testing"

// A window of a month, of a thousand keys that are known all the time.
func BenchmarkWindow(b *testing.B) {
	p := Params{Epsilon: 1, Dim: 1000, Spans: spansOf(1, 4, 24, 168)}
	builder, l := builder(b, p), timeline(b, p)
	for range 900 {
		if err := l.Append(step(b, builder)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Window(100, 820); err != nil {
			b.Fatal(err)
		}
	}
}
