package main

import (
	"fmt"
	"net/http"
	"sync/atomic"
)

// metrics counts what happens, exactly: private, for the operator, who sees the traffic anyway.
type metrics struct {
	requests, events, malformed, refused, releases atomic.Uint64
}

// handler serves the counts in the text format of Prometheus.
func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		for _, c := range []struct {
			name, help string
			value      *atomic.Uint64
		}{
			{"requests", "Requests that brought events.", &m.requests},
			{"events", "Events taken.", &m.events},
			{"malformed", "Lines that were no events.", &m.malformed},
			{"refused", "Requests whose events were refused.", &m.refused},
			{"releases", "Windows released.", &m.releases},
		} {
			fmt.Fprintf(w, "# HELP service_%[1]s_total %[2]s\n# TYPE service_%[1]s_total counter\nservice_%[1]s_total %[3]d\n", c.name, c.help, c.value.Load())
		}
	})
	return mux
}
