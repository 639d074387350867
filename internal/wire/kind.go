package wire

import "fmt"

// Kind tells which released object an encoding holds. The numbers are part of the format: they are
// never reused and never renumbered.
type Kind uint8

const (
	KindMisraGries Kind = 1  // misragries.Histogram
	KindThreshold  Kind = 2  // threshold.Vector
	KindALP        Kind = 3  // alp.Projection
	KindKOR        Kind = 4  // kor.Sketch
	KindJL         Kind = 5  // jl.Sketch
	KindElliptical Kind = 6  // elliptical.Sum
	KindPLAN       Kind = 7  // plan.Mean
	KindArete      Kind = 8  // arete.Value
	KindApprox     Kind = 9  // approx.Value
	KindAdvised    Kind = 10 // approx.Advised
	KindGuarantee  Kind = 11 // budget.Guarantee
	KindDistinct   Kind = 12 // distinct.Sketch
	KindRunning    Kind = 13 // distinct.Running
	KindWindows    Kind = 14 // distinct.Windows
	KindColumn     Kind = 15 // column.Summary
	KindGroups     Kind = 16 // groupby.Groups
	KindQuantiles  Kind = 17 // column.Quantiles
	KindSeries     Kind = 18 // series.Slice

	KindLedger Kind = 21 // budget.Ledger
	KindPair   Kind = 22 // distinct.Pair

	KindFrequencies Kind = 23 // distinct.Frequencies
	KindCohorts     Kind = 24 // distinct.Cohorts

	// KindPrivate marks the private state of a Builder on its way between the machines of one
	// pipeline: never a released object.
	KindPrivate Kind = 128
)

// kindNames is indexed by Kind.
var kindNames = [...]string{
	KindMisraGries: "misragries",
	KindThreshold:  "threshold",
	KindALP:        "alp",
	KindKOR:        "kor",
	KindJL:         "jl",
	KindElliptical: "elliptical",
	KindPLAN:       "plan",
	KindArete:      "arete",
	KindApprox:     "noise/approx",
	KindAdvised:    "noise/approx advice",
	KindGuarantee:  "noise/budget",
	KindDistinct:   "kor/distinct",
	KindRunning:    "kor/distinct running total",
	KindWindows:    "kor/distinct windows",
	KindColumn:     "elliptical/column",
	KindGroups:     "threshold/groupby",
	KindQuantiles:  "elliptical/column quantiles",
	KindSeries:     "misragries/series",

	KindLedger: "noise/budget ledger",
	KindPair:   "kor/distinct pair",

	KindFrequencies: "kor/distinct frequencies",
	KindCohorts:     "kor/distinct cohorts",

	KindPrivate: "PRIVATE STATE",
}

// String returns the name of the package that owns the kind, with the object where it has several,
// or "kind 200" for an unknown one.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// magic is the first four bytes of every encoding.
const magic = "dpsk"

// HeaderSize is the number of bytes that [AppendHeader] appends.
const HeaderSize = len(magic) + 2

// AppendHeader appends the magic, the kind and the version to dst.
func AppendHeader(dst []byte, kind Kind, version uint8) []byte {
	dst = append(dst, magic...)
	return append(dst, byte(kind), version)
}
