// Package vectors holds no code, only numbers and encodings that a second implementation has made,
// and the test that compares the library with them.
//
//	laws.json          masses and tails of the laws of noise, flip probabilities
//	calibrations.json  scales, thresholds and δ, down to δ = 1e-300
//	compositions.json  δ of what several releases promise together
//	sums.json          δ of sums of sketches, which misragries/internal/thresholds compares
//	encodings.json     encodings to be read, with what they hold, and encodings to be rejected
//
// The first four have the form numbers.schema.json, the last has encodings.schema.json.
// generate.py writes them with Python's standard library alone and shares no code with the library;
// with -check it compares. The encodings come from the golden files: after a change of one, run it
// again.
package vectors
