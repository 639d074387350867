// Package exact computes what privacy rests on without an error of the machine: float64 arithmetic
// that errs in a stated direction, intervals of rationals and of integers, integers of 128 bits,
// searches for the first number that passes a test, and uniformly random subsets.
package exact
