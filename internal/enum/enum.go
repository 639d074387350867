// Package enum prints constants.
package enum

import "strconv"

// Name returns names[value], or such as "Relation(9)" for a value without a name.
func Name[T ~uint8](value T, names []string, typeName string) string {
	if int(value) < len(names) && names[value] != "" {
		return names[value]
	}
	return typeName + "(" + strconv.Itoa(int(value)) + ")"
}
