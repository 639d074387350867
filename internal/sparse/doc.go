// Package sparse is the mechanism of sparse vectors: calibration, noise, thresholds, and the
// released vector with its encoding. Package threshold is its public face; packages misragries and
// alp release their counters and their large entries by it.
//
// The proofs are in the files *_proof.md: of Theorems 1 and 2 in internal/rounding, of the others
// here.
package sparse
