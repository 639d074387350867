// Package surface holds no code, only the test that walks the public API of every package and asks of each type what its role demands:
//
//	a released object (it decodes)         Guarantee, Params, String, the codec; no exported field; a golden file, a fuzz target,
//	                                       dptest.Codec and dptest.Readers in its package's tests
//	a Builder (it has Add, Toggle, …       redaction by Format, LogValue and MarshalText, and dptest.Redacted in the tests;
//	and Release)                           no method that encodes
//	every package                          a doc.go of at most 80 lines, and an Example
//
// A new type that forgets one of these fails the test by its name.
package surface
