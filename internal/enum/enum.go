// Package enum prints constants and reads them back.
package enum

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/fault"
)

// Name returns names[value], or such as "Relation(9)" for a value without a name.
func Name[T ~uint8](value T, names []string, typeName string) string {
	if int(value) < len(names) && names[value] != "" {
		return names[value]
	}
	return typeName + "(" + strconv.Itoa(int(value)) + ")"
}

// Text returns the name of a constant for JSON, flags and logs: empty for 0 where that is no
// constant, and an error for a value that is none of them.
func Text[T ~uint8](value T, names []string, typeName string) ([]byte, error) {
	if int(value) < len(names) && (value == 0 || names[value] != "") {
		return []byte(names[value]), nil
	}
	return nil, fmt.Errorf("%w: %s", fault.ErrParams, Name(value, nil, typeName))
}

// Parse stores the constant that [Text] gives that text in value. It leaves value as it was for any
// other text.
func Parse[T ~uint8](value *T, text []byte, names []string, typeName string) error {
	i := slices.Index(names, string(text))
	if i < 0 || i > 0 && names[i] == "" {
		return fmt.Errorf("%w: no %s is called %q", fault.ErrFormat, typeName, text)
	}
	*value = T(i)
	return nil
}
