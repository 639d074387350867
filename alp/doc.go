// Package alp releases a huge sparse vector as a small table from which every entry can be
// estimated, with an error near that of Laplace noise on that entry alone, under ε- or (ε,
// δ)-differential privacy.
//
// It answers: what is the value of entry i, for any i of up to 2⁶⁴, large, small or zero; a hundred
// bits for each non-zero entry, one or two cache lines for a lookup. Say Epsilon, Delta (or Dim,
// without δ) and Sparsity, the number of non-zero entries; the rest is chosen.
//
// If only the large entries matter, package threshold lists them. A stream that does not fit into
// memory is for package misragries. A vector of few coordinates, or a dense one, takes noise from
// package noise, or threshold's DenseLaplace.
//
// # Model
//
// The input is x with few non-zero entries, real or integer, ≥ 0 or of both signs. Neighbours are
// vectors with ‖x − x′‖₁ ≤ Δ ([budget.L1]), whatever the number of entries that differ: the unit is
// the list of all values that are added, and Δ = 1 protects what somebody contributes only if that
// is at most 1 in total. Params and hash functions are public, and chosen without regard to the
// data.
//
// # The structure
//
// Columns: column j holds, in the cell that an entry's index is hashed to, the largest clamp(x −
// jW, 0, W) of the cell's entries, plus noise like Laplace(Δ/ε), quantised to Q levels. Cells
// without entries are drawn the same way. A list, made by package threshold, has the large entries.
// The members of the family:
//
//	Levels 2                     S-shaped unary code, p = ½e^{−α/2}
//	Levels 2, Integers           the ladder; with a width of 1, Algorithm 10
//	Linear                       the thesis's ALP, p = 1/(α+2): Algorithms 2 to 5
//	Columns 1                    the Max-projection, Algorithm 11
//	SplitAxis (default)          list and column share ε along the axis of values: combined.go
//	Composition                  list with ε₁, columns with ε₂: Algorithms 7 and 8
//	Signed, TwoVectors           sections 2.10 and 2.2
//	Base                         logarithmic columns, section 2.6
//	SparsityShare, Norm          unknown sparsity, section 2.10
//
// # Guarantee
//
// As [Params.Guarantee] says, and on the machine as on paper: values go to a grid, a power of two,
// before they are summed; sums are integers that saturate; the law of each cell is a table of
// multiples of 2⁻⁶⁴ whose neighbouring ratios are at most e^η by construction, and is drawn
// exactly. Theorem 1 (code.go) is the columns' privacy, Theorem 2 (combined_proof.md) that of
// columns and list, and shape.go has the proof for real values.
//
// A listed key keeps no cell in the columns that its value in the list says are full; Theorem 2
// covers that, as the list is drawn first.
//
// # Accuracy
//
// Measured, in units of Δ/ε. Columns alone, values uniform up to 40 and all other entries large:
// the mean absolute error with a uniform prior, and with the default one, which has half of its
// weight at 0, where most indices are:
//
//	bits an entry     100    300    1000
//	uniform prior     1.80   1.33   1.12
//	default           1.89   1.44   1.21
//
// The default structure with 100 bits an entry, at ε = 1 and δ = 1e-6, if all others are listed:
// 1.62 for small entries, 0.16 for zeros, 1.00 for listed ones, as Laplace noise on one entry has;
// the thesis's mechanism has 4.5 at the same bits. If all others are unlisted or at the border of
// the list, small ones have 1.6 to 2.4 and zeros 0.5 to 1.7. With more entries than Sparsity there
// are more collisions, so the error grows; privacy does not change. [Params.Plan] predicts it.
//
// # Cost
//
// The table takes Bits·Sparsity bits, log₂Q for each cell, and the encoding a header and the list
// besides. Add is one look into a hash table. Release draws 10⁸ to 10⁹ empty cells a second and
// takes about 1 µs for each entry. A lookup takes 30 to 70 ns while table and list lie in a fast
// cache, 150 to 400 ns from memory, and does not allocate.
//
// # Not covered
//
// Timing, and whoever reads the memory of the process. A Builder is for one goroutine.
//
// Sources: chapter 2 of Lebeda, Differentially Private Release of Sparse and Skewed Data (ITU
// 2023), which is Aumüller, Lebeda, Pagh, Representing Sparse Vectors with Differential Privacy,
// Low Error, Optimal Space, and Fast Access (JPC 2022, doi 10.29012/jpc.809). Quantised columns,
// S-shaped rounding and the split of the axis are this package's.
package alp
