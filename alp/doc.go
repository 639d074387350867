// Package alp releases a huge sparse vector as a small table from which anyone can estimate every
// entry, large, small or zero, under ε- or (ε, δ)-differential privacy.
//
//	b, err := alp.New(alp.Params{Epsilon: 1, Delta: 1e-6, Sparsity: 100_000})
//	if err != nil {
//		log.Fatal(err)
//	}
//	b.Add(index, value) // for each value; values of one index are summed
//	p, err := b.Release()
//	if err != nil {
//		log.Fatal(err)
//	}
//	x := p.Estimate(index) // p.Estimates(indices, nil), p.Interval(index, 0.95)
//
// The error is near that of Laplace noise on that entry alone. Use package threshold if only large
// entries matter, or the vector is dense; package misragries if the data do not fit into memory.
//
// # Model
//
// The input is a vector x with few non-zero entries, real or integer. Neighbours are vectors with
// ‖x − x′‖₁ ≤ Δ = Sensitivity ([budget.L1]): Δ = 1 protects a person whose values sum to at most 1,
// over all entries. Params and hash functions are public, and chosen without the data.
//
// # The structure
//
// Columns: column j holds, in the cell that an entry's index is hashed to, the largest clamp(x −
// jW, 0, W) of the cell's entries, plus noise like Laplace(Δ/ε), quantised to Q levels. Cells
// without entries are drawn the same way. A list, made by package threshold, has the large entries.
// List and columns share ε along the axis of values (SplitAxis) or split it (Composition,
// Algorithms 7 and 8). [Variant] has the thesis' Algorithms 2 to 5, 10 and 11.
//
// Private data is in builder.go and write_*.go alone. What reads the table, read_*.go, sees only
// the table, the list and public numbers.
//
// # Guarantee
//
// [Params.Guarantee] holds for the floating-point implementation. Values go to a grid, a power of
// two, before they are summed; sums are integers that saturate; the law of each cell is a table of
// multiples of 2⁻⁶⁴ whose neighbouring ratios are at most e^η by construction, and is drawn
// exactly. Theorem 1 (write_code.go) is the columns' privacy, Theorem 2 (combined_proof.md) that of
// columns and list, and write_budget.go has the proof for real values.
//
// # Accuracy
//
// Measured, in units of Δ/ε. Columns alone, values uniform up to 40 and all other entries large:
// the mean absolute error with a uniform prior, and with the default one, which has half of its
// weight at 0, where most indices are:
//
//	bits an entry     100    300    1000
//	uniform prior     1.48   1.17   1.07
//	default           1.55   1.28   1.17
//
// The default structure at ε = 1 and δ = 1e-6, by what the other entries are: unlisted entries, and
// zeros. Listed ones have 1.00, as Laplace noise on one entry has; the thesis's mechanism has 4.5.
//
//	bits an entry         24           36           68          100
//	uniform up to 40   2.1, 1.4     2.0, 0.9     1.8, 0.6    1.8, 0.5
//	all listed         1.7, 0.3     1.8, 0.3     1.8, 0.2    1.8, 0.2
//	all just below the
//	list, at 39        9.0, 2.0     3.1, 1.6     1.8, 0.9    1.5, 0.8
//
// [Params.Plan] says it for values like yours. Signed has more error at every load. With more
// entries than Sparsity the error grows; privacy does not change.
//
// # Cost
//
// The table takes Bits·Sparsity bits on average: a bit for each cell, and the levels of the few
// that do not show 0. How many these are says no more of the data than the table does.
//
// Release takes about ½ µs for each entry, a lookup 20 to 30 ns in the caches and 300 ns beyond,
// there a third of that by Estimates.
//
// # Not covered
//
// Timing, and anyone who reads the memory of the process.
//
// Sources: chapter 2 of Lebeda's thesis (ITU 2023), which is Aumüller, Lebeda, Pagh (JPC 2022, doi
// 10.29012/jpc.809). Quantised columns and the split of the axis are this package's.
package alp
