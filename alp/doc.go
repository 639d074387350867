// Package alp releases a huge sparse vector as a small table from which anyone can estimate every
// entry, large, small or zero, under ε- or (ε, δ)-differential privacy.
//
//	b, err := alp.New(alp.Params{Epsilon: 1, Delta: 1e-6, Sparsity: 100_000})
//	b.Add(index, value) // for each value; values of one index are summed
//	p, err := b.Release()
//	x := p.Estimate(index) // p.Estimates(indices, nil), p.Interval(index, 0.95)
//
// The error of an entry is near that of Laplace noise added to this entry alone. NaN adds nothing.
// An interval contains the true value of any one index fixed before the release, whatever it is,
// with at least the given confidence.
//
// # Guarantee
//
// The input is a vector x with few non-zero entries, real or integer. Neighbours are vectors with
// ‖x − x′‖₁ ≤ Δ = Sensitivity ([budget.L1]): Δ = 1 protects a person whose values sum to at most 1,
// over all entries. Params and hash functions are public, and must not depend on the data.
//
// [Params.Guarantee] holds for the floating-point implementation. Values are put on a grid before
// they are summed, sums are integers that saturate, and cells are drawn exactly. Theorem 1
// (cell.go) proves the privacy of the columns, Theorem 2 (combined_proof.md) that of columns and
// list, and budget.go treats real values.
//
// # Accuracy
//
// All errors are measured mean absolute errors in units of Δ/ε. With columns only, for values that
// are uniform up to 40 when all other entries are large (the default prior gives half of its weight
// to 0, as most indices have no entry):
//
//	bits per entry    100    300    1000
//	uniform prior     1.48   1.17   1.07
//	default           1.55   1.28   1.17
//
// With the default structure at ε = 1, δ = 1e-6 the error depends on what the other entries are.
// Each pair is the error of an unlisted entry and of a zero. A listed entry has 1.00, as if it had
// Laplace noise alone; with the thesis's mechanism it has 4.5.
//
//	bits per entry        24           36           68          100
//	uniform up to 40   2.1, 1.4     2.0, 0.9     1.8, 0.6    1.8, 0.5
//	all listed         1.7, 0.3     1.8, 0.3     1.8, 0.2    1.8, 0.2
//	all just below the
//	list, at 39        9.0, 2.0     3.1, 1.6     1.8, 0.9    1.5, 0.8
//
// [Params.Plan] predicts the error for values like yours. Signed has more error at every load. With
// more entries than Sparsity the error grows; privacy does not change.
//
// # Choosing
//
// Use package threshold if only large entries matter, or if the vector is dense. Use package
// misragries if the data do not fit into memory.
//
// # Cost
//
// The table takes Bits·Sparsity bits on average: one bit per cell, and the levels of the few cells
// that do not show 0. Its length reveals no more about the data than the table itself. Release
// takes about ¼ µs per entry, and Add 50 ns; a Builder holds 20 bytes per index. A lookup takes 20
// to 30 ns within the caches and 300 ns beyond them; Estimates takes a third of that.
//
// # How it works
//
// Every entry has one cell in each column, chosen by a hash of its index. The cell in column j
// holds the largest clamp(x − jW, 0, W) of its entries, plus noise like Laplace(Δ/ε), quantised to
// Q levels. Cells without entries are drawn the same way. A list, made by package threshold, has
// the large entries. List and columns share ε along the axis of values (SplitAxis) or split it
// (Composition, Algorithms 7 and 8). [Variant] has the thesis's Algorithms 2 to 5, 10 and 11.
//
// Only builder.go, table.go and sparsity.go see private data.
//
// # Not covered
//
// Timing, and anyone who reads the memory of the process.
//
// Sources: chapter 2 of Lebeda's thesis (ITU 2023), which is Aumüller, Lebeda, Pagh (JPC 2022, doi
// 10.29012/jpc.809). Quantised columns and the split of the axis are this package's.
package alp
