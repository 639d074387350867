package main

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// batch is the body of a request with n events of n/5 users.
func batch(n int) string {
	var body strings.Builder
	for i := range n {
		fmt.Fprintf(&body, "{\"user\":\"u-%d\",\"key\":\"/page/%d\"}\n", i/5, i*i%700)
	}
	return body.String()
}

// BenchmarkRead measures the parser.
func BenchmarkRead(b *testing.B) {
	body := []byte(batch(10_000))
	var record []byte
	for b.Loop() {
		var events, malformed int
		if record, events, malformed = appendEvents(record[:0], body, false); events != 10_000 || malformed > 0 {
			b.Error(events)
		}
	}
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkCount measures the builders, which one goroutine owns, with and without reports.
func BenchmarkCount(b *testing.B) {
	for _, share := range []float64{0, 0.25} {
		b.Run(fmt.Sprint("reports=", share), func(b *testing.B) {
			c := testConfig(b)
			c.elements, c.reports = 1<<20, share // so that all count
			s := mustOpen(b, c)
			record, _, _ := appendEvents(nil, []byte(batch(10_000)), false)
			for b.Loop() {
				s.count(record)
			}
			b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkTake measures requests that are parsed already, to the disk and into the builders.
func BenchmarkTake(b *testing.B) {
	c := testConfig(b)
	c.elements = 1 << 20 // so that all count
	s := mustOpen(b, c)
	s.store.db.NoSync = *noSync
	record, _, _ := appendEvents(nil, []byte(batch(10_000)), false)
	for b.Loop() {
		r := request{record, make(chan error, 1)}
		require.NoError(b, s.take([]request{r}))
	}
	b.ReportMetric(float64(b.N)*10_000/b.Elapsed().Seconds(), "events/s")
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
