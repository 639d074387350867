// Package ranges sums the values that users have in keys which are already public, where nobody
// knows how large a value is. It learns one scale for each key and one radius for all users, and
// clips the vector of a user's values to that radius.
//
// Four steps follow each other, each with normal noise on an integer vector that one user, added or
// removed, moves by at most a known ℓ₂ distance (ranges_proof.md). With U the noise for a distance
// of 1 that the whole would have, step t with share f of the budget has noise Δ·U/√f:
//
//	A  magnitudes counts of the user's values by half octave, shortened to 1      Δ = 1    f = .02
//	B  scales     min(1, 2/√l)·(half octave from the middle), in each of l keys   Δ = 2H   f = .08
//	C  radius     one count in the half octave of ‖z‖₂, z = v/a − 1               Δ = 1    f = .08
//	D  sums       z, clipped by level to ‖·‖₂ ≤ R                                 Δ = R    f = .82
//
// The middle and H ≤ 12 come from A, the scales a from B, R from C: they are public when they are
// used. Together the steps are one Gaussian mechanism of noise U.
package ranges
