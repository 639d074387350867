package alp

import (
	"math"
	"slices"
)

// How the prior of a batch is learned: see read_all.go.

const (
	aloneRounds = 300     // of learning from each candidate by itself, where they show few outputs
	aloneWork   = 1 << 26 // products in these rounds, about, where they show many
	aloneGain   = 3       // of a log likelihood that tells two priors apart
)

// learnAlone learns the prior from the candidates that are not listed, each by itself: the others
// in its cells follow the ground. What an entry tells depends on the outputs of its cells alone, so
// those that show the same are counted together, and there is time for many rounds of expectation
// maximisation.
//
// Small values look like zeros, so that many shares of zeros may be about as likely. From a start
// with nearly no zeros the rounds end at a small share, from one with nearly nothing else at a
// large one. The prior is the likelier of both if the data tell them apart, else their mean.
func (j *joint) learnAlone(p *Projection, order []asked, first []float64) {
	var seen []outcome
	find, n := map[string]int{}, 0.0
	messages := j.messagesOfGround()
	for k := range order {
		if order[k].value != 0 {
			continue
		}
		outputs := j.load(p, order[k:k+1])[0].outputs
		at, ok := find[string(outputs)]
		if !ok {
			at = len(seen)
			find[string(outputs)] = at
			seen = append(seen, outcome{likelihood: j.likelihood(messages, outputs)})
		}
		seen[at].entries++
		n++
	}
	few, logFew := j.maximise(seen, first, n, 0.01)
	many, logMany := j.maximise(seen, first, n, 0.99)
	for s := range j.prior {
		switch {
		case logFew > logMany+aloneGain:
			j.prior[s] = few[s]
		case logMany > logFew+aloneGain:
			j.prior[s] = many[s]
		default:
			j.prior[s] = (few[s] + many[s]) / 2
		}
	}
}

// outcome is what some entries have in common: outputs of their cells.
type outcome struct {
	entries    float64
	likelihood []float64 // of the states
}

// maximise returns the prior of n entries after rounds of expectation maximisation from a share of
// zeros, and the logarithm of its likelihood.
func (j *joint) maximise(seen []outcome, first []float64, n, zero float64) (prior []float64, log float64) {
	for s := range j.prior {
		j.prior[s] = first[s] * (1 - zero) / (1 - first[0])
	}
	j.prior[0] = zero
	believed := make([]float64, len(first))
	for range min(max(aloneWork/(len(seen)*len(first)+1), jointRounds), aloneRounds) {
		log = 0
		clear(believed)
		for _, o := range seen {
			total := 0.0
			for s, l := range o.likelihood {
				total += j.prior[s] * l
			}
			log += o.entries * math.Log(total)
			for s, l := range o.likelihood {
				believed[s] += o.entries / total * j.prior[s] * l
			}
		}
		j.learn(first, believed, n)
	}
	return slices.Clone(j.prior), log
}

// learn sets the prior to the mean belief of n candidates that are not listed: of its share of
// zeros, with one entry at 0 and one elsewhere, and of the law of the others, with some entries of
// the first prior's.
func (j *joint) learn(first, believed []float64, n float64) {
	zero := (believed[0] + 0.5) / (n + 1)
	others := n - believed[0] + jointPseudo
	j.prior[0] = zero
	for s := 1; s < len(first); s++ {
		j.prior[s] = (1 - zero) / others * (believed[s] + jointPseudo*first[s]/(1-first[0]))
	}
}
