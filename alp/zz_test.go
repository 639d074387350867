package alp
import ("testing";"fmt";"time";"os")
func cpu() float64 { return float64(time.Now().UnixNano()) }
func TestZZ(t *testing.T) {
	sizes := []int{10000}
	if os.Getenv("BIG")!="" { sizes = []int{21_000_000} }
	for _, size := range sizes {
	for _, q := range []Params{{Max: 40, Structure: ColumnsOnly}, {Max: 40, Structure: ColumnsOnly, Levels: 2}, {Delta: 1e-6}, {Delta:1e-6, Levels:2}} {
		q.Epsilon, q.Sparsity = 1, size
		const n = 1 << 16
		values := make([]float64, min(n, size))
		for i := range values { values[i] = float64(i % 100) }
		pr := released(t, q, values)
		indices := make([]uint64, n); defer func(){}()
		for i := range indices { indices[i] = scatter(i / 2 * (1 + i%2*n)) }
		for i := range indices { j := int(mix(uint64(i)^77)%n); indices[i], indices[j] = indices[j], indices[i] }; best := 1e9
		sum := 0.0
		for w := range 800 {
			a := cpu()
			for i := range 4096 { sum += pr.Estimate(indices[(i+w*4096)%n]) }
			best = min(best, (cpu()-a)/4096)
		}
		fmt.Printf("%d %v Q=%d m=%d: %.1f ns cpu\n", size, pr.Params().Structure, pr.Params().Levels, pr.Params().Columns, best)
	}}
}
