package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/dpsketch/dpsketch/misragries"
	"github.com/dpsketch/dpsketch/noise/budget"
)

const (
	maxBody    = 4 << 20
	confidence = 0.95
	encoded    = "application/octet-stream"
)

// handler serves events and releases.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /events", s.postEvents)
	mux.HandleFunc("GET /releases", s.getReleases)
	mux.HandleFunc("GET /releases/{number}", s.getRelease)
	mux.HandleFunc("GET /budget", s.getBudget)
	return mux
}

// postEvents takes all events of a request, or none: 403 once the budget is spent, 503 on the way
// out, 413 and 400 for a body that is too large or cannot be read, 500 while the journal cannot be
// written. So a client may send again what was refused, and no event counts twice.
func (s *service) postEvents(w http.ResponseWriter, r *http.Request) {
	keys, malformed, unread := readEvents(http.MaxBytesReader(w, r.Body, maxBody))
	err := unread
	if err == nil {
		err = s.take(keys)
	}
	s.metrics.requests.Add(1)
	s.metrics.malformed.Add(uint64(malformed))
	answer := struct {
		Taken     int    `json:"taken"`
		Malformed int    `json:"malformed"`
		Error     string `json:"error,omitempty"`
	}{len(keys), malformed, ""}
	status := http.StatusOK
	if err != nil {
		answer.Taken = 0
		s.metrics.refused.Add(1)
		var tooLarge *http.MaxBytesError
		switch {
		case errors.Is(err, budget.ErrBudget):
			status, answer.Error = http.StatusForbidden, "the privacy budget is spent"
		case errors.Is(err, errClosed):
			status, answer.Error = http.StatusServiceUnavailable, errClosed.Error()
		case errors.As(err, &tooLarge):
			status, answer.Error = http.StatusRequestEntityTooLarge, "the body is too large: send less at a time"
		case unread != nil:
			status, answer.Error = http.StatusBadRequest, "the body cannot be read to its end, or a line is too long"
		default: // a full disk, say
			status, answer.Error = http.StatusInternalServerError, "no window is open"
		}
	}
	writeJSON(w, status, answer)
}

func (s *service) getReleases(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, struct {
		Windows []uint64 `json:"windows"`
	}{s.archive.numbers()})
}

// row is a released key in JSON. A bound that is infinite is null.
type row struct {
	Key      string   `json:"key"`
	Estimate float64  `json:"estimate"`
	Low      float64  `json:"low"`
	High     *float64 `json:"high"`
}

func (s *service) getRelease(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.ParseUint(r.PathValue("number"), 10, 64)
	h := s.archive.get(number)
	if err != nil || h == nil {
		writeJSON(w, http.StatusNotFound, map[string]string{"error": "no such release"})
		return
	}
	if strings.Contains(r.Header.Get("Accept"), encoded) {
		data, err := h.MarshalBinary()
		if err != nil {
			writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
			return
		}
		w.Header().Set("Content-Type", encoded)
		_, _ = w.Write(data) // the client may be gone
		return
	}
	writeJSON(w, http.StatusOK, struct {
		Window     uint64  `json:"window"`
		Guarantee  string  `json:"guarantee"`
		Threshold  float64 `json:"threshold"`
		Confidence float64 `json:"confidence"`
		Keys       []row   `json:"keys"`
	}{number, h.Guarantee().String(), h.Threshold(), confidence, rows(h)})
}

// rows lists the released keys, in their order.
func rows(h *misragries.Histogram[string]) []row {
	list := []row{}
	for key, estimate := range h.All() {
		low, high := h.Interval(key, confidence)
		r := row{Key: key, Estimate: estimate, Low: low}
		if high <= 1<<62 {
			r.High = &high
		}
		list = append(list, r)
	}
	return list
}

func (s *service) getBudget(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]string{"spent": s.ledger.Load().Spent().String(), "remaining": s.ledger.Load().Remaining().String()})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
