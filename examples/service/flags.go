package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// flagsOf returns the flags with which a series was begun, as far as they decide what it is.
func flagsOf(h head, l *budget.Ledger) config {
	epsilon, delta := l.Budget()
	c := config{step: h.Step, epsilon: epsilon, delta: delta, elements: h.Keys.MaxElements, known: h.Keys.MaxKnown, counters: h.Keys.Counters, min: h.Reports.Min, max: h.Reports.Max}
	if h.Reports.Epsilon > 0 {
		c.reports = math.Round((1-h.Keys.Delta/delta)*1e12) / 1e12
	}
	return c
}

// differences says which flags are not those of a series, and both values of each; "" if none.
func (c config) differences(of config) string {
	var list []string
	differ := func(flag string, here, there any, differs bool) {
		if differs {
			list = append(list, fmt.Sprintf("-%s is %v, and the store has %v", flag, here, there))
		}
	}
	number := func(flag string, here, there float64) {
		differ(flag, here, there, math.Abs(here-there) > 1e-9*math.Abs(there))
	}
	differ("step", c.step, of.step, c.step != of.step)
	number("epsilon", c.epsilon, of.epsilon)
	number("delta", c.delta, of.delta)
	differ("elements", c.elements, of.elements, c.elements != of.elements)
	number("reports", c.reports, of.reports)
	number("min", c.min, of.min)
	number("max", c.max, of.max)
	differ("keys", c.known, of.known, c.known != of.known)
	differ("counters", c.counters, of.counters, c.counters != of.counters)
	return strings.Join(list, "; ")
}

// another returns the error for a store that has a series of other flags, or of another version.
func (c config) another(h head, l *budget.Ledger) error {
	const advice = "take its flags, or another file and another budget"
	if text := c.differences(flagsOf(h, l)); text != "" {
		return fmt.Errorf("%s holds another series: %s: %s", c.store, text, advice)
	}
	return fmt.Errorf("%s holds a series of another version of this program, with other noise: go on with that version, or take another file and another budget", c.store)
}
