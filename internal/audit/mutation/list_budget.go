package main

var budgetMutations = []mutation{
	{"sum of δ left out", "noise/budget/guarantee.go", "round.SumUp(total.delta, g.delta)", "total.delta"},
	{"a promise made of none", "noise/budget/guarantee.go", "\t\t\tvoid = true\n", ""},
	{"units added up that differ", "noise/budget/guarantee.go", "if total.promised && g.unit != total.unit {", "if false {"},
	{"several releases for the price of one", "noise/budget/guarantee.go", "m := stepsUp(n)", "m := stepsUp(1)"},
	{"ledger forgets what is spent", "noise/budget/ledger.go:Ledger.remember", "l.spentSoFar = l.spentSoFar.plus(g)", "_ = l.spentSoFar.plus(g)"},
	{"ledger ignores the unit", "noise/budget/ledger.go", "case g.unit != l.unit:\n\t\treturn fault.Mismatch", "case false:\n\t\treturn fault.Mismatch"},
	{"sums of a Ledger rounded to the nearest", "noise/budget/ledger.go", "SetMode(big.ToPositiveInf)", "SetMode(big.ToNearestEven)"},
	{"a Ledger shows its sums rounded to the nearest", "noise/budget/ledger.go", "if accuracy == big.Below {", "if accuracy == big.Below && false {"},
	{"each of several parts as large as one", "noise/budget/allow.go", "before.plus(part.Times(n))", "before.plus(part)"},
	{"released before it is paid for", "noise/budget/release.go", "if err := l.Spend(g); err != nil {", "if err := l.Spend(g); err != nil && false {"},
	{"groups rounded to the nearest", "internal/round/round.go", "if p < 0x1p-900 || math.FMA(a, b, -p) > 0 {", "if p < 0x1p-900 {"},
	{"a group costs one less", "noise/budget/group.go", "return g.steps(m, unit, together(g.unit, unit))", "return g.steps(m-1, unit, together(g.unit, unit))"},
	{"vectors of a group farther apart than they are", "noise/budget/unit.go", "if math.FMA(u.distance, float64(m), -d) < 0 {", "if false {"},
	{"replaced for the price of one", "noise/budget/unit.go", "if u.relation != to.relation {\n\t\treplaced = 2", "if u.relation != to.relation {\n\t\treplaced = 1"},
	{"an element of a user for the price of one", "noise/budget/unit.go", "u.max != 1 {\n\t\t\treplaced = 2", "u.max != 1 {\n\t\t\treplaced = 1"},
	{"a user with more keys than were promised", "noise/budget/unit.go", "case u.max != 0 && (to.max == 0 || to.max > u.max):", "case u.max != 0 && to.max == 0:"},
	{"ℓ₁ taken for ℓ₂", "noise/budget/unit.go", "u.vectorial() != to.vectorial(), u.kind == l1 && to.kind == l2:", "u.vectorial() != to.vectorial():"},
	{"a public number of units taken for private", "noise/budget/unit.go", "case u.relation == Replace && to.relation == AddRemove:", "case false:"},
	{"groups of units cut off", "noise/budget/unit.go", "return ((many-1)/each + 1) * replaced, true", "return max(many/each, 1) * replaced, true"},
	{"μ of a group not squared", "noise/budget/group.go", "muSquares: round.ProductUp(squared, g.muSquares)", "muSquares: round.ProductUp(steps, g.muSquares)"},
}

var privateMutations = []mutation{
	{"concurrent use not seen", "internal/private/private.go:Leave", "if !c.busy {", "if false {"},
	{"concurrent use not seen in one call", "internal/private/private.go:Use", "if !c.busy {", "if false {"},
	{"a part of the data released after a concurrent use", "internal/private/private.go:Use", "*c = cell[S]{}", "c.busy = true"},
	{"a part of the data released after a concurrent use that ended", "internal/private/private.go:Leave", "c.data = nil", "c.busy = true"},
	{"merged and kept", "internal/private/private.go:Merge", "*from.at = cell[O]{why: \"was merged, and gave up its data\"}", "Leave(from)"},
	{"data released after a wrong call", "internal/private/private.go:Poison", "*s.at = cell[S]{why: reason}", "s.at.busy = false"},
	{"data of a Builder that another goroutine is filling released", "internal/private/private.go:Take", "if c.busy {", "if false {"},
	{"copies released one by one", "internal/private/private.go", "func Released[S any](s State[S]) bool { return s.at == nil || s.at.data == nil }", "func Released[S any](s State[S]) bool { return s.at == nil }"},
	{"−0 read into Params", "internal/wire/fields.go", "if math.IsNaN(y) || NegativeZero(y) {", "if math.IsNaN(y) {"},
	{"numbers above the most read into Params", "internal/wire/fields.go", "if uint64(n) > uint64(most) {", "if false {"},
	{"ε without a ceiling", "internal/limits/limits.go", "if !(epsilon >= MinEpsilon && epsilon <= most) {", "if !(epsilon >= MinEpsilon) {"},
	{"δ of 1", "internal/limits/limits.go", "!(delta >= MinDelta && delta < 1)", "!(delta >= MinDelta && delta <= 1)"},
}
