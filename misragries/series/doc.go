// Package series follows the frequent keys of a stream over time. It releases a Slice at the end of
// each step, an hour say, for as long as the service runs. Anyone can read any window from the
// Slices, an hour, a week or a year, under one budget that does not run out.
//
//	b, err := series.New[string](series.Params{Epsilon: 1, Delta: 1e-6, MaxElements: 20})
//	…
//	b.AddFor(user, []string{page})            // for each event
//	slice, err := b.Step()                    // each hour; it is public
//	err = timeline.Append(slice)              // made by series.NewTimeline
//	week, err := timeline.Window(hour-168, hour)
//	for page, views := range week.Top(10) {
//		lo, hi := week.Interval(page, 0.95) // a lo of 0: it may be noise
//		fmt.Println(page, views, lo, hi)
//	}
//
// With Params.Dim the keys are public numbers below it. For one release of one stream use package
// misragries, for one release of users with any number of keys threshold/groupby.
//
// # Guarantee
//
//	one event                   ε and δ, once, however many steps and windows there are
//	one user, by MaxElements    ε and δ for all actions in any 168 steps (the longest span)
//	what the ledger records     builder.Guarantee(), once, when the series begins
//
// All Slices together, future ones included, are (ε, δ)-private. With MaxElements = m an element
// counts only if its user has a token ([Builder.AddFor]), and noise is scaled to 2·Burst + m
// elements. Estimates and intervals are about the elements that count; [Window.Counted] says which
// share of all these are, for 1/32 of ε, from [Plan].CountedFrom elements on; below that ask for
// longer windows. What a user does in k times 168 steps has (k + 1)/2 times ε.
//
// # Accuracy
//
// Intervals ([Window.Interval]) cover the noise alone. Bounds of the zero Window, and for a
// confidence outside [0, 1), are NaN.
//
// Standard errors of a known key ([Plan.StdErr]) in counts, and half the width of a 95 % interval
// at the worst place; for another ε, times about 1/ε. They do not grow with earlier steps:
//
//	window of steps          1     24    168    720
//	ε = 1                  5.5   12.7   16.4   18.9
//	interval                12     34     44     51
//
// A key with about 45 elements in one of three discovery spans is shown, at δ = 1e-6
// ([Plan].Threshold). Counts from before a key was known are less exact. From 24 steps on, sums of
// independent releases of each step have 5 to 100 times the error (examples/evidence).
//
// # Cost
//
// Add takes 50 ns for a known key; for a thousand of them Step takes 0.1 ms, Window 3 ms for 720.
// Exact counts of unknown keys take some 150 bytes per key until the longest discovery span ends;
// with Counters there are three sketches instead. A Slice has 2.3 integers per known key.
//
// # The store, and crashes
//
// The noise of a node must be drawn only once: two draws reveal more than is promised. So
//
//  1. slice := Step(), and state := AppendPrivateState();
//  2. write both in one atomic record, and sync it;
//  3. publish the slice.
//
// After a crash, publish the slice of the last record once more (the same bytes) and restore its
// state. Elements that came after the record are lost, unless you add each again, exactly once.
//
// # How it works
//
// A key that was released is public and known from then on: its count is published in every step,
// and again in nodes of 4, 24 and 168 steps, each with discrete Laplace noise at ε/4. Elements of
// other keys are counted separately: at the end of each 1, 24 and 168 steps a key is shown if a
// third of (ε, δ) allows it. No element is counted in both: see series_proof.md.
//
// # Not covered
//
// Timing, and anyone who reads the process's memory or the store. Steps and known keys are public.
//
// Sources: continual release, Dwork, Naor, Pitassi, Rothblum (STOC 2010), Chan, Shi, Song (TISSEC
// 2011); thresholds for unknown keys, Korolova et al. (WWW 2009); sketches, Lebeda and Tětek (TODS
// 2025).
package series
