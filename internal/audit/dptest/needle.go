package dptest

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// needle is one form in which a secret may show.
type needle struct {
	secret, form, text string
	exact              bool // look for text as it is, not ignoring case, spaces and 0x
}

// needles returns the forms of a secret: itself, its bytes in hexadecimal, decimal and base64 at
// the three alignments, and Go-quoted; for an integer also its bases, for a number its float forms
// and the bytes of its binary encodings.
func needles(secret string) []needle {
	var list []needle
	loose := func(form, text string) {
		list = append(list, needle{secret, form, compact(text), false})
	}
	exact := func(form, text string) {
		list = append(list, needle{secret, form, text, true})
	}
	exact("as it is", secret)
	loose("as it is", secret)
	loose("hex bytes", hex.EncodeToString([]byte(secret)))
	loose("decimal bytes", strings.Trim(fmt.Sprint([]byte(secret)), "[]"))
	loose("bytes as Go source", strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%#v", []byte(secret)), "[]byte{"), "}"))
	if quoted := strconv.QuoteToASCII(secret); quoted != `"`+secret+`"` {
		loose("quoted", quoted[1:len(quoted)-1])
	}
	for shift := range 3 {
		// drop the leading and trailing digits that depend on the neighbouring bytes
		b64 := base64.StdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		b64 = b64[[]int{0, 2, 3}[shift] : len(strings.TrimRight(b64, "="))-1]
		exact("base64", b64)
		exact("base64", strings.NewReplacer("+", "-", "/", "_").Replace(b64))
	}
	if i, ok := new(big.Int).SetString(secret, 10); ok {
		for _, base := range []int{2, 8, 16} {
			loose("base "+strconv.Itoa(base), i.Text(base))
		}
		if i.IsInt64() || i.IsUint64() {
			bits := new(big.Int).And(i, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
			binaries(exact, loose, "integer", bits)
			binaries(exact, loose, "gob integer", uint64(int64(bits)<<1^int64(bits)>>63))
		}
	}
	if f, err := strconv.ParseFloat(secret, 64); err == nil {
		for _, format := range "efgxb" {
			loose("float "+string(format), strconv.FormatFloat(f, byte(format), -1, 64))
		}
		loose("float, six decimals", strconv.FormatFloat(f, 'f', 6, 64))
		loose("float exponent, six decimals", strconv.FormatFloat(f, 'e', 6, 64))
		binaries(exact, loose, "float", math.Float64bits(f))
	}
	return list
}

// binaries adds the bytes of a word in both orders, without the leading zeros, raw and in
// hexadecimal. Fewer than four bytes would be found by chance.
func binaries(exact, loose func(form, text string), name string, word uint64) {
	big := strings.TrimLeft(string(binary.BigEndian.AppendUint64(nil, word)), "\x00")
	little := strings.TrimRight(string(binary.LittleEndian.AppendUint64(nil, word)), "\x00")
	for _, b := range []string{big, little} {
		if len(b) >= 4 {
			exact(name+" bytes", b)
			loose(name+" bytes in hex", hex.EncodeToString([]byte(b)))
		}
	}
}

// haystack is a printed text as it is and compacted.
type haystack struct{ text, compact string }

func newHaystack(text string) haystack { return haystack{text, compact(text)} }

func (h haystack) holds(n needle) bool {
	if n.exact {
		return strings.Contains(h.text, n.text)
	}
	return strings.Contains(h.compact, n.text)
}

// compact drops what fmt puts between digits, and the case of letters. Commas stay out of both
// sides as well.
func compact(text string) string {
	short := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ' || c == ',':
		case c == '0' && i+1 < len(text) && text[i+1]|0x20 == 'x':
			i++
		case 'A' <= c && c <= 'Z':
			short = append(short, c|0x20)
		default:
			short = append(short, c)
		}
	}
	return string(short)
}
