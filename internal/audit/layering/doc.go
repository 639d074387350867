// Package layering holds no code, only tests. One keeps the packages of this module in their
// layers:
//
//	examples/*  and the benchmarks of the root        import anything public; nothing imports them
//	alp  threshold  misragries  kor  jl  arete  elliptical  plan
//	     └ threshold/groupby        └ kor/distinct    └ elliptical/column  └ plan/thesis
//	                  └ misragries/series
//	internal/quantile   internal/sparse               engines that draw noise
//	noise   hashing                                   neither imports the other
//	internal/...                                      small helpers
//
// One mechanism imports another only where its paper does; the table in the test lists these edges,
// each with its theorem. What the tests of the examples share is imported by tests only.
//
// Another reads all comments: a line has at most 100 columns, or 80 at an exported field, and a
// proof of more than 15 lines is in a file of its own.
package layering
