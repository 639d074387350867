package main

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/threshold/groupby"
)

const (
	maxBody = 4 << 20
	encoded = "application/octet-stream"
)

// buffers hold a request while it is read. Later requests use them again.
type buffers struct {
	body   bytes.Buffer
	record []byte
}

// handler serves events and what is published.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /events", s.postEvents)
	mux.HandleFunc("GET /windows/{steps}", s.getLast)
	mux.HandleFunc("GET /windows/{from}/{to}", s.getWindow)
	mux.HandleFunc("GET /slices/{step}", s.getSlice)
	mux.HandleFunc("GET /users", s.getUsers)
	mux.HandleFunc("GET /reports", s.getLastReport)
	mux.HandleFunc("GET /reports/{day}", s.getReport)
	mux.HandleFunc("GET /budget", s.getBudget)
	mux.HandleFunc("GET /{$}", s.published.getPage)
	return mux
}

// postEvents takes all events of a request, or none. The status is 413 for a body that is too
// large, 400 for one that cannot be read or in which no line is an event, and 503 when the service
// stops: then the events may be taken or not. The answer does not say how many events count, as
// that depends on what else the users did.
func (s *service) postEvents(w http.ResponseWriter, r *http.Request) {
	answer := struct {
		Taken     int    `json:"taken"`
		Malformed int    `json:"malformed"`
		Error     string `json:"error,omitempty"`
	}{}
	status := http.StatusOK
	b := s.buffers.Get().(*buffers)
	b.body.Reset()
	_, err := b.body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		status, answer.Error = http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is too large: send at most %d bytes at a time", maxBody)
	case err != nil:
		status, answer.Error = http.StatusBadRequest, "the body cannot be read to its end"
	default:
		b.record, answer.Taken, answer.Malformed = appendEvents(b.record[:0], b.body.Bytes(), s.head.valued())
		if answer.Taken > 0 {
			err = s.send(b.record)
		} else if answer.Malformed > 0 {
			number, line := firstLine(b.body.Bytes())
			status, answer.Error = http.StatusBadRequest, fmt.Sprintf("no line is an event such as %s: the first bad one is line %d, %s", s.head.sample(), number, line)
		}
		if err != nil {
			status, answer.Taken, answer.Error = http.StatusServiceUnavailable, 0, err.Error()
		}
	}
	if status != http.StatusServiceUnavailable { // run may still read the record
		s.buffers.Put(b)
	}
	s.metrics.requests.WithLabelValues(strconv.Itoa(status)).Inc()
	s.metrics.malformed.Add(float64(answer.Malformed))
	writeJSON(w, status, answer)
}

// getLast serves the window of the last steps.
func (s *service) getLast(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("steps"))
	if err != nil || n < 1 {
		notFound(w)
		return
	}
	to := s.published.steps()
	s.writeWindow(w, max(to-n, s.published.first()), to)
}

func (s *service) getWindow(w http.ResponseWriter, r *http.Request) {
	from, err := strconv.Atoi(r.PathValue("from"))
	to, err2 := strconv.Atoi(r.PathValue("to"))
	if errors.Join(err, err2) != nil {
		notFound(w)
		return
	}
	s.writeWindow(w, from, to)
}

func (s *service) writeWindow(w http.ResponseWriter, from, to int) {
	window, err := s.published.window(from, to)
	if err != nil {
		notFound(w)
		return
	}
	writeJSON(w, http.StatusOK, struct {
		From       int       `json:"from"` // the first step
		To         int       `json:"to"`   // the step after the last one
		Begin      time.Time `json:"begin"`
		End        time.Time `json:"end"`
		Guarantee  string    `json:"guarantee"`
		Confidence float64   `json:"confidence"`
		Keys       []row     `json:"keys"`
	}{from, to, s.head.end(from), s.head.end(to), window.Guarantee().String(), confidence, rows(window, window.Len())})
}

// getSlice serves a slice as it was published, the same bytes for ever.
func (s *service) getSlice(w http.ResponseWriter, r *http.Request) {
	step, err := strconv.Atoi(r.PathValue("step"))
	if err != nil {
		notFound(w)
		return
	}
	slice := new(series.Slice[string])
	if s.writeReleased(w, r, slicesBucket, step, slice) {
		writeJSON(w, http.StatusOK, slice)
	}
}

// getLastReport serves the report of the last day.
func (s *service) getLastReport(w http.ResponseWriter, _ *http.Request) {
	last := s.published.lastReport()
	if last == nil {
		notFound(w)
		return
	}
	writeJSON(w, http.StatusOK, last)
}

// getReport serves the report of a day as it was published, the same bytes for ever.
func (s *service) getReport(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("day"))
	if err != nil || n < 0 || n > s.published.steps()/day {
		notFound(w)
		return
	}
	groups := new(groupby.Groups[string])
	if s.writeReleased(w, r, reportsBucket, (n+1)*day-1, groups) {
		writeJSON(w, http.StatusOK, s.published.describeReport((n+1)*day, groups))
	}
}

// writeReleased writes what a step has released, encoded, if the client accepts that. Else it
// decodes it into v and returns true, so that the caller answers.
func (s *service) writeReleased(w http.ResponseWriter, r *http.Request, bucket []byte, step int, v encoding.BinaryUnmarshaler) bool {
	// the store may have steps that are not published yet
	if step < 0 || step >= s.published.steps() {
		notFound(w)
		return false
	}
	data, err := s.store.released(bucket, step)
	if err != nil || data == nil {
		notFound(w)
		return false
	}
	if strings.Contains(r.Header.Get("Accept"), encoded) {
		w.Header().Set("Content-Type", encoded)
		_, _ = w.Write(data) // the client may be gone
		return false
	}
	if err := v.UnmarshalBinary(data); err != nil {
		notFound(w)
		return false
	}
	return true
}

func (s *service) getUsers(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"confidence": confidence, "users": s.published.visitors()})
}

func (s *service) getBudget(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, s.ledger)
}

func notFound(w http.ResponseWriter) {
	writeJSON(w, http.StatusNotFound, map[string]string{"error": "nothing is published there"})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
