package main

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// batch is the body of a request with n events of n/5 users.
func batch(n int) string {
	var body strings.Builder
	for i := range n {
		fmt.Fprintf(&body, "{\"user\":\"u-%d\",\"key\":\"/page/%d\"}\n", i/5, i*i%700)
	}
	return body.String()
}

// BenchmarkEvents measures JSON lines over a loopback connection, with and without reports.
func BenchmarkEvents(b *testing.B) {
	for _, share := range []float64{0, 0.25} {
		b.Run(fmt.Sprint("reports=", share), func(b *testing.B) {
			c := testConfig(b)
			c.elements, c.reports = 1<<20, share // so that all count
			s := mustOpen(b, c)
			s.store.db.NoSync = *noSync
			start(b, s)
			server := httptest.NewServer(s.handler())
			defer server.Close()
			body := batch(10_000)
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if status, taken, _ := post(b, server.URL, body); status != 200 || taken != 10_000 {
						b.Errorf("status %d, %d taken", status, taken)
					}
				}
			})
			b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "events/s")
		})
	}
}
