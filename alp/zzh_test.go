package alp
import ("testing";"fmt";"time";"runtime")
func TestHostile(t *testing.T) {
	for _, q := range []Params{
		{Epsilon:1, Max:1e7, Sparsity:1, Structure:ColumnsOnly, Levels:256, Columns:1<<14},
		{Epsilon:1, Max:1e7, Sparsity:1, Structure:ColumnsOnly, Levels:2, Columns:1<<14},
		{Epsilon:1, Max:1e5, Sparsity:1, Structure:ColumnsOnly, Levels:16, Columns:1<<14, Bits: 1e6},
		{Epsilon:1, Max:1e4, Sparsity:1, Structure:ColumnsOnly, Levels:256, Columns:1<<12, Signed:true},
		{Epsilon:1, Max:1e4, Sparsity:1, Structure:ColumnsOnly, Levels:256, Columns:1, Bits: 1e5},
		{Epsilon:1, Delta: 1e-6, Turn:3e5, Sparsity:1, Levels:256, Columns:1<<14},
	} {
		s, err := q.shape()
		if err != nil { fmt.Println(err); continue }
		var seed = s.params.Seed
		seed[0]=1
		s.params.Seed=seed
		s.hash()
		p := &Projection{shape:s, table: make([]uint64, s.tableWords())}
		b := &state{}
		s.fill(&b.src, p.table)
		if s.hasList { p.list, err = s.releaseList(nil) }
		var m0, m1 runtime.MemStats
		runtime.ReadMemStats(&m0)
		a := time.Now()
		p.decoder = newDecoder(p)
		el := time.Since(a)
		runtime.ReadMemStats(&m1)
		a = time.Now()
		p.Estimate(3)
		e2 := time.Since(a)
		a = time.Now()
		p.Interval(3,.9)
		e3 := time.Since(a)
		fmt.Println(q.Levels, q.Columns, s.params.Columns, "encoding", 8*len(p.table), "decoder", el, (m1.TotalAlloc-m0.TotalAlloc)>>20, "MB; estimate", e2, "interval", e3)
	}
}
