package main

var viewMutations = []mutation{
	{"JSON of an object that would not come back", "internal/wire/json.go", "if err := P(new(T)).UnmarshalBinary(data); err != nil {", "if err := error(nil); err != nil {"},
	{"the second of two encodings read", "internal/wire/json.go", "if e.Data != nil {", "if false {"},
	{"infinite bounds that JSON refuses", "internal/wire/json.go", "return []byte(\"null\"), nil", "return json.Marshal(float64(n))"},
	{"a constant without a name written", "internal/check/params.go", "if int(value) < len(names) && (value == 0 || names[value] != \"\") {", "if int(value) < len(names) {"},
	{"the end of a short string is not hashed", "hashing/fingerprint.go", "last := eight(key[n-8:])", "last := eight(key)"},
	{"a seed of too few digits", "hashing/seed.go", "len(decoded) != len(Seed{})", "len(decoded) > len(Seed{})"},
	{"sizes shown without their error", "internal/wire/json.go", "Number(of.StdErr())}", "0}"},
	{"a comparison shown with its parts exchanged", "kor/encode.go", "c.Union(), c.Intersection(), c.OnlyA(), c.OnlyB()", "c.Union(), c.Intersection(), c.OnlyB(), c.OnlyA()"},
	{"keys that are not text shown as one", "internal/wire/json.go", "utf8.ValidString(text) && !strings.HasPrefix(text, raw) {", "!strings.HasPrefix(text, raw) || !utf8.ValidString(text) {"},
	{"a key shown as another one that is not text", "internal/wire/json.go", "utf8.ValidString(text) && !strings.HasPrefix(text, raw) {", "utf8.ValidString(text) {"},
	{"a sum shown without its largest keys", "misragries/json.go", "wire.KeyEstimates(c.Top(c.Len()), c.Interval)", "wire.KeyEstimates(c.Top(1), c.Interval)"},
}
