package hashing

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/dpsketch/dpsketch/internal/check"
)

// ErrParams reports a public parameter outside its range. It is the same value in all packages.
var ErrParams = check.ErrParams

// Seed is public randomness: it selects the hash functions of a sketch. Parties that merge or
// compare sketches use the same Seed. It must not depend on the data.
//
// The zero Seed is an ordinary seed for the functions of this package. The sketches treat it as
// "not set"; see their Params.
type Seed [16]byte

// NewSeed returns a fresh random Seed from crypto/rand. A Seed is public: no guarantee rests on it,
// only the accuracy for keys that were chosen without knowing it.
func NewSeed() Seed {
	var s Seed
	// rand.Read never returns an error: it ends the process if the system has no randomness.
	_, _ = rand.Read(s[:])
	return s
}

// IsZero reports whether s is the zero Seed.
func (s Seed) IsZero() bool { return s == Seed{} }

// String returns the seed as 32 hexadecimal digits. A seed is public.
func (s Seed) String() string { return hex.EncodeToString(s[:]) }

// MarshalText returns what String does, for JSON and flags.
func (s Seed) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote; see [ParseSeed].
func (s *Seed) UnmarshalText(text []byte) error {
	parsed, err := ParseSeed(string(text))
	if err == nil {
		*s = parsed
	}
	return err
}

// ParseSeed returns the seed of 32 hexadecimal digits. For any other text it returns an error that
// wraps [ErrParams].
func ParseSeed(digits string) (Seed, error) {
	decoded, err := hex.DecodeString(digits)
	if err != nil || len(decoded) != len(Seed{}) {
		return Seed{}, check.ParamsError("hashing", "seed", strconv.Quote(digits), "32 hexadecimal digits")
	}
	return Seed(decoded), nil
}

// Derive returns a seed for the hash function with the given label of a sketch that needs several.
// Seeds derived under distinct labels, and the seed itself, behave as independent seeds.
func (s Seed) Derive(label uint64) Seed {
	block := s.expand(purposeDerive, label)
	return Seed(block[:len(s)])
}

// halves returns the seed as two little-endian words.
func (s Seed) halves() (s0, s1 uint64) {
	return binary.LittleEndian.Uint64(s[:8]), binary.LittleEndian.Uint64(s[8:])
}

// purpose separates the coefficient streams of one seed. The numbers are pinned by golden values;
// those left out belonged to families that are gone.
type purpose uint8

const (
	purposeDerive     purpose = 0
	purposeRange      purpose = 2
	purposePolynomial purpose = 5
)

// expand returns block number counter of the stream of a purpose: SHA-256 of the 41 bytes
// "dpsketch/hashing" ‖ seed ‖ purpose ‖ counter (little-endian). The lengths are fixed, so distinct
// (seed, purpose, counter) hash distinct inputs.
func (s Seed) expand(p purpose, counter uint64) [sha256.Size]byte {
	var in [41]byte
	copy(in[:16], "dpsketch/hashing")
	copy(in[16:32], s[:])
	in[32] = byte(p)
	binary.LittleEndian.PutUint64(in[33:], counter)
	return sha256.Sum256(in[:])
}
