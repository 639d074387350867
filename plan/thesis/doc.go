// Package thesis releases means by the mechanisms that package plan is compared with: Algorithm 17
// of the thesis as published, and instance-optimal mean estimation. It releases a [plan.Mean]. Use
// it only for comparisons, and package plan for everything else.
//
//	m, err := thesis.New(thesis.Params{Rho: 0.5, Dim: 100, Max: 1000, Instance: thesis.IOME})
//	if err != nil {
//		log.Fatal(err)
//	}
//	mean, err := m.Release(ctx, rows)
//
// # Guarantee
//
// A release is ρ-zCDP for one row added or removed, or replaced, as in package plan: quantiles,
// clipped sums and their noise are the same code. Unlike in the scripts behind the published
// tables, the quantiles spend exactly their stated share.
//
// # Accuracy
//
// Package plan has 0.3 to 0.9 of the error of these mechanisms on the data of the thesis
// (examples/evidence). [plan.Mean.NoiseInterval] covers the noise alone. The clipped mean is not
// divided by γ, so [plan.Mean.IntervalBounded] is the whole public range.
//
// # Choosing
//
// [Algorithm18] is Algorithm 17 with the scales that the thesis uses for the kind of data at hand.
// [Pairs], [Direct] and [Means] select one of its estimators of scales. [IOME] is the mechanism of
// Huang, Liang and Yi, which the thesis compares with its own. [Steps] and [Shares] change single
// steps.
//
// # Cost
//
// As package plan. IOME rotates the rows, and takes 2 to 5 times as long for dense rows; sparse
// ones become dense.
//
// Sources: Lebeda, Differentially Private Release of Sparse and Skewed Data, ITU 2023, chapter 5;
// Huang, Liang, Yi, Instance-optimal Mean Estimation Under Differential Privacy, NeurIPS 2021.
package thesis
