package kjv

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

// The counts that the examples and their documentation rely on, and the text: the digest was
// computed from what the program bible prints, the words of a verse joined by spaces, one verse a
// line.
func TestText(t *testing.T) {
	text, err := Load()
	clitest.Not(t, err != nil, "%v", err)
	digest := sha256.New()
	verses, tokens, pairs, most := 0, 0, 0, 0
	for verse := range text.Verses() {
		digest.Write([]byte(strings.Join(verse, " ") + "\n"))
		distinct := len(slices.Compact(slices.Sorted(slices.Values(verse))))
		verses, tokens, pairs, most = verses+1, tokens+len(verse), pairs+distinct, max(most, distinct)
	}
	if got, want := hex.EncodeToString(digest.Sum(nil)), "177b53c37f6197ae1e76fd9b162764ca72e48cf13ba269dd2dd4ae1075967339"; got != want {
		t.Errorf("the text has SHA-256 %s, want %s", got, want)
	}
	words := text.Words()
	got := []int{verses, tokens, text.Len(), len(words), pairs, most}
	if want := []int{31_102, 789_684, 789_684, 12_824, 616_271, 53}; !slices.Equal(got, want) {
		t.Errorf("verses, tokens twice, words, pairs and words of a verse: %v, want %v", got, want)
	}
	if distinct := slices.Compact(slices.Sorted(text.Tokens())); !slices.Equal(words, distinct) {
		t.Error("the words are not those of the tokens in increasing order")
	}
}
