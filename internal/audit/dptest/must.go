package dptest

// Must returns what a function returns without an error, and panics with an error.
func Must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}
