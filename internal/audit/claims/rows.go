package main

// row is one claim. Functions are package.Function or package.Type.Method, tests package.Test,
// edits of internal/audit/mutation the package's directory and their names; several are separated
// by spaces, names of edits by semicolons.
type row struct {
	claim   string
	about   string // exported functions and methods that make it
	theorem string // the paper with what was corrected, or what the own proof says
	proof   string // file of the proof: own, or the code's file where its comment is the proof
	code    string // functions that the claim rests on
	exact   string // tests against exact laws or formulas
	audit   string // tests that sample releases
	edits   string // what breaks it
}

var rows = []row{
	{
		claim:   "A sketch of one stream, and counters from elsewhere, are (ε, δ)-private for one element, with the least threshold there is",
		about:   "misragries.Builder.Release misragries.base.Guarantee misragries.Params.Guarantee misragries.Histogram.Guarantee",
		theorem: "Lebeda and Tětek, TODS 2025, Algorithm 2 and section 5.1; Lemma 11's threshold is not tight: δ is exactly Pr[max(1+η+L₁, η+L₂) ≥ τ]",
		proof:   "misragries/internal/thresholds/keptzeros_proof.md", code: "misragries.releaseShared misragries/internal/thresholds.KeptThreshold misragries/internal/thresholds.KeptDelta",
		exact: "misragries.TestReleaseIsPrivateExactly misragries/internal/thresholds.TestDeltaIsItsDefinition misragries.TestStandardReleaseIsPrivateExactly",
		audit: "misragries.TestAudit misragries.TestAuditPaths", edits: "misragries: shared noise left out; own noise left out; the true number of decrements told",
	},
	{
		claim: "A sum of trimmed sketches is private with noise that does not grow with their number, and what each lost is told for nothing",
		about: "misragries.Sum.Release", theorem: "own: Theorem 2′, a private shift by the mean of the smallest counters, capped",
		proof: "misragries/internal/thresholds/trimmed_proof.md", code: "misragries.releaseRounded misragries/internal/thresholds.Trimmed misragries/internal/thresholds.Noise.TrimmedDelta misragries/internal/sketch.Sketch.Trimmed misragries/internal/sketch.smallest",
		exact: "misragries/internal/thresholds.TestTrimmedIsPrivateExactly misragries/internal/thresholds.TestTrimmedTable misragries/internal/sketch.TestTrimmedSensitivity",
		audit: "misragries.TestAuditPaths", edits: "misragries: the private shift left out; the cap of a trimmed sketch without noise; W of given counters told",
	},
	{
		claim: "A sum of reduced sketches is private with noise that does not grow with their number",
		about: "misragries.Sum.Release", theorem: "Lebeda and Tětek, Algorithm 3; Lemma 16's sign is wrong, the sensitivity is exactly (2k−1)/(k+1)",
		proof: "misragries/internal/thresholds/reduced.go", code: "misragries/internal/thresholds.Reduced misragries/internal/thresholds.Noise.l1LogDelta misragries/internal/thresholds.Noise.concentrationLogDelta misragries/internal/sketch.Reduced",
		exact: "misragries/internal/thresholds.TestL1BoundExactly misragries/internal/thresholds.TestConcentrationBoundExactly misragries/internal/sketch.TestReducedSensitivityExactly",
		audit: "misragries.TestAuditPaths", edits: "misragries: reduced: small values always rounded up; the length released for nothing",
	},
	{
		claim: "Users with up to m distinct keys are protected with noise that does not grow with m", about: "misragries.UserBuilder.Release",
		theorem: "Lebeda and Tětek, Algorithm 4 and Corollary 28; Theorem 23 needs that all changes have one sign", proof: "misragries/calibrate.go",
		code:  "misragries.UserBuilder.AddUser misragries/internal/sketch.Sketch.AddUser misragries.Params.vector misragries.calibration.use",
		exact: "misragries/internal/sketch.TestUserSketchOfAllShortNeighbours misragries.TestSparseVectorLaw misragries.TestUsersKeepAUniformChoice", audit: "misragries.TestAuditSparseVector",
		edits: "misragries: a user's keys not limited; a user's keys counted twice; users promised as elements",
	},
	{
		claim: "Over a universe of d keys the k largest noisy counts are purely ε-private, in the time of k keys", about: "misragries.Builder.Release",
		theorem: "Lebeda and Tětek, section 6; the draw is own: it has the law of the loop over all keys", proof: "misragries/universe.go",
		code:  "misragries.topOfUniverse misragries.universe.top misragries.Params.step noise.discreteLaplaceFormulas.mass",
		exact: "misragries.TestTopOfUniverseIsPrivateExactly misragries.TestPureReleaseOfMergedSketchesExactly misragries.TestTopOfUniverseFollowsItsLaw",
		audit: "misragries.TestAuditPaths", edits: "misragries: merged sketches reduced as one stream is",
	},
	{
		claim:   "Intervals and bounds of counts hold at their confidence, and a plan tells what a key needs",
		about:   "misragries.Histogram.Interval misragries.Histogram.DetectionLimit misragries.Histogram.HeavyHitters misragries.Histogram.Lower misragries.Combined.Interval misragries.Params.Plan",
		theorem: "Lebeda and Tětek, Theorem 14, with the exact law of the noise; W: own", proof: "misragries/histogram.go",
		code:  "misragries.Histogram.upper misragries.calibration.below misragries.calibration.needs misragries/internal/sketch.Sketch.Trimmed",
		exact: "misragries.TestReadingsHaveTheirNoise misragries.TestHidden95 misragries/internal/sketch.TestTrimmedEnclosesCounts", audit: "misragries.TestPromisesHoldAtTheirConfidence misragries.TestEveryPathKeepsItsPromises",
		edits: "misragries: an upper end without what is lost; W left out of the upper end; the noise of private shifts not told",
	},
	{
		claim: "Histograms read together are as private as the least private one where no element or user is in two streams",
		about: "misragries.Combined.Guarantee", theorem: "composition; disjoint streams: one element, added or removed, changes one of them",
		proof: "misragries/combine.go", code: "misragries.Combined.Guarantee noise/budget.Compose", exact: "misragries.TestCombine misragries.TestCombinedUnits",
		audit: "noise/budget.TestComposeNeverBelowRandomizedResponse", edits: "misragries: disjoint streams promised as the first",
	},
	{
		claim: "All steps of a series, also future ones and against adaptive streams, are (ε, δ)-private for one element, or for what one user has in any period",
		about: "misragries/series.Builder.Step misragries/series.Builder.AddFor misragries/series.Builder.Guarantee misragries/series.Params.Guarantee misragries/series.common.Guarantee " +
			"misragries/series.Params.Plan",
		theorem: "own: known keys in nodes of each span, unknown ones in discovery nodes", proof: "misragries/series/series_proof.md",
		code:  "misragries/series.state.step misragries/series.state.addFor misragries/series.Params.calibrate misragries/series.leastThreshold",
		exact: "misragries/series.TestExact misragries/series.TestUsersExact misragries/series.TestUserIsBounded misragries/series.TestElementsMove misragries/series.TestElementsExact misragries/series.TestMutantsExceed misragries/series.TestThresholds", audit: "misragries/series.TestSketchesAreAudited",
		edits: "misragries/series: the whole ε for each span; the whole δ for each discovery span; counts of known keys without noise",
	},
	{
		claim: "Intervals and standard errors of windows hold",
		about: "misragries/series.Window.Interval misragries/series.Window.Counted misragries/series.Plan.StdErr", theorem: "least squares over the published counts",
		proof: "misragries/series/series_proof.md", code: "misragries/series.Timeline.leastSquares misragries/series.leastSquares.value misragries/series.laplaceSum.beyond", exact: "misragries/series.TestFitIsLeastSquares misragries/series.TestStdErr misragries/series.TestLaplaceSum misragries/series.TestCountedIsOfQuantiles",
		audit: "misragries/series.TestCoverage misragries/series.TestCounted misragries/series.TestCountedFrom", edits: "misragries/series: keys of a node's last step get no correction",
	},
	{
		claim: "A sparse vector is (ε, δ)-private for its ℓ₁ distance or for one user, with exact thresholds for Laplace, Gaussian and correlated noise, or purely ε-private with Dim",
		about: "threshold.Builder.Release threshold.Builder.Guarantee threshold.Params.Guarantee threshold.Vector.Guarantee",
		theorem: "Lebeda, thesis, Algorithms 6 and 9 (kept is what the noisy value lets pass; t = ln(1/δ)/ε + 2 is loose); TODS, Theorem 23, and Karrer, Kifer, Wilkins and Zhang for Gaussian noise, made exact; " +
			"Lebeda, arXiv 2412.10357, for correlated noise",
		proof: "internal/sparse/laplace_proof.md", code: "internal/sparse.releaseLaplace internal/sparse.releaseNormal internal/sparse.Params.calibrateLaplace internal/sparse.calibrateGaussian internal/sparse.gaussianDelta " +
			"internal/sparse.calibrateCorrelated internal/sparse.correlatedDelta",
		exact: "internal/sparse.TestReleaseIsPrivateExactly internal/sparse.TestGaussianDeltaIsTheWorstPattern internal/sparse.TestCorrelatedDeltaBoundsEveryPattern internal/sparse.TestBesideIsPrivateExactly internal/sparse.TestCorrelatedDeltaWithANumberBeside",
		audit: "internal/sparse.TestAudit internal/sparse.TestAuditOfDelta", edits: "internal/sparse: noise of half the scale; rounding: threshold lower by one; false keys have no noise; plain threshold for one key of many; the number beside the keys without noise; the number beside the keys for nothing, by shared noise",
	},
	{
		claim: "Errors and intervals of a sparse vector hold", about: "threshold.Vector.Interval threshold.Vector.ErrorBound threshold.Plan.ErrorBound",
		theorem: "the exact law of the noise",
		proof:   "internal/sparse/release.go", code: "internal/sparse.Law.ErrorBound internal/sparse.calibration.reach internal/sparse.Vector.Interval",
		exact: "internal/sparse.TestErrorBound internal/sparse.TestInterval internal/sparse.TestBesideIsReleased", audit: "internal/sparse.TestIntervalCovers internal/sparse.TestIntervalsFailForOtherNoise",
		edits: "internal/sparse: intervals for one tail of the noise",
	},
	{
		claim: "Rounding of values below R costs no more than δ", about: "threshold.Builder.Release misragries.Sum.Release", theorem: "own: exponential rounding; linear rounding as in the thesis",
		proof: "internal/rounding/rounding_proof.md", code: "internal/rounding.Kernel.Show internal/rounding.Kernel.LogDelta", exact: "internal/rounding.TestDistanceExactly internal/rounding.TestShowHasTheLaw",
		audit: "internal/sparse.TestAuditOfDelta", edits: "internal/rounding: exponential rounding: δ too small; linear rounding: δ too small; δ rounded to the unsafe side",
	},
	{
		claim: "Groups over keys that nobody lists are (ε, δ)-private for a user with any number of keys, in one pass or two, and without δ over a list",
		about: "threshold/groupby.Builder.Release threshold/groupby.base.Guarantee threshold/groupby.Params.Guarantee threshold/groupby.Groups.Guarantee " +
			"threshold/groupby.Discovery.Release threshold/groupby.Rows.Release " +
			"threshold/groupby.Params.Plan",
		theorem: "own: quadratic rounding, jointly with all Gaussian noise beside the keys", proof: "internal/rounding/quadratic_proof.md",
		code:  "internal/rounding.Quadratic.Show internal/rounding.Quadratic.Delta internal/rounding.TwoPasses.Delta threshold/groupby.Params.calibrate threshold/groupby.clipped",
		exact: "internal/rounding.TestQuadraticExactly internal/rounding.TestTwoPassesExactly threshold/groupby.TestUserVectors threshold/groupby.TestListedNeighbours threshold/groupby.TestRowsAreUsers", audit: "threshold/groupby.TestLawOfARelease",
		edits: "threshold/groupby: counts without noise; weights without noise; the keys' noise ignores the counts; the first of two passes for nothing",
	},
	{
		claim:   "Many groups of the same users, of one Params or several, compose like their Gaussian noise, and Params.Releases of them are within ε and δ",
		about:   "threshold/groupby.Params.Guarantee",
		theorem: "own: a filter of releases of unknown keys, Theorem of internal/loss/loss_proof.md (Keys)", proof: "internal/loss/loss_proof.md",
		code:  "internal/rounding.Quadratic.Keys internal/rounding.TwoPasses.Keys internal/rounding.ForReleases threshold/groupby.Params.calibrateAnew",
		exact: "internal/rounding.TestQuadraticExactly internal/rounding.TestTwoPassesExactly internal/rounding.TestKeysOfAKernel", audit: "threshold/groupby.TestReleasesFillALedger",
		edits: "internal/rounding: releases without the mass of new keys; n releases calibrated as one",
	},
	{
		claim:   "FullKeys is chosen from the data within the budget of the counts, by steps of which each may depend on the ones before",
		about:   "threshold/groupby.Groups.FullKeys",
		theorem: "own: a filter of Gaussian steps, as one whose budget is their sum on every path", proof: "threshold/groupby/fullkeys_proof.md",
		code:  "threshold/groupby.calibration.question threshold/groupby.calibration.rest threshold/groupby.calibration.best",
		exact: "threshold/groupby.TestChoiceExactly threshold/groupby.TestShares", audit: "threshold/groupby.TestIntervalsOfTheChosen",
		edits: "threshold/groupby: what was asked is not deducted; half the noise of a question; questions without noise",
	},
	{
		claim:   "The number of rows without a user is private, each such row being a user, and takes nothing from what is released of the users",
		about:   "threshold/groupby.Rows.Release threshold/groupby.Groups.RowsWithoutUser",
		theorem: "own: neighbours differ in a user or in such a row, and noise of 8σ for one is within the budget σ is for", proof: "threshold/groupby/calibration.go",
		code:  "threshold/groupby.calibration.nameless",
		exact: "threshold/groupby.TestNamelessShare", audit: "threshold/groupby.TestRowsWithoutUser",
		edits: "threshold/groupby: the number of rows without a user has no noise; the number of rows without a user has the noise of one",
	},
	{
		claim: "Intervals of counts, sums and means of groups hold, also for users who were clipped",
		about: "threshold/groupby.Groups.Interval threshold/groupby.Groups.SumInterval threshold/groupby.Groups.MeanInterval threshold/groupby.Groups.Shortfall " +
			"threshold/groupby.Params.Plan",
		theorem: "own: the released shortfall bounds what clipping took", proof: "threshold/groupby/doc.go", code: "threshold/groupby.Groups.reach",
		exact: "threshold/groupby.TestDeviations", audit: "threshold/groupby.TestEveryCountIsWithinItsInterval", edits: "threshold/groupby: counts not clipped; shortfall without noise",
	},
	{
		claim: "Sums and means of values whose range is learned are paid for by the share of the budget that sums have; their intervals hold sums of values that thin out like a tail",
		about: "threshold/groupby.Builder.Release threshold/groupby.Rows.Release threshold/groupby.Groups.Radius threshold/groupby.Groups.Scale threshold/groupby.Groups.Lost " +
			"threshold/groupby.Groups.SumInterval threshold/groupby.Groups.MeanInterval",
		theorem: "own: four Gaussian steps on integer vectors, of which each may depend on the ones before", proof: "threshold/groupby/internal/ranges/ranges_proof.md",
		code:  "threshold/groupby/internal/ranges.Release threshold/groupby/internal/ranges.level threshold/groupby/internal/ranges.histogram threshold/groupby/internal/ranges.step",
		exact: "threshold/groupby/internal/ranges.TestExactChain threshold/groupby/internal/ranges.TestExactChainAfterDiscovery threshold/groupby/internal/ranges.TestStepsAreShort threshold/groupby.TestValuesHaveTheShareOfSums",
		audit: "threshold/groupby.TestValueIntervals threshold/groupby.TestIntervalsOfTrueSums",
		edits: "threshold/groupby/internal/ranges: a magnitude for each value; a level too high by one; scales for nothing; sums of values without noise",
	},
	{
		claim:   "Quantiles by key, beside the keys and the counts, are paid for by their share of the budget, for a user with any number of keys",
		about:   "threshold/groupby.Builder.Release threshold/groupby.Rows.Release",
		theorem: "own: one exact exponential draw for each level and key, cells spread evenly over places; k steps of bounded range are at most Gaussian noise",
		proof:   "internal/quantile/spread_proof.md", code: "internal/quantile.Spread.Draw internal/quantile.Spread.weight internal/quantile.StepEpsilon threshold/groupby.Params.spreads threshold/groupby.Params.spreadWeight",
		exact: "internal/quantile.TestSpreadIsPrivate internal/quantile.TestRoundIsOneStep internal/quantile.TestStepsAreGaussian threshold/groupby.TestSpreadShares threshold/groupby.TestQuantilesBesideKeys",
		audit: "internal/quantile.TestDraw", edits: "threshold/groupby: quantiles for nothing; a user of many keys weighs 1 in each; weights between cuts without noise",
	},
	{
		claim: "Intervals of quantiles by key hold, and are everything where nothing is known", about: "threshold/groupby.Groups.QuantileInterval threshold/groupby.Groups.RankInterval",
		theorem: "own: edges are passed from either end while the noisy weights say so, and only the first that is passed wrongly can err", proof: "threshold/groupby/quantile_proof.md",
		code: "threshold/groupby.Params.rankNoise", exact: "threshold/groupby.TestAtomsAnswerThemselves", audit: "threshold/groupby.TestQuantileIntervals",
		edits: "threshold/groupby: intervals of quantiles without their noise",
	},
	{
		claim:   "An approximate sparse vector is private, columns and list together, for every choice of the hash functions",
		about:   "alp.Builder.Release alp.Builder.Guarantee alp.Params.Guarantee alp.Projection.Guarantee",
		theorem: "Aumüller, Lebeda and Pagh, ALP, and Lebeda's thesis, Algorithms 2 to 8; rounding is S-shaped, p = ½e^{−α/2}, which halves the error", proof: "alp/combined_proof.md",
		code: "alp.shape.occupy alp.sampler.fill alp.code.masses", exact: "alp.TestTableIsPrivateExactly alp.TestCombinationIsPrivateExactly alp.TestRealTableIsPrivateExactly",
		audit: "alp.TestAudit", edits: "alp: the columns take the list's share of the budget, too; a step costs the square of what it may: noise halved; a cell holds its least entry instead of the largest",
	},
	{
		claim: "Its intervals hold for every value of an entry, as far as the load read off the table is right; no prior is assumed, and they go on to the Estimate", about: "alp.Projection.Interval",
		theorem: "own: a value is refuted by odds that under it have a probability of (1 − confidence)/2 at most", proof: "alp/evidence.go",
		code: "alp.decoder.interval alp.decoder.accept alp.newPValues alp.bins.likelihood", exact: "alp.TestIntervalsExactly alp.TestLikelihoodExactly", audit: "alp.TestHonest alp.TestHonestControl",
		edits: "alp: values refuted by weaker evidence",
	},
	{
		claim: "Its totals are within two standard errors or so, whatever the values are", about: "alp.Projection.Total",
		theorem: "own: h(o) of least squared error for a total of n entries; the bias of a level is bounded relative to its mean", proof: "alp/total.go",
		code: "alp.decoder.columnSum alp.leastSquares", exact: "alp.TestTotal", audit: "alp.TestTotalOfShapes",
		edits: "alp: a total forgets what its levels cannot tell",
	},
	{
		claim:   "A projection is ε-, (ε, δ)- or ρ-zCDP-private for its ℓ₁ or ℓ₂ distance, on the machine as on paper",
		about:   "jl.Builder.Release jl.Builder.Guarantee jl.Params.Guarantee jl.Sketch.Guarantee",
		theorem: "Stausholm, thesis, chapter 4 (Theorem 4.2 lacks 1/√k, Note 4.5 compares wrongly); the sensitivity of the integer matrix is own", proof: "jl/sensitivity_proof.md",
		code: "jl.Params.calibrate jl.state.release jl.operatorNorm", exact: "jl.TestExactOnTinyProjections jl.TestSensitivityAgainstBruteForce jl.TestNeighboursOnTheMachine", audit: "jl.TestAudit",
		edits: "jl: noise for half the sensitivity; the last row without noise; noise on the input forgotten; slack of rounding left out",
	},
	{
		claim:   "Estimates of norms, distances and products are unbiased, with these variances, and their intervals cover",
		about:   "jl.Params.Plan jl.Plan.NormStdErr jl.Plan.DistanceStdErr jl.Plan.DotStdErr",
		theorem: "Stausholm, thesis, Theorem 4.3 (the correction is 4ks/ε², not 2ks/ε²), Corollary 4.1, Lemmas 4.8 and 4.11 (corrected)", proof: "jl/variance.go",
		code: "jl.cumulantsOf jl.Params.variance", exact: "jl.TestMoments jl.TestVarianceFormulas jl.TestPrintedTheoremsFail", audit: "jl.TestCoverage",
		edits: "jl: distances corrected for one party only; a sketch compared with itself",
	},
	{
		claim: "An interval of a length, a distance or a product holds it with its confidence, for any vectors", about: "jl.Sketch.SquaredNormInterval jl.Sketch.SquaredDistanceInterval jl.Sketch.DotInterval",
		theorem: "own: fourth moments of an SJLT with 8-wise independence and of the noise on its rows", proof: "jl/moments_proof.md",
		code: "jl.Params.interval jl.spread.innerReach jl.cumulants.fourth jl.lengthFourth", exact: "jl.TestFourthMoments jl.TestFourthMomentsOfNoise jl.TestMomentsOfTinyMatrices", audit: "jl.TestCoverageOfIntervals",
		edits: "jl: the fourth moment without collisions of two heavy coordinates; fourth moments with 4-wise independence",
	},
	{
		claim: "With the Rows, Sparsity and Independence of Fit a length stays within 1 ± β, except with probability p", about: "jl.Params.Fit",
		theorem: "own: moments of an SJLT by those of χ² with a binomial number of degrees, for 2ℓ-wise independence", proof: "jl/tails_proof.md",
		code: "jl.Params.leastTail jl.moments.collisions jl.Params.polynomial", exact: "jl.TestMomentsOfTinyMatrices jl.TestFitIsProved jl.TestIndependence", audit: "jl.TestFailuresOfFit",
		edits: "jl: hash functions of less independence than was asked for; a tail without the collisions of two columns",
	},
	{
		claim: "A sketch of a set is ε-private for a key with all its occurrences, and so are n parties' shares of one", about: "kor.Builder.Release kor.Builder.Share kor.Share.Bytes kor.Builder.Guarantee " +
			"kor.Params.Guarantee kor.Share.Guarantee kor.Sketch.Guarantee kor.Sketch.PartyGuarantee",
		theorem: "Stausholm, thesis, chapter 3: p = 1/(e^ε + 1) itself is allowed in Lemma 3.2", proof: "kor/params.go", code: "kor.state.randomize kor.Params.flips kor.Params.shareFlips",
		exact: "kor.TestExactPrivacy kor.TestFlipProbability kor.TestShareFlips kor.TestMergedFlips", audit: "kor.TestAudit", edits: "kor: flips with p a thousandth too small; a key flips two bits; shares rounded down; count without noise",
	},
	{
		claim: "A sketch of a stream of keys is ε-private for a key with all its occurrences", about: "kor.StreamBuilder.Release kor.StreamBuilder.Guarantee kor.StreamSketch.Guarantee kor.StreamSketch.PartyGuarantee",
		theorem: "own: a cell that was hit is a fair coin, so p ≥ e^{−ε}/2", proof: "kor/stream.go", code: "kor.tossCoins", exact: "kor.TestExactStreamPrivacy kor.TestStreamStateReleasedTwiceCostsTwice",
		audit: "kor.TestCellsOfKeysAreFairCoins kor.TestReleasesOfOneStreamStateHaveTheirOwnCoins", edits: "kor: streams: p half of what it must be; streams: the cells of keys are shown",
	},
	{
		claim: "Counts of keys, of unions and differences have these standard errors, and their intervals cover",
		about: "kor.Params.Fit kor.Params.FitStream kor.Plan.StdErr kor.Plan.StreamStdErr kor.Sketch.StdErr kor.Sketch.Interval kor.StreamSketch.StdErr kor.StreamSketch.Interval " +
			"kor.Cardinality.StdErr kor.Cardinality.Interval",
		theorem: "maximum likelihood in place of interval intersection (thesis, 3.4.2), which needs 10¹⁰ cells", proof: "kor/plan.go", code: "kor.law.stdErr kor.likelihood.interval kor.weightedLevel",
		exact: "kor.TestPlannedError kor.TestLevelLaw", audit: "kor.TestAccuracy kor.TestIntervalPastTheGrid", edits: "kor: a union in which a release cancels",
	},
	{
		claim: "A distinct count, with noisy bits or without, or after each of many slots, is ε-private for a key with all its occurrences",
		about: "kor/distinct.Builder.Release kor/distinct.Builder.Guarantee kor/distinct.Params.Guarantee kor/distinct.Sketch.Guarantee kor/distinct.RunningBuilder.Step " +
			"kor/distinct.RunningBuilder.Guarantee kor/distinct.Running.Guarantee",
		theorem: "own: a key sets one bit and none clears one, so the number of ones moves by one, and two increments by one each", proof: "kor/distinct/params.go",
		code:  "kor/distinct.Params.laws kor/distinct.ones",
		exact: "kor/distinct.TestExactPrivacy kor/distinct.TestRunningIsExactlyPrivate", audit: "kor/distinct.TestReleaseHasTheLaw kor/distinct.TestRunningHasTheLaw",
		edits: "kor/distinct: noise of the count too small; bits released without flips; running: no noise in a slot",
	},
	{
		claim: "Counts of windows, of two sets together, and of cohorts by first and last day are ε-private for a key with all its occurrences, and compose as two responses of ε/2",
		about: "kor/distinct.WindowBuilder.Release kor/distinct.WindowBuilder.Guarantee kor/distinct.Windows.Guarantee kor/distinct.ReleasePair kor/distinct.Pair.Guarantee kor/distinct.CohortBuilder.Release " +
			"kor/distinct.CohortBuilder.Guarantee kor/distinct.Cohorts.Guarantee kor/distinct.Cohorts.Days",
		theorem: "own: a key moves one cell from one class to another", proof: "kor/distinct/classes_proof.md", code: "kor/distinct.Params.classLaw kor/distinct.Params.twoMoves kor/distinct.numbers.addNoise",
		exact: "kor/distinct.TestOneCellMoves kor/distinct.TestVisitsMoveByTwoADay kor/distinct.TestTwoMovesAreTwoResponses kor/distinct.TestYearOfWindows", audit: "kor/distinct.TestWindowsHaveTheLaw kor/distinct.TestPairHasTheLaw kor/distinct.TestCohortsHaveTheLaw",
		edits: "kor/distinct: classes: noise for half the sensitivity; classes: no noise in a class; classes: one response where there are two",
	},
	{
		claim: "Shares of users by how often they came are ε-private with the number of users, and their intervals cover",
		about: "kor/distinct.FrequencyBuilder.Release kor/distinct.FrequencyBuilder.Guarantee kor/distinct.Frequencies.Guarantee kor/distinct.Frequencies.Share kor/distinct.Frequencies.ShareInterval " +
			"kor/distinct.Frequencies.Most kor/distinct.Frequencies.AtLeast kor/distinct.Frequencies.AtLeastInterval",
		theorem: "own: the key of the largest hash in a cell; half of ε for a count, half for the classes", proof: "kor/distinct/frequencies.go",
		code:  "kor/distinct.frequencyState.visitAll kor/distinct.frequencyState.classes kor/distinct.Params.frequencies kor/distinct.ratio.deviation",
		exact: "kor/distinct.TestFrequenciesOfAllStreams kor/distinct.TestFrequenciesAreThoseOfAMap kor/distinct.TestPosteriorShares", audit: "kor/distinct.TestFrequenciesHaveTheLaw kor/distinct.TestSharesAccuracy kor/distinct.TestMeanFrequency",
		edits: "kor/distinct: frequencies: all of ε twice; frequencies: the first key stays; frequencies: no noise",
	},
	{
		claim: "The keys that two sets share, those of one alone, and those that are new and come back have these standard errors, and their intervals cover",
		about: "kor/distinct.Pair.Both kor/distinct.Pair.OnlyA kor/distinct.Pair.OnlyB kor/distinct.Pair.Jaccard kor/distinct.Cohorts.New kor/distinct.Cohorts.Returned kor/distinct.Cohorts.On", theorem: "own: the covariances of numbers of ones",
		proof: "kor/distinct/sums_proof.md", code: "kor/distinct.sum.at kor/distinct.sum.Interval", exact: "kor/distinct.TestVarianceOfSums kor/distinct.TestPairAtTheEnds kor/distinct.TestBothOfEqualSets kor/distinct.TestNoContradictions", audit: "kor/distinct.TestAccuracy",
		edits: "kor/distinct: sums: noise of half the variance; sums: an empty interval; sums: a set smaller than what it contains",
	},
	{
		claim: "Distinct counts, unions and comparisons have these standard errors, and their intervals cover",
		about: "kor/distinct.Params.Fit kor/distinct.Plan.StdErr kor/distinct.Plan.RunningStdErr kor/distinct.Plan.WindowStdErr kor/distinct.Plan.UnionError kor/distinct.Sketch.StdErr kor/distinct.Sketch.Interval " +
			"kor/distinct.Running.StdErr kor/distinct.Running.Interval kor/distinct.Windows.StdErr kor/distinct.Windows.Interval",
		theorem: "own: the exact moments of the number of ones", proof: "kor/distinct/doc.go", code: "kor/distinct.curve.stdErr kor/distinct.curve.at kor/distinct.curve.interval kor/distinct.unionVariance kor/distinct.part.Interval kor/distinct.unionOf.Interval",
		exact: "kor/distinct.TestMomentsOfTheCount kor/distinct.TestUnionVariance kor/distinct.TestStdErr", audit: "kor/distinct.TestAccuracy kor/distinct.TestUnionTable kor/distinct.TestCompareTable",
		edits: "kor/distinct: the flips of the second release forgotten; a release compared with itself",
	},
	{
		claim: "A number with Arete, jump, discrete Laplace or Gaussian noise, and the sum of n parties' shares, are private by a certificate of the law that is drawn",
		about: "arete.Mechanism.Release arete.Mechanism.Guarantee arete.Params.Guarantee arete.Value.Guarantee arete.Lattice.Certify arete.Mechanism.Share " +
			"arete.Share.Mask arete.Share.Noise arete.Share.Sum arete.Share.Guarantee",
		theorem: "Pagh and Stausholm, Arete: Lemma 5.2's parameters are not certified, and its mechanism is scale-free; the jump law is own", proof: "arete/jump_certificate.go",
		code: "arete.calibrate arete.jump.loss arete.discrete.loss arete.gaussianDelta", exact: "arete.TestPrivacyExactly arete.TestSharesInAPrimeField arete.TestGaussianPrivacyExactly arete.TestLatticeCertificates arete.TestSharesAddUpToTheLaw",
		audit: "arete.TestAudit arete.TestGaussianAudit", edits: "arete: jump law: more loss allowed than ε; shares of half the rate; drop-outs not made up for; Gaussian shares: κ left out of ρ",
	},
	{
		claim: "Errors and intervals of a number hold, also of a sum of shares", about: "arete.Value.Interval arete.Params.Plan arete.Value.StdDev", theorem: "the exact law", proof: "arete/value.go", code: "arete.Value.quantile arete.Lattice.MeanAbs",
		exact: "arete.TestIntervalMargins arete.TestTableOfRatios arete.TestGaussianCalibration", audit: "arete.TestIntervals arete.TestIntervalsOfSums", edits: "arete: intervals for one tail of the noise",
	},
	{
		claim:   "Sums and means of vectors are ε-, (ε, δ)- or ρ-zCDP-private, with the noise that the range of each coordinate asks for",
		about:   "elliptical.Builder.Release elliptical.Mechanism.Release elliptical.Builder.Guarantee elliptical.calibration.Guarantee elliptical.Params.Guarantee",
		theorem: "Lebeda, thesis, Algorithms 15 and 16 (Figure 4.1's caption has E‖η‖₁); the box is own", proof: "elliptical/doc.go", code: "elliptical.classes.calibrate elliptical.group.logMoment elliptical.state.addRow elliptical.gridNoise.sample elliptical.gridNoise.addNoise elliptical.gridNoise.addBox elliptical.within",
		exact: "elliptical.TestReleaseIsPrivateExactly elliptical.TestBoxIsPrivateExactly elliptical.TestBoxLaw elliptical.TestSensitivityOfRows elliptical.TestRowsStayInTheBall", audit: "elliptical.TestAudit elliptical.TestAuditOfEllipsoid elliptical.TestIntervalCovers",
		edits: "elliptical: noise for half the sensitivity; values not clamped to their interval; one coordinate without noise; one uniform number for all coordinates of a group",
	},
	{
		claim: "Errors and intervals of vectors hold", about: "elliptical.Plan.Error elliptical.Plan.StdDev " +
			"elliptical.Sum.StdDev " +
			"elliptical.Sum.Interval elliptical.Sum.MeanInterval elliptical.Sum.SimultaneousInterval",
		theorem: "Lebeda, thesis, Lemmas 4.3, 4.7, 4.8, 4.10 and 4.11", proof: "elliptical/doc.go", code: "elliptical.gridNoise.halfWidth elliptical.gridNoise.squareError", exact: "elliptical.TestExpectedErrorIsTheTheorems elliptical.TestErrorIsMeasured",
		audit: "elliptical.TestIntervalCovers elliptical.TestOtherIntervalsCover", edits: "elliptical: a mean's interval without the noise of the count",
	},
	{
		claim:   "The statistics of a column are ε-private or ρ-zCDP for one row, with less noise than a budget split over moments",
		about:   "elliptical/column.Builder.Release elliptical/column.Builder.Guarantee elliptical/column.Params.Guarantee elliptical/column.Summary.Guarantee",
		theorem: "own: polynomials that are non-negative and add up to one", proof: "elliptical/column/scheme.go", code: "elliptical/column.Params.scheme elliptical/column.Params.law elliptical/column.law.release",
		exact: "elliptical/column.TestExactPrivacy elliptical/column.TestReaches elliptical/column.TestShiftsArePrivate", audit: "elliptical/column.TestReleaseHasTheLaw",
		edits: "elliptical/column: reach of the simplex a thousandth too small; noise too small; a coordinate without noise",
	},
	{
		claim: "Quantiles of a column are ε-private or ρ-zCDP for one row", about: "elliptical/column.QuantileBuilder.Release elliptical/column.QuantileBuilder.Guarantee " +
			"elliptical/column.Quantiles.Guarantee",
		theorem: "the exponential mechanism with exact weights, the middle level first and then both parts; three choices for one level", proof: "internal/quantile/spread_proof.md",
		code:  "internal/quantile.Spread.Draw internal/quantile.Spread.weight internal/quantile.Quantiles elliptical/column.quantileParams.choose",
		exact: "elliptical/column.TestExactQuantiles internal/quantile.TestRoundIsOneStep internal/quantile.TestPartsAreDisjoint", audit: "internal/quantile.TestDraw",
		edits: "internal/quantile: quantile: κ doubled; a row in both parts",
	},
	{
		claim: "A range is learned, and the rows on it released, within ε or ρ for one row", about: "elliptical/column.Builder.Release",
		theorem: "own: three steps that compose adaptively; ends are a function of released numbers", proof: "elliptical/column/learn.go",
		code:  "elliptical/column.state.learn elliptical/column.learned.count elliptical/column.learned.numbers elliptical/column.Params.spending elliptical/column/internal/tail.Histogram.Choose elliptical/column/internal/rank.Axis.Nearest",
		exact: "elliptical/column.TestChainIsPrivate elliptical/column.TestSensitivityOfTheHistogram elliptical/column/internal/rank.TestNearest", audit: "elliptical/column.TestRangeIsAFunctionOfTheRelease",
		edits: "elliptical/column: the centre for nothing; a number of rows without noise; the sum of a learned range with all of the budget",
	},
	{
		claim: "Standard errors and intervals of a column hold", about: "elliptical/column.Summary.StdErr elliptical/column.Plan.StdErr elliptical/column.Summary.Interval elliptical/column.Quantiles.RankInterval",
		theorem: "the exact law of the noise",
		proof:   "elliptical/column/interval.go", code: "elliptical/column.Summary.reach internal/exact.LaplaceReach", exact: "elliptical/column.TestErrors elliptical/column.TestCountInterval internal/exact.TestLaplaceReach",
		audit: "elliptical/column.TestCoverage elliptical/column.TestQuantileAccuracy", edits: "elliptical/column: intervals a fifth too narrow",
	},
	{
		claim: "The interval of a quantile holds it, for all rows", about: "elliptical/column.Quantiles.Interval",
		theorem: "own: two choices some rows away, with rows beyond the data", proof: "elliptical/column/quantiles.go", code: "elliptical/column.quantileParams.choose internal/quantile.Most elliptical/column/internal/rank.Axis.Edges",
		exact: "elliptical/column.TestIntervalOfAQuantile elliptical/column/internal/rank.TestOctaves", audit: "elliptical/column.TestIntervalOfAQuantile",
		edits: "elliptical/column: an interval of the middles of cells; an end of the interval for nothing",
	},
	{
		claim: "Intervals of a learned range hold the mean of rows that thin out, or of all within the Bound", about: "elliptical/column.Summary.IntervalTail elliptical/column.Summary.IntervalBounded elliptical/column.Summary.Range",
		theorem: "own: geometric numbers are the worst", proof: "elliptical/column/internal/tail/beyond.go", code: "elliptical/column/internal/tail.Histogram.Most elliptical/column/internal/tail.Histogram.Least elliptical/column.Summary.tailed",
		exact: "elliptical/column/internal/tail.TestWhatClampingTakes", audit: "elliptical/column.TestIntervalsOfALearnedRange elliptical/column.TestRowsAtTheBound",
		edits: "elliptical/column: the noise of one bin for all at once; an interval of few rows that is not wide",
	},
	{
		claim:   "Means of many coordinates without known ranges are ρ-zCDP for one row, all steps together",
		about:   "plan.Mechanism.Release plan.Mechanism.ReleaseSparse plan.Mechanism.Guarantee plan.Params.Guarantee plan.Mean.Guarantee plan/thesis.Params.Guarantee",
		theorem: "Aumüller, Lebeda, Nelson and Pagh, PLAN, and Lebeda's thesis, Algorithms 17 and 18 (Listing 5.1's power, Lemma 5.4's radius and 5.7's tables are wrong)", proof: "plan/internal/means/clip.go",
		code: "plan/internal/means.run.adaptive plan/internal/means.run.twoPass plan/internal/means.run.plain plan/internal/means.run.instanceOptimal plan/internal/means.clipper.round " +
			"plan/internal/means.spending.take plan/internal/means.sampler.addNoise",
		exact: "plan/internal/means.TestClippedRowsKeepTheirSensitivity plan/internal/means.TestNormsAreCheckedInIntegers plan/internal/means.TestNoiseIsAddedExactly plan/internal/means.TestBudget",
		audit: "plan/internal/means.TestAudit plan/internal/means.TestSharesLeaveASum",
		edits: "plan/internal/means: half the sensitivity of the sum under Replace; the norm of a clipped row is checked against too much; the budget is not counted; noise is added after rounding",
	},
	{
		claim: "Quantiles of columns, which means are centred, scaled and clipped by, are ρ-zCDP for one row", about: "plan.Mechanism.Release plan.Mechanism.ReleaseSparse",
		theorem: "the exponential mechanism in integers; binary search (Huang, Liang and Yi) with the corrected radius", proof: "internal/quantile/weights.go",
		code:  "internal/quantile.Sampler.Quantile internal/quantile.Weights.At internal/quantile.Sampler.BinarySearch internal/quantile.Weights.SearchNoise",
		exact: "internal/quantile.TestQuantileIsPrivate internal/quantile.TestCountAboveIsPrivate internal/quantile.TestSamplerFollowsTheLaw",
		audit: "internal/quantile.TestSamplerRejectsAsItShould internal/quantile.TestSearchIsCalibrated plan/internal/means.TestQuantileAccuracy",
		edits: "internal/quantile: weights fall too fast; the rarer end of a piece is accepted too often; a step of the binary search forgets that there are T",
	},
	{
		claim: "Errors and intervals of means hold", about: "plan.Mean.NoiseInterval plan.Mean.IntervalBounded plan.Mean.StdDev plan.Mean.StdDevs plan.Params.Fit",
		theorem: "PLAN's error bound, with what clipping took bounded from the release", proof: "plan/internal/means/bounded.go", code: "plan/internal/means.Mean.noiseOfSum plan/internal/means.Params.errorsOf",
		exact: "plan.TestIntervalOfTheLargestNumbers plan/internal/means.TestIndependentNoise plan/internal/means.TestFit",
		audit: "plan/internal/means.TestIntervalCoverage plan/internal/means.TestIntervalBoundedAgainstTheWorst",
		edits: "plan/internal/means: an honest interval forgets the noise of γ; an honest interval forgets what was clipped",
	},
	{
		claim:   "A randomized estimate with noise is ε-private by what is promised of its error, also for several queries and with searched advice",
		about:   "noise/approx.Mechanism.Release noise/approx.promised.Guarantee noise/approx.Params.Guarantee noise/approx.Search",
		theorem: "Tětek, Additive noise mechanisms for randomized approximations: Theorem 14's scale is not private (counterexample), Theorem 10's holds for small ε only", proof: "noise/approx/scale_proof.md",
		code:  "noise/approx.Params.choose noise/approx.momentScale noise/approx.subexponentialScale noise/approx.roundedSteps noise/approx.adviceSearch.release",
		exact: "noise/approx.TestMomentNoiseIsPrivate noise/approx.TestSubexponentialNoiseIsPrivate noise/approx.TestApproxScaleTables noise/approx.TestRoundedSteps noise/approx.TestPublishedParetoScaleIsNotPrivate", audit: "noise/approx.TestMechanismAudit noise/approx.TestAdviceSearch",
		edits: "noise/approx: moment scale for Δ₁ + Δ₂ instead of Δ₁ + 2Δ₂; several queries calibrated as one; each round of the search spends half of the budget",
	},
	{
		claim: "Bounds of approximations hold", about: "noise/approx.Plan.ErrorBound noise/approx.Params.Fit noise/approx.Value.Interval noise/approx.Advised.Interval noise/approx.MedianRuns " +
			"noise/approx.MedianMoment",
		theorem: "the laws' exact tails; medians of runs by Chernoff", proof: "noise/approx/median.go", code: "noise/approx.gridNoise.law", exact: "noise/approx.TestFit noise/approx.TestApproxChoosesTheSmallerNoise noise/approx.TestAdviceSearchPlan noise/approx.TestMedianMoment noise/approx.TestMedianRuns",
		audit: "noise/approx.TestValueInterval", edits: "noise/approx: median bound without its constant",
	},
	{
		claim: "What several releases promise together is certified upwards, and so is each conversion between guarantees and units",
		about: "noise/budget.Guarantee.DeltaAt noise/budget.Guarantee.EpsilonAt noise/budget.Guarantee.Epsilon noise/budget.Guarantee.Delta noise/budget.Guarantee.Rho noise/budget.Guarantee.Mu " +
			"noise/budget.PureDP noise/budget.ApproxDP noise/budget.ZCDP noise/budget.GDP noise/budget.Laplace noise/budget.DiscreteLaplace noise/budget.Gaussian " +
			"noise/budget.DiscreteGaussian noise/budget.Compose noise/budget.Guarantee.Times noise/budget.Guarantee.Group noise/budget.Guarantee.For " +
			"noise/budget.Guarantee.Stable noise/budget.Guarantee.WithPair noise/budget.Guarantee.WithEscape noise/budget.Guarantee.WithKeys noise/budget.Guarantee.Subsampled",
		theorem: "dominating pairs and their composition (Kairouz, Oh and Viswanath; Zhu, Dong and Wang); Bun and Steinke's zCDP with the conversion of Canonne, Kamath and Steinke; Dong, Roth and Su's GDP",
		proof:   "internal/loss/loss_proof.md", code: "noise/budget.Compose noise/budget.Guarantee.DeltaAt noise/budget.Guarantee.Times noise/budget.Guarantee.Group internal/loss.Keys.DeltaBy",
		exact: "noise/budget.TestComposeNeverBelowRandomizedResponse noise/budget.TestPairsBoundTheirNoise noise/budget.TestConversionsAreExact noise/budget.TestGroupIsExact noise/budget.TestStable " +
			"noise/budget.TestWithPair noise/budget.TestWithEscape noise/budget.TestReleasesOfKeys internal/loss.TestKeysExactly noise/budget.TestSubsampledIsExact noise/budget.TestSampledPairsBoundAllMechanisms",
		audit: "noise/budget.TestPublishedFigures", edits: "noise/budget: units added up that differ; a group costs one less; replaced for the price of one; what the caller promised lost in a composition",
	},
	{
		claim: "The Gaussian mechanism's σ and δ are exact, rounded to the safe side", about: "noise.GaussianDelta noise.GaussianLogDelta noise.GaussianSigma noise.GaussianSigmaZCDP noise.LaplaceScale",
		theorem: "Balle and Wang 2018, Theorem 8; Bun and Steinke 2016", proof: "noise/gaussian.go", code: "noise.GaussianSigma noise.GaussianSigmaZCDP noise.LaplaceScale",
		exact: "noise.TestGaussianDeltaReference noise.TestGaussianSigmaSafeAndTight noise.TestScalesRoundUp internal/audit/vectors.TestNumbers", audit: "jl.TestAudit",
		edits: "noise: analytic σ slightly too small; Laplace scale half; Gaussian σ for zCDP too small by √2",
	},
	{
		claim: "Samplers have exactly the law of the ideal noise, rounded", about: "noise.DiscreteLaplace.SampleInt noise.DiscreteGaussian.SampleInt noise.Gaussian.Sample noise.Laplace.Sample noise.Staircase.Sample " +
			"noise.StaircaseGamma noise.StaircaseGammaVariance noise.Bernoulli.Prob noise.RandomizedResponse noise.Geometric.SampleInt noise.CorrelatedGaussian.Sampler noise.CorrelatedGaussian.SamplerBeside noise.Pareto.Sample noise.Student.Sample noise.Bernoulli.Sample noise.RandomizedRound",
		theorem: "Canonne, Kamath and Steinke 2020; Mironov 2012 says what goes wrong with floats; strips as in Marsaglia and Tsang, in integers", proof: "noise/gaussian.go",
		code: "noise.twoSided noise.drawNormal noise.geometric noise.discreteLaplace noise.newStripColumns noise.lazy.compareExp", exact: "noise.TestDiscreteLawsAgainstExactSums noise.TestStripsCoverTheDensity noise.TestNormalByStrip noise.TestGeometricRejectionIsExact",
		audit: "noise.TestAudit noise.TestSamplersFollowTheirLaw noise.TestLowBitsShowNothing", edits: "noise: discrete Laplace without its shift; a strip of the normal law too low; float logarithm trusted on a boundary",
	},
	{
		claim: "The secret source cannot be replaced, seeded or repeated, and forgets what it gave", about: "noise.Source.Uint64 noise.Source.Fill noise.Source.Uint64N", theorem: "AES-256 in counter mode under fresh keys",
		proof: "noise/source.go", code: "noise.state.newKey", exact: "noise.TestSourceWipesWhatItGave noise.TestSourceUsesAWholeKeyForEachBlock", audit: "noise.TestSourceIsUniform noise.TestSourceIgnoresReplacedReader",
		edits: "noise: half of a key is zero; one key for all; what was drawn stays in the buffer",
	},
	{
		claim: "A ledger never spends more than its budget, not after a crash either", about: "noise/budget.Ledger.Spend noise/budget.Ledger.Accepts noise/budget.Ledger.Split noise/budget.Ledger.Budget noise/budget.Ledger.Spent " +
			"noise/budget.Ledger.Remaining noise/budget.Ledger.SpendOnce noise/budget.Release noise/budget.ReleaseFunc noise/budget.OpenJournal noise/budget.OpenFile",
		theorem: "own: paid before it is released, synced before it is acknowledged", proof: "noise/budget/journal.go", code: "noise/budget.Ledger.Spend noise/budget.Release",
		exact: "noise/budget.TestRelease noise/budget.TestLedgerProperties noise/budget.TestLedgerKeepsExactSums noise/budget.TestDamagedJournals noise/budget.TestNoFreshBudget noise/budget/internal/durable.TestCompact", audit: "noise/budget.TestKill noise/budget.TestKilledWithFile",
		edits: "noise/budget: released before it is paid for; spent in memory only; an old copy of the file opened; a file of another budget opened; spent after Close",
	},
	{
		claim:   "Releases on disjoint parts cost the part that spends most, and a ledger says what was spent on what",
		about:   "noise/budget.Ledger.Part noise/budget.Ledger.PartOfUsers noise/budget.Ledger.Epsilon noise/budget.Ledger.All noise/budget.MixedRule",
		theorem: "own: composition along one neighbour's part; Brownian motion beside Rényi filters", proof: "noise/budget/part_proof.md", code: "noise/budget.Ledger.Part noise/budget.MixedRule",
		exact: "noise/budget.TestPartsExactly noise/budget.TestPartsAreKept", audit: "noise/budget.TestMixedRule",
		edits: "noise/budget: a unit that moves is charged in one part; a unit replaced within its part costs one step; the whole does not count in a part; noise beyond its share is free",
	},
	{
		claim: "A Builder shows nothing before its release, and releases once", about: "misragries.base.Released threshold.Builder.Released kor.Builder.Released jl.Builder.Released",
		theorem: "none", proof: "internal/private/private.go", code: "internal/private.Take", exact: "internal/private.TestReleasedOnce internal/audit/surface.TestIgnoredErrors",
		audit: "internal/private.TestConcurrentUse internal/audit/surface.TestEveryTypeHasWhatItsRoleDemands", edits: "internal/private: released twice; a Builder prints its state; concurrent use not seen; a part of the data released after a concurrent use; data released after a wrong call",
	},
	{
		claim: "Decoders take no bytes but those of a possible release", about: "misragries.Histogram.UnmarshalBinary threshold.Vector.UnmarshalBinary kor.Sketch.UnmarshalBinary noise/budget.Guarantee.UnmarshalBinary",
		theorem: "one object, one encoding: internal/wire/FORMAT.md", proof: "internal/wire/FORMAT.md", code: "internal/wire.Reader.Count internal/wire.Flags",
		exact: "internal/audit/vectors.TestEncodings internal/audit/vectors.TestDecoder", audit: "internal/audit/vectors.FuzzDecoders", edits: "internal/wire: −0 read into Params; numbers above the most read into Params",
	},
}
