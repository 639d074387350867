package noise

import "encoding/binary"

// SampleInt draws X. Every integer k has probability exactly tanh(1/(2·scale))·e^{−|k|/scale}, for
// the scale given as a float64. For the zero DiscreteLaplace, which is no law, the draw is uniform
// over all int64.
func (d DiscreteLaplace) SampleInt(src *Source) int64 {
	// as in quickFloor
	if src.state == nil || !(d.law.valid() && d.law.scale < 0x1p20) {
		return d.exactInt(src)
	}
	st := *src.state
	at := bufferBytes - uint(st.left)
	if at > bufferBytes-8 {
		return d.exactInt(src)
	}
	word := st.buf[at : at+8 : at+8]
	w := binary.NativeEndian.Uint64(word)
	if w < leastQuick {
		return d.exactInt(src)
	}
	t, err := d.law.scale*(quickLog(w&^3)+d.law.shift), d.law.scale*quickMargin
	k := int64(t - err)
	if k != int64(t+err) {
		return d.exactInt(src)
	}
	st.left -= 8
	binary.NativeEndian.PutUint64(word, 0)
	return withSign(k, w)
}
