package main

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts exactly, so it is private: for the operator, who sees the traffic anyway.
type metrics struct {
	registry          *prometheus.Registry
	requests          *prometheus.CounterVec
	malformed         prometheus.Counter
	commits           prometheus.Histogram
	events, uncounted atomic.Int64
}

func newMetrics(s *service) *metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	make := promauto.With(r)
	make.NewCounterFunc(prometheus.CounterOpts{Name: "service_steps_total", Help: "Steps published."}, func() float64 {
		return float64(s.published.steps())
	})
	m := &metrics{
		registry:  r,
		requests:  make.NewCounterVec(prometheus.CounterOpts{Name: "service_requests_total", Help: "Requests that brought events, by the status of the answer."}, []string{"code"}),
		malformed: make.NewCounter(prometheus.CounterOpts{Name: "service_malformed_total", Help: "Lines that were no events."}),
		commits: make.NewHistogram(prometheus.HistogramOpts{Name: "service_commit_seconds", Help: "How long a transaction takes.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
	}
	make.NewCounterFunc(prometheus.CounterOpts{Name: "service_events_total", Help: "Events taken."}, func() float64 { return float64(m.events.Load()) })
	make.NewCounterFunc(prometheus.CounterOpts{Name: "service_uncounted_total", Help: "Events taken whose key did not count, as the user had no token left."},
		func() float64 { return float64(m.uncounted.Load()) })
	make.NewGaugeFunc(prometheus.GaugeOpts{Name: "service_counted_ratio", Help: "Share of the events taken since the start of the process whose key counts; 1 before the first event."}, m.counted)
	return m
}

// count adds events, and those of them that did not count.
func (m *metrics) count(events, not int) {
	m.events.Add(int64(events))
	m.uncounted.Add(int64(not))
}

// counted returns which share of the events counts.
func (m *metrics) counted() float64 {
	not := m.uncounted.Load() // first, so that it is of events that are there
	return 1 - float64(not)/max(float64(m.events.Load()), 1)
}

// commit measures a transaction.
func (m *metrics) commit(f func() error) error {
	began := time.Now()
	defer func() { m.commits.Observe(time.Since(began).Seconds()) }()
	return f()
}

func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}
