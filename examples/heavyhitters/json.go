package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// writeJSON prints the release as JSON, one object a line: first its public facts, then each key,
// the most frequent first. A bound that is infinite is null. Keys are written as by the JSON of the
// release: see textOf.
func (r *report) writeJSON(out io.Writer) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	p := r.hist.Params()
	if err := enc.Encode(struct {
		Epsilon        float64  `json:"epsilon"`
		Delta          float64  `json:"delta"`
		Counters       int      `json:"counters"`
		Guarantee      string   `json:"guarantee"`
		Threshold      float64  `json:"threshold"`
		Confidence     float64  `json:"confidence"`
		DetectionLimit *float64 `json:"detection_limit"`
		Keys           int      `json:"keys"`
	}{
		p.Epsilon, p.Delta, p.Counters, r.hist.Guarantee().String(), r.plan.Threshold,
		r.opts.confidence, finite(r.hist.DetectionLimit(r.opts.confidence)), len(r.rows),
	}); err != nil {
		return err
	}
	for _, w := range r.rows {
		if err := enc.Encode(struct {
			Key      string   `json:"key"`
			Estimate float64  `json:"estimate"`
			Lo       *float64 `json:"lo"`
			Hi       *float64 `json:"hi"`
		}{textOf(w.key), w.estimate, finite(w.lo), finite(w.hi)}); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns a key as JSON can hold it: one that is not UTF-8, or that begins with \x, as \x
// and its bytes in hexadecimal digits, so that different keys stay apart.
func textOf(key string) string {
	if utf8.ValidString(key) && !strings.HasPrefix(key, `\x`) {
		return key
	}
	return fmt.Sprintf(`\x%x`, key)
}

// finite returns x as encoding/json can print it.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}
