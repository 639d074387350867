package main

var viewMutations = []mutation{
	{"JSON of an object that would not come back", "internal/view/view.go", "if err := P(new(T)).UnmarshalBinary(data); err != nil {", "if err := error(nil); err != nil {"},
	{"the second of two encodings read", "internal/view/view.go", "if e.Data != nil {", "if false {"},
	{"infinite bounds that JSON refuses", "internal/view/view.go", "return []byte(\"null\"), nil", "return json.Marshal(float64(n))"},
	{"a constant without a name written", "internal/enum/enum.go", "if int(value) < len(names) && (value == 0 || names[value] != \"\") {", "if int(value) < len(names) {"},
	{"a seed of too few digits", "hashing/seed.go", "if len(digits) != 2*len(s) {", "if len(digits) > 2*len(s) {"},
	{"sizes shown without their error", "internal/view/view.go", "Number(of.StdErr())}", "0}"},
	{"a comparison shown with its parts exchanged", "kor/json.go", "c.Union(), c.Intersection(), c.OnlyA(), c.OnlyB()", "c.Union(), c.Intersection(), c.OnlyB(), c.OnlyA()"},
	{"keys that are not text shown as one", "internal/view/view.go", "utf8.ValidString(text) && !strings.HasPrefix(text, raw) {", "!strings.HasPrefix(text, raw) || !utf8.ValidString(text) {"},
	{"a key shown as another one that is not text", "internal/view/view.go", "utf8.ValidString(text) && !strings.HasPrefix(text, raw) {", "utf8.ValidString(text) {"},
	{"a sum shown without its largest keys", "misragries/json.go", "view.Keys(c.Top(c.Len()), c.Interval)", "view.Keys(c.Top(1), c.Interval)"},
}
