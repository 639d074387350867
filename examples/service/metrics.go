package main

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts what happens, exactly: private, for the operator, who sees the traffic anyway.
type metrics struct {
	registry                     *prometheus.Registry
	requests                     *prometheus.CounterVec
	events, malformed, uncounted prometheus.Counter
	commits                      prometheus.Histogram
}

func newMetrics(s *service) *metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	make := promauto.With(r)
	make.NewCounterFunc(prometheus.CounterOpts{Name: "service_steps_total", Help: "Steps published."}, func() float64 {
		return float64(s.published.steps())
	})
	return &metrics{
		registry:  r,
		requests:  make.NewCounterVec(prometheus.CounterOpts{Name: "service_requests_total", Help: "Requests that brought events, by the status of the answer."}, []string{"code"}),
		events:    make.NewCounter(prometheus.CounterOpts{Name: "service_events_total", Help: "Events taken."}),
		uncounted: make.NewCounter(prometheus.CounterOpts{Name: "service_uncounted_total", Help: "Events taken whose key did not count, as their users had brought more than count."}),
		malformed: make.NewCounter(prometheus.CounterOpts{Name: "service_malformed_total", Help: "Lines that were no events."}),
		commits: make.NewHistogram(prometheus.HistogramOpts{Name: "service_commit_seconds", Help: "How long a transaction takes.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
	}
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
