package main

import (
	"math/rand/v2"

	"github.com/dpsketch/dpsketch/misragries"
)

// counted counts keys as so many servers would, of which one is trusted to add their sketches up.
type counted struct {
	params   misragries.Params
	builders []*misragries.Builder[string]
}

func newStream(opts *options) (*counted, error) {
	s := &counted{params: opts.params}
	for range opts.servers {
		b, err := misragries.New[string](s.params)
		if err != nil {
			return nil, err
		}
		s.builders = append(s.builders, b)
	}
	return s, nil
}

// Add counts a key on one of the servers, at random: which one must not depend on other keys.
func (s *counted) Add(key string) {
	s.builders[rand.IntN(len(s.builders))].Add(key)
}

// Release releases the one sketch, or the sum of all, and tells what that needs.
func (s *counted) Release() (*misragries.Histogram[string], misragries.Row, int, error) {
	plan, err := s.params.Plan(len(s.builders))
	if err != nil {
		return nil, misragries.Row{}, 0, err
	}
	row, bytes := plan.Rows[0], plan.Bytes
	if len(s.builders) == 1 {
		h, err := s.builders[0].Release()
		return h, row, bytes, err
	}
	sum, err := misragries.NewSum[string](s.params)
	if err != nil {
		return nil, row, 0, err
	}
	for _, b := range s.builders {
		if err := sum.Add(b); err != nil {
			return nil, row, 0, err
		}
	}
	h, err := sum.Release()
	return h, row, bytes, err
}
