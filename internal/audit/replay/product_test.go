package replay_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/internal/audit/replay"
	"github.com/dpsketch/dpsketch/noise"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// The product of all options. No list of cases feeds it: it crosses every way into a release with
// every option of its Params and with neighbours made by role, and looks at the exact integers that
// noise is added to.
//
// A case is released four times or more with the draws of noise fixed:
//
//   - with and without the unit, all noise 0: what is released differs by d, label by label;
//   - without it, and each law of noise in turn one standard deviation large: a number that changes
//     by s has noise of that size.
//
// So Σ(d/s)² of Gaussian and Σ|d|/s of Laplace noise is what the unit really has at stake, whatever
// the library's calibration says, and it must be within the Guarantee that the release states. A
// number that differs and has no noise fails, as does one of a key that the unit does not have, and
// a key of the unit alone if noise shows it that is too frequent for δ. Ways that add the same rows
// release the same numbers. What the rest adapts to is drawn, if it depends on the data.
type subject struct {
	params  any              // valid ones; a field at a time, and two, take other values
	values  map[string][]any // of fields, where those of the type (see choices) do not fit
	ways    []string         // the constructor, then the methods that are called
	builder any              // what has these methods, a nil pointer
	release func(c *pcase) (out any, g budget.Guarantee)
	// units and others are the roles, see unitRoles and otherRoles; nil means all of them.
	units, others []string
	// most is how many rows a unit may have: 0 for any number, which the Builder limits.
	most func(params any) int
	// spills says that an element may change the numbers of keys which its unit does not have.
	spills bool
	// derived are labels of numbers that follow from others of the release, or of the Params.
	derived string
	// given are labels of what is released first, and what follows adapts to it: where it differs
	// the case compares nothing.
	given string
	// within are labels of numbers that are compared only where, for their key, those of the second
	// labels are the same.
	within [2]string
	// first are labels of numbers that are released before the others, which adapt to them: the
	// noise of the unit's side makes them the same, and what that takes is at stake.
	first string
	// replaced is true where the neighbour has another row in the place of the unit's, by the
	// Params.
	replaced func(params any) bool
	// limit gives, in place of the measured noise, how far a label's numbers may be apart, in a
	// norm: for noise that no sampler of package noise draws.
	limit func(c *pcase, label string) (norm, bound float64)
	// capped says that numbers are cut off at an upper end, where they are: so the noise that is
	// tried is negative.
	capped bool
	// unchecked says that the Params' own Guarantee does not know what this constructor takes.
	unchecked func(way string) bool
	// alike are ways that release the same numbers of the same rows, where they have the same
	// constructor.
	alike string
	// costly says that Params take long to calibrate.
	costly bool
	// slack is a relative error of what is measured, where numbers are ratios of noisy ones.
	slack float64
	// own has roles of the subject, besides unitRoles.
	own map[string]func() []row
	// draws says which draws may differ, and why; rare says it, where it says anything, of cases in
	// which the unit has keys of its own, or the others have few, or which rarely names.
	draws, rare pair
	rarely      func(c *pcase) bool

	patterns map[string]*regexp.Regexp
}

// pcase is one case of the product.
type pcase struct {
	params       any
	way          string
	unit, others string
	place        string // of the unit: before, between, after
	side         int    // 1 without the unit
	replaced     bool
	most         int
	drawn        map[string]bool // what is known to be drawn: see choices
	own          map[string]func() []row
}

// row is one row of a user.
type row struct {
	user, key int
	value     float64
}

// shared are the keys that many users have, own those that the unit alone has.
const (
	shared = 24
	own    = 1000
)

// unitRoles are the rows of the unit, without its number.
var unitRoles = map[string]func() []row{
	"none":     func() []row { return nil },
	"one key":  func() []row { return []row{{key: 3, value: 1}} },
	"own key":  func() []row { return []row{{key: own, value: 1}} },
	"few keys": func() []row { return keysOf(0, 4, 2) },
	"all keys": func() []row { return keysOf(0, shared, 1) },
	"too many": func() []row { return append(keysOf(0, shared, 1), keysOf(own, 1200, 3)...) },
	"repeated": func() []row {
		return slices.Concat(slices.Repeat([]row{{key: 5, value: 2}}, 40), slices.Repeat([]row{{key: 6, value: 1}}, 3))
	},
	"values": func() []row {
		var rows []row
		for i, x := range []float64{nan, inf, -inf, math.Copysign(0, -1), 1e300, -1e300, 0.5, 5e-324, 1, 2, 3, -2, 4, 0.999, 7, 100} {
			rows = append(rows, row{key: i, value: x})
		}
		return rows
	},
	"beyond": func() []row {
		var rows []row
		for i := range 600 {
			rows = append(rows, row{key: 7, value: 1e6}, row{key: 7, value: -1e6 - float64(i)})
		}
		return append(rows, keysOf(9, 3, 2)...)
	},
	"largest": func() []row { return keysOf(2, 2, 1e300) },
	"least":   func() []row { return keysOf(2, 2, -1e300) },
}

func keysOf(first, n int, value float64) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{key: first + i, value: value}
	}
	return rows
}

// otherRoles are the rows of the other units, from number 1.
var otherRoles = map[string]func() []row{
	"nobody": func() []row { return nil },
	"few":    func() []row { return []row{{1, 3, 1}, {2, 3, 2}, {2, 4, 0.5}} },
	"one key each": func() []row {
		var rows []row
		for i := range 90 * shared {
			rows = append(rows, row{1 + i, i % shared, float64(i%4) - 0.5})
		}
		return rows
	},
	"two keys each": func() []row {
		var rows []row
		for i := range 90 * shared {
			rows = append(rows, row{1 + i, i % shared, 1}, row{1 + i, (5*i + 2) % shared, 2})
		}
		return rows
	},
	"all keys each": func() []row {
		var rows []row
		for i := range 250 {
			for key := range shared {
				rows = append(rows, row{1 + i, key, float64((i+key)%4) - 0.5})
			}
		}
		return rows
	},
	// Sums that a saturating addition would cut off, sooner or later by the order of rows, of users
	// who are in one part of a table that splits users by low bits of their numbers.
	"both signs": func() []row {
		var rows []row
		for user := 1; user <= 90*shared; user++ {
			rows = append(rows, row{user, user % shared, 1})
			if user%64 == 0 && user <= 10*64 {
				// 2¹⁰ of the largest values are all that a saturating sum holds.
				for i := range 1080 + 1<<10 {
					rows = append(rows, row{user, user % shared, []float64{1e9, -1e9}[i/1080]})
				}
			}
		}
		return rows
	},
}

var otherRows = map[string][]row{} // by role, made once

// unitRows returns the rows of the unit, as many as it may have.
func (c *pcase) unitRows() []row {
	role := unitRoles[c.unit]
	if role == nil {
		role = c.own[c.unit]
	}
	rows := role()
	if c.most > 0 {
		rows = rows[:min(len(rows), c.most)]
	}
	return rows
}

// rows returns all rows, a user's together.
func (c *pcase) rows() []row {
	others, ok := otherRows[c.others]
	if !ok {
		others = otherRoles[c.others]()
		otherRows[c.others] = others
	}
	if c.side == 1 && !c.replaced {
		return others
	}
	rows := c.unitRows()
	if c.side == 1 { // another row in its place
		rows = []row{{key: 1, value: 0.25}}
	}
	switch c.place {
	case "before":
		return slices.Concat(rows, others)
	case "after":
		return slices.Concat(others, rows)
	}
	half := len(others) / 2
	for half > 0 && half < len(others) && others[half].user == others[half-1].user {
		half++
	}
	return slices.Concat(others[:half], rows, others[half:])
}

// users returns the rows of each user.
func (c *pcase) users() (all [][]row) {
	rows := c.rows()
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].user == rows[0].user {
			n++
		}
		all, rows = append(all, rows[:n]), rows[n:]
	}
	if c.unit == "none" && c.side == 0 { // a user without a row
		all = append(all, nil)
	}
	return all
}

// mixed returns the rows by turns, one of each user, so that no user's are together.
func (c *pcase) mixed() (all []row) {
	rows := c.rows()
	rounds := map[int]int{}
	turn := make([]int, len(rows))
	for i, r := range rows {
		turn[i] = rounds[r.user]
		rounds[r.user]++
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return turn[a] - turn[b] })
	for _, i := range order {
		all = append(all, rows[i])
	}
	return all
}

// halves splits the rows of each user, so that he is in both: every second one, or of a user with
// thousands in a key the first ones alone.
func halves(rows []row) (a, b []row) {
	times := map[int]int{}
	for _, r := range rows {
		if times[r.user]++; (times[r.user]+r.user)%2 == 0 || r.user > 0 && r.user%64 == 0 && times[r.user] > 9 {
			a = append(a, r)
		} else {
			b = append(b, r)
		}
	}
	return a, b
}

// number is an integer or a float64 of a release.
type number struct {
	whole *big.Int
	real  float64
}

// minus returns x − y, exactly for integers.
func (x number) minus(y number) float64 {
	if x.whole != nil && y.whole != nil {
		d, _ := new(big.Float).SetInt(new(big.Int).Sub(x.whole, y.whole)).Float64()
		return d
	}
	if x.real == y.real || x.real != x.real && y.real != y.real {
		return 0
	}
	return x.real - y.real
}

// collect walks a released object and notes every number in it, by a label: the path of fields, and
// the key where an element of a slice has one.
func collect(v reflect.Value, label string, into map[string]number, depth int) {
	if depth > 9 {
		return
	}
	switch v.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		into[label] = number{whole: big.NewInt(v.Int())}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		into[label] = number{whole: new(big.Int).SetUint64(v.Uint())}
	case reflect.Float64:
		into[label] = number{real: v.Float()}
	case reflect.Bool:
		x := 0.
		if v.Bool() {
			x = 1
		}
		into[label] = number{real: x}
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			collect(v.Elem(), label, into, depth)
		}
	case reflect.Struct:
		if v.Type().Name() == "Int128" && v.NumField() == 2 && v.Type().Field(0).Name == "Hi" {
			x := new(big.Int).Lsh(big.NewInt(v.Field(0).Int()), 64)
			into[label] = number{whole: x.Add(x, new(big.Int).SetUint64(v.Field(1).Uint()))}
			return
		}
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if notReleased[f.Name] || f.Type.Kind() == reflect.Func {
				continue
			}
			at := label + "." + f.Name
			if f.Anonymous {
				at = label
			}
			collect(v.Field(i), at, into, depth+1)
		}
	case reflect.Slice, reflect.Array:
		// Each by itself.
		if strings.HasSuffix(label, "bits") && v.Type().Elem().Kind() == reflect.Uint64 {
			for i := range v.Len() {
				for j := range 64 {
					into[fmt.Sprint(label, "[", i, ".", j, "]")] = number{real: float64(v.Index(i).Uint() >> j & 1)}
				}
			}
			return
		}
		for i := range v.Len() {
			x := v.Index(i)
			at := fmt.Sprint(label, "[", i, "]")
			if x.Kind() == reflect.Struct {
				for _, name := range []string{"key", "Key"} {
					if k := x.FieldByName(name); k.IsValid() {
						at = fmt.Sprint(label, "[key ", k, "]")
					}
				}
			}
			collect(x, at, into, depth+1)
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			collect(it.Value(), fmt.Sprint(label, "[key ", it.Key(), "]"), into, depth+1)
		}
	}
}

// notReleased are fields of released objects that hold what follows from the Params alone.
var notReleased = map[string]bool{"params": true, "Params": true, "law": true, "calibration": true, "Law": true, "noises": true, "formulas": true, "shape": true, "decoder": true, "axis": true, "place": true, "terms": true, "key": true, "Key": true}

// labels returns the numbers of what is released.
func labels(out any) map[string]number {
	into := map[string]number{}
	collect(reflect.ValueOf(out), "", into, 0)
	return into
}

// scaleOf returns the standard deviation of Gaussian noise or the scale of Laplace noise, in steps.
func scaleOf(d replay.Draw) (scale float64, gaussian, known bool) {
	step := 1.
	if _, text, ok := strings.Cut(d.Call, " step="); ok {
		fmt.Sscan(text, &step)
	}
	switch law := d.Law.(type) {
	case noise.Gaussian:
		return law.Sigma() / step, true, true
	case noise.DiscreteGaussian:
		return law.Sigma(), true, true
	case noise.Laplace:
		return law.Scale() / step, false, true
	case noise.DiscreteLaplace:
		return law.Scale(), false, true
	case noise.Staircase: // by its sensitivity it loses ε
		return fieldIn(reflect.ValueOf(law), "sensitivity") / fieldIn(reflect.ValueOf(law), "epsilon") / step, false, true
	case noise.CorrelatedGaussian:
		return law.Marginal().Sigma() / step, true, true
	}
	return 0, false, false
}

// fieldIn returns a field of a struct, or of the first struct in it that has one of that name.
func fieldIn(v reflect.Value, name string) float64 {
	if f := v.FieldByName(name); f.IsValid() {
		return f.Float()
	}
	return fieldIn(v.Field(0), name)
}

// stake is what a unit has at stake in a release.
// Of differences in units of Gaussian and of Laplace noise.
type stake struct{ squares, sum float64 }

// measured is what was found of one case.
type measured struct {
	differ int  // numbers that differ
	given  bool // something differs to which the rest adapts
	alike  bool // another way was compared
	stake  stake
	chosen map[string]number // that are given
	drawn  map[string]bool   // of these, by name, what is another one by other draws
	wrong  []string
}

// released returns what a case releases, or the error by which it is refused.
func (s *subject) released(c *pcase) (out any, g budget.Guarantee, err error) {
	defer func() {
		r := recover()
		refused, ok := r.(refusal)
		if err = refused.error; r != nil && !ok {
			panic(r)
		}
	}()
	out, g = s.release(c)
	return out, g, nil
}

// measure releases a case with and without its unit, and with each noise in turn.
func (s *subject) measure(c pcase) (m measured, refused error) {
	var panicked any
	words := uint64(0)
	run := func(side int, fixed func(replay.Draw) float64) (numbers map[string]number, draws []replay.Draw, g budget.Guarantee, err error) {
		c := c
		c.side = side
		draws = replay.RecordFixed(words, fixed, func() {
			defer func() { panicked = recover() }()
			var out any
			if out, g, err = s.released(&c); err == nil {
				numbers = labels(out)
			}
		})
		return numbers, draws, g, err
	}
	silent := func(replay.Draw) float64 { return 0 }
	with, shows, g, err := run(0, silent)
	if panicked != nil {
		return m, fmt.Errorf("panic: %v", panicked)
	}
	without, draws, _, otherwise := run(1, silent)
	switch {
	case panicked != nil || (err == nil) != (otherwise == nil):
		m.wrong = append(m.wrong, fmt.Sprint("only one of two neighbours is refused: ", err, otherwise, panicked))
		return m, nil
	case err != nil:
		return m, err
	}
	m.wrong = append(m.wrong, s.shownAlone(&c, g, shows, run, &words)...)
	if other := s.otherWay(&c); other != "" {
		way := c.way
		c.way = other
		numbers, _, _, err := run(0, silent)
		if c.way = way; err != nil || panicked != nil {
			m.wrong = append(m.wrong, fmt.Sprint("is refused by ", other, ": ", err, panicked))
			return m, nil
		}
		m.alike = true
		m.wrong = append(m.wrong, s.disagree(with, numbers, other)...)
	}
	if s.first != "" {
		with = s.pin(with, without, draws, run, &m)
	}
	if s.given != "" {
		m.chosen, m.drawn = s.choices(without, c.drawn, run, &words)
		for label, x := range with {
			if y, ok := without[label]; s.pattern(s.given).MatchString(label) && (!ok || x.minus(y) != 0) {
				m.given = true
				return m, nil
			}
		}
	}
	d := map[string]float64{}
	has := map[string]bool{}
	for _, r := range c.unitRows() {
		has[fmt.Sprint(r.key)] = true
	}
	if s.comparable(with, without); c.others == "both signs" { // one of many values is drawn
		maps.DeleteFunc(with, s.drawn)
	}
	for label, x := range with {
		y, ok := without[label]
		key := keyOf(label)
		if !ok {
			if !s.spills && !has[key] && !c.replaced {
				m.wrong = append(m.wrong, label+" is there with the unit alone")
			}
			continue
		}
		if z := x.minus(y); z != 0 {
			d[label] = z
			if key != "" && !has[key] && !s.spills && !c.replaced {
				m.wrong = append(m.wrong, fmt.Sprintf("%s, of a key that the unit does not have, differs by %g", label, z))
			}
		}
	}
	if m.differ = len(d); m.differ == 0 {
		return m, nil
	}
	if s.limit != nil {
		s.limited(&c, d, &m)
		return m, nil
	}
	s.atStake(d, with, without, draws, run, &m)
	if len(m.wrong) == 0 {
		m.stake.squares /= (1 + s.slack) * (1 + s.slack)
		m.stake.sum /= 1 + s.slack
		m.wrong = beyond(m.stake, g)
	}
	return m, nil
}

// shownAlone returns keys that the unit alone has and that noise shows which is too frequent: each
// law in turn is at a point that it exceeds 64 times as often as the δ that is left at any ε.
// What rounds by chance does so by other words twice more, so that it was no luck. Without a δ such
// a key may be one that noise shows.
func (s *subject) shownAlone(c *pcase, g budget.Guarantee, draws []replay.Draw, run runner, words *uint64) (shown []string) {
	tail := 64 * g.DeltaAt(1<<10)
	if c.replaced || tail < 0x1p-200 || tail > 0.25 { // below, it is of noise far away
		return nil
	}
	alone := map[string]bool{}
	for _, r := range c.unitRows() {
		alone[fmt.Sprint(r.key)] = true
	}
	for _, r := range c.rows() {
		if r.user != 0 {
			delete(alone, fmt.Sprint(r.key))
		}
	}
	if len(alone) == 0 {
		return nil
	}
	normal := made(noise.NewGaussian(1))
	var met []replay.Draw
	for _, x := range draws {
		scale, gaussian, known := scaleOf(x)
		if !known || slices.ContainsFunc(met, func(y replay.Draw) bool { return sameDraw(x, y) }) {
			continue
		}
		met = append(met, x)
		point := -scale * math.Log(2*tail)
		if gaussian {
			point = -scale * normal.Quantile(tail)
		}
		times := map[string]int{}
		for *words = range 3 {
			numbers, _, _, err := run(0, func(y replay.Draw) float64 {
				if sameDraw(x, y) {
					return math.Floor(point)
				}
				return 0
			})
			if err != nil {
				break
			}
			before := len(times)
			there := map[string]bool{}
			for label := range numbers {
				if key := keyOf(label); alone[key] && !there[key] {
					there[key] = true
					times[key]++
				}
			}
			if before == 0 && len(times) == 0 {
				break
			}
		}
		*words = 0
		for key, n := range times {
			if n == 3 {
				shown = append(shown, fmt.Sprintf("key %s, which the unit alone has, is shown by noise that is reached with probability %g", key, tail))
			}
		}
	}
	return shown
}

// comparable drops numbers that follow from others, and those that are of something else on the
// other side.
func (s *subject) comparable(with, without map[string]number) {
	other := map[string]bool{} // keys
	for label, x := range with {
		if s.within[1] != "" && s.pattern(s.within[1]).MatchString(label) && x.minus(without[label]) != 0 {
			other[keyOf(label)] = true
		}
	}
	for label := range with {
		if s.follows(label) || other[keyOf(label)] && s.pattern(s.within[0]).MatchString(label) {
			delete(with, label)
		}
	}
}

// otherWay returns the first way that releases the same as that of the case, "" if there is none.
// Of too many keys each way draws others.
func (s *subject) otherWay(c *pcase) string {
	if s.alike == "" || c.unit == "too many" || !s.pattern(s.alike).MatchString(c.way) {
		return ""
	}
	word := func(way string) string { return strings.Fields(way)[0] }
	for _, way := range s.ways {
		if s.pattern(s.alike).MatchString(way) && word(way) == word(c.way) {
			if way == c.way {
				break
			}
			return way
		}
	}
	return ""
}

// drawn reports whether a number is of values that are drawn: each way draws others.
func (s *subject) drawn(label string, _ number) bool {
	return s.within[0] != "" && s.pattern(s.within[0]).MatchString(label)
}

// disagree says where two ways release different numbers of the same rows.
func (s *subject) disagree(one, other map[string]number, way string) (wrong []string) {
	all := one
	one, other = maps.Clone(one), maps.Clone(other)
	s.comparable(one, other)
	s.comparable(other, all)
	maps.DeleteFunc(one, s.drawn)
	maps.DeleteFunc(other, s.drawn)
	for _, label := range sortedKeys(one) {
		if y, ok := other[label]; !ok || one[label].minus(y) != 0 {
			wrong = append(wrong, fmt.Sprintf("%s is another number by %s", label, way))
		}
	}
	for _, label := range sortedKeys(other) {
		if _, ok := one[label]; !ok {
			wrong = append(wrong, fmt.Sprintf("%s is there by %s alone", label, way))
		}
	}
	return wrong[:min(len(wrong), 2)]
}

// choices returns what is given without the unit, and by name what of it other draws change, where
// that is not known.
func (s *subject) choices(without map[string]number, known map[string]bool, run runner, words *uint64) (chosen map[string]number, drawn map[string]bool) {
	chosen, drawn = map[string]number{}, map[string]bool{}
	unknown := false
	for label, x := range without {
		if s.pattern(s.given).MatchString(label) {
			chosen[label] = x
			unknown = unknown || !known[digits.ReplaceAllString(label, "")]
		}
	}
	if !unknown {
		return chosen, drawn
	}
	rng := rand.New(rand.NewPCG(1, 1))
	*words = 5
	loud, _, _, err := run(1, func(x replay.Draw) float64 {
		scale, _, _ := scaleOf(x)
		return math.Round(30 * scale * rng.NormFloat64())
	})
	*words = 0
	for label, x := range chosen {
		if y, ok := loud[label]; err == nil && ok && x.minus(y) != 0 {
			drawn[digits.ReplaceAllString(label, "")] = true
		}
	}
	return chosen, drawn
}

// keyOf returns the key in a label, "" without one.
func keyOf(label string) string {
	_, text, ok := strings.Cut(label, "[key ")
	if !ok {
		return ""
	}
	key, _, _ := strings.Cut(text, "]")
	return key
}

type runner func(side int, fixed func(replay.Draw) float64) (map[string]number, []replay.Draw, budget.Guarantee, error)

// atStake measures the noise of the numbers that differ, and with it what the unit has at stake.
//
// A draw for each number alone is a row of its own; one that several numbers share is a column for
// all of them. With D the variances of the former and T the columns of the latter, the least noise
// that explains differences d has the squared length dᵀ·(D + T·Tᵀ)⁻¹·d for Gaussian noise, which is
// μ². For Laplace noise a shared draw is taken to have moved as far as one of the numbers needs.
func (s *subject) atStake(d map[string]float64, with, without map[string]number, draws []replay.Draw, run runner, m *measured) {
	type group struct {
		draw     replay.Draw
		times    int
		gaussian bool
		scale    float64
	}
	var groups []group
	flip := 0. // ln((1−p)/p) of bits
	for _, x := range draws {
		if law, ok := x.Law.(noise.Bernoulli); ok {
			p := float64(law.K()) * 0x1p-64
			flip = math.Log((1 - p) / p)
		}
		scale, gaussian, known := scaleOf(x)
		if !known {
			continue
		}
		if i := slices.IndexFunc(groups, func(g group) bool { return sameDraw(g.draw, x) }); i >= 0 {
			groups[i].times++
			continue
		}
		groups = append(groups, group{x, 1, gaussian, scale})
	}
	// Where a draw is shared, numbers that do not differ count as well: it would move them.
	var names []string
	for _, label := range sortedKeys(with) {
		if _, ok := without[label]; ok {
			names = append(names, label)
		}
	}
	variance, scale := map[string]float64{}, map[string]float64{}
	// Shifts by a draw that several share, in units of its scale.
	var normals, laplaces []map[string]float64
	for _, label := range names {
		if strings.Contains(label, "bits[") && flip > 0 {
			scale[label] = 1 / flip
		}
	}
	for _, g := range groups {
		steps := math.Max(1, math.Round(g.scale))
		if s.capped {
			steps = -steps
		}
		var loud map[string]number
		for _, steps = range []float64{steps, -steps, 1, -1} { // until all that differ are there
			var err error
			loud, _, _, err = run(1, func(x replay.Draw) float64 {
				if sameDraw(g.draw, x) {
					return steps
				}
				return 0
			})
			if err != nil {
				m.wrong = append(m.wrong, "with noise: "+err.Error())
				return
			}
			missing := func(label string) bool { _, ok := loud[label]; return !ok }
			if !slices.ContainsFunc(sortedKeys(d), missing) {
				break
			}
		}
		moved := map[string]float64{}
		for _, label := range names {
			if y, ok := loud[label]; ok {
				if r := y.minus(without[label]) * g.scale / steps; r != 0 {
					moved[label] = r
				}
			}
		}
		if g.times > 1 && !s.costly {
			if columns, mixed := s.mixed(without, run, g.draw, steps, g.scale/steps, g.times, names); mixed {
				if g.gaussian {
					normals = append(normals, columns...)
				} else {
					laplaces = append(laplaces, columns...)
				}
				continue
			}
		}
		several := 0
		for label, y := range loud {
			if x, ok := without[label]; ok && y.minus(x) != 0 && !s.follows(label) {
				several++
			}
		}
		correlated, isCorrelated := g.draw.Law.(noise.CorrelatedGaussian)
		switch {
		case isCorrelated:
			z, n := fieldIn(reflect.ValueOf(correlated), "shared"), fieldIn(reflect.ValueOf(correlated), "own")
			column := map[string]float64{}
			for label, r := range moved {
				variance[label] += r * r * n * n / (z*z + n*n)
				column[label] = r * z / math.Hypot(z, n)
			}
			normals = append(normals, column)
		case g.times == 1 && several > 1 && g.gaussian:
			normals = append(normals, moved)
		case g.times == 1 && several > 1:
			laplaces = append(laplaces, moved)
		case g.gaussian:
			for label, r := range moved {
				variance[label] += r * r
			}
		default:
			for label, r := range moved {
				scale[label] = math.Max(scale[label], math.Abs(r))
			}
		}
	}
	has := func(columns []map[string]float64, label string) bool {
		return slices.ContainsFunc(columns, func(c map[string]float64) bool { return c[label] != 0 })
	}
	var normal []string
	laplace := map[string]float64{}
	for _, label := range names {
		switch {
		case has(normals, label) || d[label] != 0 && variance[label] > 0:
			normal = append(normal, label)
		case has(laplaces, label) || d[label] != 0 && scale[label] > 0:
			laplace[label] = d[label]
		case d[label] == 0:
		default:
			m.wrong = append(m.wrong, fmt.Sprintf("%s differs by %g, and has no noise", label, d[label]))
		}
	}
	if n := len(normal); n > 0 {
		covariance, x := mat.NewSymDense(n, nil), mat.NewVecDense(n, nil)
		for i, a := range normal {
			unit := func(label string) float64 { // all in units of about their own noise
				size := variance[label]
				for _, c := range normals {
					size += c[label] * c[label]
				}
				return math.Sqrt(size)
			}
			x.SetVec(i, d[a]/unit(a))
			for j, b := range normal[:i+1] {
				v := 0.
				if i == j {
					v = variance[a]
				}
				for _, c := range normals {
					v += c[a] * c[b]
				}
				covariance.SetSym(i, j, v/unit(a)/unit(b))
			}
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(covariance, true) {
			m.wrong = append(m.wrong, "no eigenvalues")
			return
		}
		var vectors mat.Dense
		eigen.VectorsTo(&vectors)
		for i, value := range eigen.Values(nil) {
			along := mat.Dot(vectors.ColView(i), x)
			switch {
			case value > 1e-12:
				m.stake.squares += along * along / value
			case math.Abs(along) > 1e-4:
				m.wrong = append(m.wrong, fmt.Sprintf("%v differ by what no noise explains", normal))
				return
			}
		}
	}
	cost := func(shift float64, moved map[string]float64) (sum float64) {
		sum = math.Abs(shift)
		for label, x := range laplace {
			rest := x - shift*moved[label]
			if math.Abs(rest) <= 1e-9*math.Abs(x) {
				continue
			}
			if scale[label] == 0 {
				return inf
			}
			sum += math.Abs(rest) / scale[label]
		}
		return sum
	}
	least := cost(0, nil)
	for _, moved := range laplaces {
		for label, x := range laplace {
			if moved[label] != 0 {
				least = min(least, cost(x/moved[label], moved))
			}
		}
	}
	m.stake.sum += least
}

// pin returns the numbers with the unit, where the noise of those that are released first makes
// them the same as without it.
func (s *subject) pin(with, without map[string]number, draws []replay.Draw, run runner, m *measured) map[string]number {
	for _, label := range sortedKeys(with) {
		if !s.pattern(s.first).MatchString(label) {
			continue
		}
		d := with[label].minus(without[label])
		if d == 0 {
			continue
		}
		for _, x := range draws {
			scale, gaussian, known := scaleOf(x)
			if !known {
				continue
			}
			fixed := func(steps float64) func(replay.Draw) float64 {
				return func(y replay.Draw) float64 {
					if sameDraw(x, y) {
						return steps
					}
					return 0
				}
			}
			steps := -math.Ceil(scale)
			moved, _, _, err := run(1, fixed(steps))
			if err != nil {
				continue
			}
			r := moved[label].minus(without[label]) / steps
			if r == 0 {
				continue
			}
			pinned, _, _, err := run(0, fixed(-d/r))
			if err != nil || pinned[label].minus(without[label]) != 0 {
				continue
			}
			if gaussian {
				m.stake.squares += d * d / (r * r * scale * scale)
			} else {
				m.stake.sum += math.Abs(d / (r * scale))
			}
			return s.pin(pinned, without, draws, run, m)
		}
	}
	return with
}

// mixed reports whether one draw of a law moves several numbers, as noise does that is added before
// a linear map, and by how much each draw moves each.
func (s *subject) mixed(without map[string]number, run runner, like replay.Draw, steps, unit float64, times int, names []string) (columns []map[string]float64, mixed bool) {
	for at := range min(times, 128) {
		n := 0
		loud, _, _, err := run(1, func(x replay.Draw) float64 {
			if sameDraw(like, x) {
				if n++; n-1 == at {
					return steps
				}
			}
			return 0
		})
		if err != nil {
			return nil, false
		}
		column := map[string]float64{}
		for _, label := range names {
			if y, ok := loud[label]; ok {
				if r := y.minus(without[label]) * unit; r != 0 {
					column[label] = r
				}
			}
		}
		columns = append(columns, column)
		if mixed = mixed || len(column) > 1; !mixed && at > 1 {
			return nil, false
		}
	}
	return columns, mixed
}

// follows reports whether a label is of a number that follows from others.
func (s *subject) follows(label string) bool {
	return s.derived != "" && s.pattern(s.derived).MatchString(label)
}

// pattern compiles, once.
func (s *subject) pattern(text string) *regexp.Regexp {
	if s.patterns == nil {
		s.patterns = map[string]*regexp.Regexp{}
	}
	if s.patterns[text] == nil {
		s.patterns[text] = regexp.MustCompile(text)
	}
	return s.patterns[text]
}

// sameDraw reports whether two draws have one law and come from one place of the library.
func sameDraw(a, b replay.Draw) bool {
	library := func(from string) string {
		from, _, _ = strings.Cut(from, " ← internal/audit/")
		return from
	}
	return a.Call == b.Call && library(a.From) == library(b.From)
}

// beyond says where the stake exceeds the Guarantee. Gaussian noise is compared at several ε. What
// is left of pure noise is its largest loss, ε: below it a Guarantee is of the noise's own shape.
func beyond(s stake, g budget.Guarantee) (wrong []string) {
	rest := g.DeltaAt(1 << 10)
	largest := g.EpsilonAt(rest * (1 + 1e-9))
	if s.squares == 0 || s.sum > 0 {
		if s.sum > largest*(1+1e-9) {
			wrong = append(wrong, fmt.Sprintf("Σ|d|/b = %g, and %v says %g", s.sum, g, largest))
		}
	}
	if s.squares == 0 {
		return wrong
	}
	actual := budget.GDP(math.Sqrt(s.squares)*(1-1e-9), g.Unit())
	for _, epsilon := range []float64{0.125, 0.5, 1, 2, 4, 8, 16} {
		if have, want := actual.DeltaAt(epsilon), g.DeltaAt(epsilon); have > want*(1+1e-6)+1e-15 {
			return append(wrong, fmt.Sprintf("Σ(d/σ)² = %g: δ(%g) = %g, and %v says %g", s.squares, epsilon, have, g, want))
		}
	}
	return wrong
}

// limited compares with limits instead of measured noise.
func (s *subject) limited(c *pcase, d map[string]float64, m *measured) {
	sums, bounds := map[string]float64{}, map[string]float64{}
	for label, x := range d {
		norm, bound := s.limit(c, label)
		at := fmt.Sprint("ℓ_", norm, " ≤ ", bound)
		bounds[at] = bound
		if math.IsInf(norm, 1) {
			sums[at] = max(sums[at], math.Abs(x))
		} else {
			sums[at] = math.Pow(math.Pow(sums[at], norm)+math.Pow(math.Abs(x), norm), 1/norm)
		}
	}
	for at, x := range sums {
		if x > bounds[at]*(1+1e-9) {
			m.wrong = append(m.wrong, fmt.Sprintf("%g apart, %s", x, at))
		}
	}
}

// choices returns the values of a field that are tried, by its type: which of them New takes, and
// with which others, is its own affair.
func choices(t reflect.Type) []any {
	switch {
	case t.Kind() == reflect.Float64:
		return []any{0., 0.25, 1., 3.}
	case t.Kind() == reflect.Int:
		return []any{-1, 0, 1, 2, 5}
	case t.Kind() == reflect.Uint64:
		return []any{uint64(0), uint64(7), uint64(2000)}
	case t.Kind() == reflect.Bool:
		return []any{false, true}
	case t.Kind() == reflect.Uint8:
		var all []any
		for i := range 10 {
			all = append(all, reflect.ValueOf(uint8(i)).Convert(t).Interface())
		}
		return all
	case t == reflect.TypeFor[[8]float64]():
		return []any{[8]float64{}, [8]float64{0.5}, [8]float64{0.5, 0.9}}
	case t == reflect.TypeFor[[8]int]():
		return []any{[8]int{}, [8]int{1}, [8]int{1, 2}, [8]int{2, 4}}
	}
	return nil
}

// fieldsOf returns the paths of the exported fields of Params, also of structs in them.
func fieldsOf(t reflect.Type) (all [][]int) {
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue
		}
		if f.Type.Kind() == reflect.Struct && f.Type.NumField() > 0 && f.Type.Field(0).IsExported() {
			for _, path := range fieldsOf(f.Type) {
				all = append(all, append([]int{i}, path...))
			}
			continue
		}
		all = append(all, []int{i})
	}
	return all
}

// dimension is one of those that the product is over.
type dimension struct {
	name   string
	path   []int // of a field
	values []any
}

func (s *subject) dimensions() (all []dimension) {
	names := func(have []string, roles []string) []any {
		if have == nil {
			have = roles
		}
		var values []any
		for _, x := range have {
			values = append(values, x)
		}
		return values
	}
	all = append(all,
		dimension{name: "way", values: names(s.ways, nil)},
		dimension{name: "unit", values: names(append(slices.Clone(s.units), sortedKeys(s.own)...), sortedKeys(unitRoles))},
		dimension{name: "others", values: names(s.others, sortedKeys(otherRoles))},
		dimension{name: "place", values: []any{"before", "between", "after"}})
	p := reflect.ValueOf(s.params)
	for _, path := range fieldsOf(p.Type()) {
		f := p.Type().FieldByIndex(path)
		values := choices(f.Type)
		if given, ok := s.values[f.Name]; ok {
			values = given
		}
		base := p.FieldByIndex(path).Interface()
		if !slices.ContainsFunc(values, func(x any) bool { return reflect.DeepEqual(x, base) }) {
			values = append(values, base)
		}
		all = append(all, dimension{f.Name, path, values})
	}
	return all
}

// at returns the Params with these values.
func (s *subject) at(dims []dimension, at []int) any {
	p := reflect.New(reflect.TypeOf(s.params)).Elem()
	p.Set(reflect.ValueOf(s.params))
	for i, d := range dims {
		if d.path != nil {
			p.FieldByIndex(d.path).Set(reflect.ValueOf(d.values[at[i]]))
		}
	}
	return p.Interface()
}

// valid reports whether the Params promise anything: those that New refuses do not.
func (s *subject) valid(dims []dimension, at []int) bool {
	if s.unchecked != nil && s.unchecked(dims[0].values[at[0]].(string)) {
		return true
	}
	p, ok := s.at(dims, at).(interface{ Guarantee() budget.Guarantee })
	return !ok || p.Guarantee().Promises()
}

func sortedKeys[V any](m map[string]V) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// setting is a value of a dimension, by their places.
type setting struct{ dim, value int }

func compareSettings(a, b setting) int { return cmp.Or(a.dim-b.dim, a.value-b.value) }

// walk is a run over the product of one subject.
type walk struct {
	s     *subject
	dims  []dimension
	rng   *rand.Rand
	base  []int         // the values of the subject's Params
	turns map[int][]int // the values of each role that are still to come in this turn

	reached  map[[2]setting]bool // or refused
	taken    map[string]map[string]bool
	cases    int // that were released
	refused  int
	compared int               // numbers that differed
	given    int               // cases in which something differed to which the rest adapts
	agreed   int               // cases in which another way was compared
	chosen   map[string]number // by way, Params and label: see measured
	varies   map[string]bool   // what is chosen, by its label, by the data
	drawn    map[string]bool   // and by the draws
	wrong    []string
}

func (s *subject) walk(name string) *walk {
	w := &walk{s: s, dims: s.dimensions(), rng: rand.New(rand.NewPCG(uint64(len(name)), 7)), reached: map[[2]setting]bool{}, taken: map[string]map[string]bool{},
		chosen: map[string]number{}, varies: map[string]bool{}, drawn: map[string]bool{}}
	for _, d := range w.dims {
		at := 0
		if d.path != nil {
			x := reflect.ValueOf(s.params).FieldByIndex(d.path).Interface()
			at = slices.IndexFunc(d.values, func(y any) bool { return reflect.DeepEqual(x, y) })
		}
		w.base = append(w.base, at)
	}
	return w
}

// pairs runs cases until every pair of values of two dimensions was in one, or was refused with all
// else as it is by default, but at most so many. A case takes a pair, and draws half of the other
// fields and all roles. Params are often slow to calibrate, so they serve several cases.
func (w *walk) pairs(most, again int) {
	var goals [][2]setting
	for i, d := range w.dims {
		for j, e := range w.dims[:i] {
			for x := range d.values {
				for y := range e.values {
					goals = append(goals, [2]setting{{j, y}, {i, x}})
				}
			}
		}
	}
	w.rng.Shuffle(len(goals), func(i, j int) { goals[i], goals[j] = goals[j], goals[i] })
	for _, g := range goals {
		if w.cases >= most {
			return
		}
		if !w.reached[g] {
			w.reach(again, g[:]...)
			w.reached[g] = true
		}
	}
}

// triples does the same for three values at a time, of those whose pairs were released, in at most
// so many cases more.
func (w *walk) triples(most int) {
	released := func(a, b setting) bool { return w.reached[[2]setting{a, b}] }
	seen := map[[3]setting]struct{}{}
	for i, d := range w.dims {
		for j, e := range w.dims[:i] {
			for k, f := range w.dims[:j] {
				for x := range d.values {
					for y := range e.values {
						for z := range f.values {
							a, b, c := setting{k, z}, setting{j, y}, setting{i, x}
							if released(a, b) && released(a, c) && released(b, c) {
								seen[[3]setting{a, b, c}] = struct{}{}
							}
						}
					}
				}
			}
		}
	}
	goals := slices.SortedFunc(maps.Keys(seen), func(a, b [3]setting) int { return slices.CompareFunc(a[:], b[:], compareSettings) })
	w.rng.Shuffle(len(goals), func(i, j int) { goals[i], goals[j] = goals[j], goals[i] })
	most += w.cases
	for _, g := range goals {
		if w.cases >= most {
			return
		}
		w.reach(1, g[:]...)
	}
}

// missing releases a case with another value of each field of which only the default was in one:
// values that New takes with two certain others.
func (w *walk) missing() {
	for i, d := range w.dims {
		for x := range d.values {
			if d.path == nil || x == w.base[i] {
				continue
			}
			for _, two := range w.others(i) {
				if len(w.taken[d.name]) > 1 {
					break
				}
				for range 4 { // as New may refuse it in some ways
					w.reach(1, setting{i, x}, two[0], two[1])
				}
			}
		}
	}
}

// others returns all values of two fields that are not the given one.
func (w *walk) others(than int) (pairs [][2]setting) {
	var all []setting
	for i, d := range w.dims {
		for value := range d.values {
			if d.path != nil && i != than {
				all = append(all, setting{i, value})
			}
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.dim != b.dim {
				pairs = append(pairs, [2]setting{a, b})
			}
		}
	}
	return pairs
}

// reach releases cases with these settings, where New takes them.
func (w *walk) reach(again int, settings ...setting) {
	set := func(at []int, free func(d dimension) bool) {
		for i, d := range w.dims {
			if free(d) {
				at[i] = w.next(i)
			}
		}
		for _, x := range settings {
			at[x.dim] = x.value
		}
	}
	role := func(d dimension) bool { return d.path == nil }
	plain := slices.Clone(w.base)
	set(plain, role)
	if !w.s.valid(w.dims, plain) {
		w.refused++
		return
	}
	at := slices.Clone(plain)
	w.vary(at, settings)
	if !w.try(at) {
		if at = plain; !w.try(at) {
			return
		}
	}
	for range again - 1 {
		set(at, role)
		w.try(at)
	}
}

// vary draws half of the fields, except those of the settings, where New takes them.
func (w *walk) vary(at []int, settings []setting) {
	for _, i := range w.rng.Perm(len(w.dims)) {
		fixed := slices.ContainsFunc(settings, func(x setting) bool { return x.dim == i })
		if d := w.dims[i]; d.path != nil && !fixed && w.rng.IntN(2) == 0 {
			before := at[i]
			if at[i] = w.rng.IntN(len(d.values)); !w.s.valid(w.dims, at) {
				at[i] = before
			}
		}
	}
}

// next returns a value of a role: each in turn, in an order drawn for each turn.
func (w *walk) next(i int) int {
	if w.turns == nil {
		w.turns = map[int][]int{}
	}
	if len(w.turns[i]) == 0 {
		w.turns[i] = w.rng.Perm(len(w.dims[i].values))
	}
	at := w.turns[i][0]
	w.turns[i] = w.turns[i][1:]
	return at
}

// digits are what the names of labels are without.
var digits = regexp.MustCompile(`[0-9]+`)

// at returns the case of these values.
func (w *walk) at(at []int) pcase {
	s, roles := w.s, map[string]string{}
	for i, d := range w.dims {
		if d.path == nil {
			roles[d.name] = d.values[at[i]].(string)
		}
	}
	c := pcase{params: s.at(w.dims, at), way: roles["way"], unit: roles["unit"], others: roles["others"], place: roles["place"], own: s.own, drawn: w.drawn}
	c.replaced = s.replaced != nil && s.replaced(c.params)
	if s.most != nil {
		c.most = s.most(c.params)
	}
	return c
}

// isRare reports whether a case has keys that noise may hide.
func (s *subject) isRare(c *pcase) bool {
	return c.others == "nobody" || c.others == "few" || s.rarely != nil && s.rarely(c) || slices.ContainsFunc(c.unitRows(), func(r row) bool { return r.key >= shared })
}

// alike are cases of every way in with every value of each field that New takes, by itself and
// among others: both sides have to draw the same.
func (w *walk) alike() (pairs []pair) {
	for way := range w.dims[0].values {
		for i, d := range w.dims[1:] {
			for value := range d.values {
				at := slices.Clone(w.base)
				for role, e := range w.dims {
					if e.path == nil {
						at[role] = w.next(role)
					}
				}
				at[0], at[i+1] = way, value
				if !w.s.valid(w.dims, at) {
					continue
				}
				pairs = append(pairs, w.pair(at))
				for range 3 {
					if !w.s.costly {
						w.vary(at, []setting{{i + 1, value}})
						pairs = append(pairs, w.pair(at))
					}
				}
			}
		}
	}
	return pairs
}

// pair returns a case as neighbours that draw alike.
func (w *walk) pair(at []int) pair {
	c := w.at(at)
	p, rows := w.s.draws, max(len(c.unitRows()), 1)
	if w.s.rare.extra != "" && w.s.isRare(&c) {
		p = w.s.rare
	}
	p.data, p.most = p.data*float64(rows), p.most*rows
	p.name = fmt.Sprintf("%s; unit %s %s of %s; %+v", c.way, c.unit, c.place, c.others, c.params)
	p.run = func(side int) (refused map[string]float64) {
		c := c
		c.side = side
		refused = map[string]float64{"given refusal": float64(side)}
		defer func() { _ = recover() }() // measure says so
		if _, _, err := w.s.released(&c); err == nil {
			refused = nil
		}
		return refused
	}
	return p
}

// try releases one case.
func (w *walk) try(at []int) bool {
	c := w.at(at)
	m, err := w.s.measure(c)
	if err != nil {
		w.refused++
		if strings.HasPrefix(err.Error(), "panic") {
			w.wrong = append(w.wrong, fmt.Sprintf("%v; %s; unit %s %s of %s; %+v", err, c.way, c.unit, c.place, c.others, c.params))
		}
		return false
	}
	w.cases++
	w.compared += m.differ
	if m.given {
		w.given++
	}
	if m.alike {
		w.agreed++
	}
	for label, x := range m.chosen {
		at, name := fmt.Sprintf("%s %+v %s", c.way, c.params, label), digits.ReplaceAllString(label, "")
		if y, met := w.chosen[at]; met && x.minus(y) != 0 {
			w.varies[name] = true
		}
		w.chosen[at] = x
		w.drawn[name] = w.drawn[name] || m.drawn[name]
	}
	for i, d := range w.dims {
		if w.taken[d.name] == nil {
			w.taken[d.name] = map[string]bool{}
		}
		w.taken[d.name][fmt.Sprint(d.values[at[i]])] = true
		for j := range i {
			w.reached[[2]setting{{j, at[j]}, {i, at[i]}}] = true
		}
	}
	for _, text := range m.wrong {
		w.wrong = append(w.wrong, fmt.Sprintf("%s; %s; unit %s %s of %s; %+v", text, c.way, c.unit, c.place, c.others, c.params))
	}
	return true
}

// TestProduct runs the product of every subject.
func TestProduct(t *testing.T) {
	if !frozen() {
		t.Skip("TestReplay runs this with frozen noise")
	}
	for name, s := range subjects() {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			w := s.walk(name)
			switch {
			case dptest.Deep():
				w.pairs(1<<30, 4)
				w.triples(1 << 30)
			case s.costly:
				w.pairs(150, 5)
			default:
				w.pairs(1000, 4)
				w.triples(1000)
				w.missing()
			}
			t.Logf("%d cases, %d refused, %d adapt, %d by two ways, %d numbers compared, %v", w.cases, w.refused, w.given, w.agreed, w.compared, time.Since(began).Round(time.Millisecond))
			slices.Sort(w.wrong)
			require.Empty(t, w.wrong[:min(len(w.wrong), 8)], "%d wrong", len(w.wrong))
			require.Positive(t, w.compared)
			for name := range w.varies {
				require.True(t, w.drawn[name], "%s depends on the data, and on no draw", name)
			}
			for _, d := range w.dims {
				if d.path == nil {
					require.Len(t, w.taken[d.name], len(d.values), "not every %s was taken: %v", d.name, w.taken[d.name])
				}
			}
			if !s.costly {
				for _, d := range w.dims {
					require.True(t, len(d.values) == 1 || len(w.taken[d.name]) > 1, "New took no other value of %s: say in subject.values which it takes", d.name)
				}
			}
		})
	}
}

// unproduced are release methods that the product does not reach, with the reason.
var unproduced = map[string]string{
	"arete.Mechanism.Release":        "takes one number, by one way: see aretePairs",
	"arete.Mechanism.Share":          "as arete.Mechanism.Release",
	"arete.Share.Mask":               "as arete.Mechanism.Release",
	"arete.Share.Noise":              "takes no data",
	"arete.Share.Sum":                "as arete.Mechanism.Release",
	"elliptical.Mechanism.Release":   "takes a sum, whose rows are the caller's: see ellipticalPairs",
	"kor.Share.Bytes":                "the table of kor.Builder.Share",
	"noise/approx.Mechanism.Release": "takes one number, by one way: see approxPairs",
	"noise/approx.Search":            "takes an estimator: see advisedPair",
}

// Every release method is in the product, and every way in of what releases: its constructors, and
// the methods that take data.
func TestProductIsComplete(t *testing.T) {
	text := dptest.OK(os.ReadFile("../surface/testdata/releases.txt"))(t)
	all := subjects()
	for _, method := range strings.Fields(string(text)) {
		if unproduced[method] == "" {
			require.Contains(t, all, method, "the product does not reach this release method")
		}
	}
	for method, s := range all {
		called := strings.Fields(strings.Join(s.ways, " "))
		for other, o := range all { // a Builder that another one makes is used there
			if folder, _, _ := strings.Cut(other, "."); strings.HasPrefix(method, folder+".") {
				called = append(called, strings.Fields(strings.Join(o.ways, " "))...)
			}
		}
		typ := reflect.TypeOf(s.builder)
		folder, rest, _ := strings.Cut(method, ".")
		builder, _, _ := strings.Cut(rest, ".")
		for i := range typ.NumMethod() {
			if name := typ.Method(i).Name; !takesNoData[name] && all[folder+"."+builder+"."+name] == nil {
				require.Contains(t, called, name, "%s: no way of the product calls it", method)
			}
		}
		for _, name := range constructors(t, folder, builder) {
			require.Contains(t, called, name, "%s: no way of the product calls this constructor", method)
		}
	}
}

// takesNoData are methods of Builders that read, print or release.
var takesNoData = map[string]bool{"Format": true, "LogValue": true, "MarshalText": true, "UnmarshalText": true, "Params": true, "Guarantee": true, "Release": true,
	"Released": true, "Step": true, "String": true, "Plan": true, "Grow": true}

// constructors returns the functions of a package that return the type and an error.
func constructors(t *testing.T, folder, typ string) (names []string) {
	files := dptest.OK(filepath.Glob(filepath.Join("../../..", filepath.FromSlash(folder), "*.go")))(t)
	pattern := regexp.MustCompile(`(?m)^func ([A-Z]\w*)(?:\[[^\]]*\])?\(.*\) \(\*` + typ + `(?:\[[^\]]*\])?, error\)`)
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			for _, m := range pattern.FindAllStringSubmatch(string(dptest.OK(os.ReadFile(file))(t)), -1) {
				names = append(names, m[1])
			}
		}
	}
	return names
}

// flawed is a release of counts by key, with a flaw of choice.
type flawed struct {
	Epsilon float64
	Flaw    uint8
}

func (p flawed) Guarantee() budget.Guarantee {
	return budget.PureDP(p.Epsilon, budget.Element(budget.AddRemove))
}

// The product notices each flaw of a mechanism of this test, and nothing where there is none.
func TestProductControls(t *testing.T) {
	if !frozen() {
		t.Skip("TestReplay runs this with frozen noise")
	}
	flaws := []struct{ name, want string }{
		{"none", ""}, {"half the noise", "Σ|d|/b = 2"}, {"a count without noise", "has no noise"}, {"a unit that counts twice", "Σ|d|/b = 2"},
		{"a unit that counts in another key", "of a key that the unit does not have"}, {"a key that the unit alone shows", "is there with the unit alone"},
		{"noise of one draw for all, with a unit in two keys", ""}, {"a unit that is refused", "only one of two neighbours"},
		{"noise of one draw for all", "Σ|d|/b = +Inf"},
	}
	type count struct {
		key   int
		value int64
	}
	for flaw, f := range flaws {
		s := &subject{params: flawed{1, uint8(flaw)}, values: map[string][]any{"Epsilon": {1.}, "Flaw": {uint8(flaw)}}, ways: []string{"New"}, units: []string{"one key"}, others: []string{"one key each"},
			release: func(c *pcase) (any, budget.Guarantee) {
				p := c.params.(flawed)
				counts := make([]int64, shared)
				for _, r := range c.rows() {
					if counts[r.key]++; r.user != 0 {
						continue
					}
					switch flaws[p.Flaw].name {
					case "a unit that counts twice":
						counts[r.key]++
					case "a unit that counts in another key":
						counts[r.key]--
						counts[r.key+1]++
					case "a key that the unit alone shows":
						counts = append(counts, 5)
					case "noise of one draw for all, with a unit in two keys":
						for key := range counts {
							counts[key]++
						}
						counts[r.key]--
					case "a unit that is refused":
						check(errors.New("refused"))
					}
				}
				scale := 1 / p.Epsilon
				if flaws[p.Flaw].name == "half the noise" {
					scale /= 2
				}
				d, src, out := made(noise.NewDiscreteLaplace(scale)), new(noise.Source), []count{}
				all := d.SampleInt(src)
				for key, x := range counts {
					z := d.SampleInt(src)
					switch flaws[p.Flaw].name {
					case "a count without noise":
						z = 0
					case "noise of one draw for all, with a unit in two keys", "noise of one draw for all":
						z = all
					}
					out = append(out, count{key, x + z})
				}
				return out, p.Guarantee()
			}}
		if f.name == "noise of one draw for all, with a unit in two keys" {
			s.spills = true
		}
		w := s.walk("control")
		w.pairs(8, 1)
		text := strings.Join(w.wrong, "\n")
		if f.want == "" {
			require.Empty(t, text, f.name)
			require.Positive(t, w.compared)
		} else {
			require.Contains(t, text, f.want, f.name)
		}
	}
}
