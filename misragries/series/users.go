package series

import (
	"maps"
	"strings"
)

// visits are the last elements that a user was given with, whether they count or not: MaxElements
// at most, by step, the latest last.
type visits []visit

type visit struct{ step, elements int }

// since returns those from a step on.
func (v visits) since(step int) visits {
	for len(v) > 0 && v[0].step < step {
		v = v[1:]
	}
	return v
}

// elements returns how many there are.
func (v visits) elements() (n int) {
	for _, x := range v {
		n += x.elements
	}
	return n
}

// with returns the last most of v and n > 0 elements more in a step. It changes v.
func (v visits) with(step, n, most int) visits {
	n = min(n, most)
	if last := len(v) - 1; last >= 0 && v[last].step == step {
		n = min(n+v[last].elements, most)
		v = v[:last]
	}
	v = append(v, visit{step, n})
	for more := v.elements() - most; more > 0; {
		gone := min(more, v[0].elements)
		if v[0].elements -= gone; v[0].elements == 0 {
			v = v[1:]
		}
		more -= gone
	}
	return v
}

// admit returns how many of n more elements of a user count, and notes that they came. An element
// counts if fewer than MaxElements came before it in the last steps. Whether the earlier ones count
// does not matter: what a user did in some steps would else change what counts of him for ever.
// series_proof.md has the proof that it changes what counts by twice MaxElements at most.
func (s *state[K]) admit(user string, n int) int {
	most := s.params.MaxElements
	if most == 0 || n == 0 {
		return n
	}
	v := s.users[user]
	if v == nil {
		v = new(visits)
		s.users[strings.Clone(user)] = v
	}
	*v = v.since(s.recent())
	before := v.elements()
	*v = v.with(s.steps, n, most)
	return min(n, most-before)
}

// recent returns the first of the steps whose elements decide which ones count in the open step.
func (s *state[K]) recent() int { return s.steps - s.params.longest() + 1 }

// forgetUsers forgets those who were not here in these steps.
func (s *state[K]) forgetUsers() {
	maps.DeleteFunc(s.users, func(_ string, v *visits) bool { return len(v.since(s.recent())) == 0 })
}
