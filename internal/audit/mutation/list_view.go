package main

var viewMutations = []mutation{
	{"JSON of an object that would not come back", "internal/view/view.go", "if err := P(new(T)).UnmarshalBinary(data); err != nil {", "if err := error(nil); err != nil {"},
	{"the second of two encodings read", "internal/view/view.go", "if e.Data != nil {", "if false {"},
	{"infinite bounds that JSON refuses", "internal/view/view.go", "return []byte(\"null\"), nil", "return json.Marshal(float64(n))"},
	{"a constant without a name written", "internal/enum/enum.go", "if int(value) < len(names) && (value == 0 || names[value] != \"\") {", "if int(value) < len(names) {"},
	{"a seed of too few digits", "hashing/seed.go", "if len(digits) != 2*len(s) {", "if len(digits) > 2*len(s) {"},
}
