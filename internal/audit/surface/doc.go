// Package surface holds no code, only the test that walks the public API of every package and asks
// of each type what its role demands:
//
//	a released object  Guarantee, Params, String, the whole codec, JSON; no exported field;
//	                   dptest.Codec in a test, dptest.Decoded in a fuzz target, and an Example; in
//	                   the list of released_test.go, by which it has a golden file and concurrent
//	                   readers
//	a Builder          Release or Step, Released, no other way out; redaction by Format, LogValue,
//	                   MarshalText and UnmarshalText, and dptest.Redacted in a test
//	a Mechanism        Guarantee; no exported field
//	anything else      a place in a list of roles_test.go: public, or private, and then
//	                   dptest.Redacted in a test
//	every package      a doc.go of at most 80 lines, and an Example
//	every function, and every reading of what is released or computed from it: an Example
//
// A released object is what has a codec or comes out of a Builder or a Mechanism. A Builder is what
// has Add, Toggle or Merge, and a Mechanism what has Release.
//
// Types and tests are found by type checking, so neither names nor generics matter. A new type that
// forgets one of these fails the test by its name and what it lacks.
package surface
