package budget

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/audit/dptest"
)

// drawn is a released object: a number that no other release has.
type drawn struct {
	number int
	params int
}

func (d *drawn) Params() int { return d.params }

func (d *drawn) AppendBinary(dst []byte) ([]byte, error) {
	if d.number < 0 {
		return nil, errors.New("no encoding")
	}
	return fmt.Appendf(dst, "drawn %d %d", d.number, d.params), nil
}

func (d *drawn) UnmarshalBinary(data []byte) error {
	if _, err := fmt.Sscanf(string(data), "drawn %d %d", &d.number, &d.params); err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// silent is a released object without bytes.
type silent struct{}

func (*silent) AppendBinary(dst []byte) ([]byte, error) { return dst, nil }
func (*silent) UnmarshalBinary([]byte) error            { return nil }

// lots counts what it draws, and is a Builder for ever.
type lots struct {
	cost  Guarantee
	draws *int
	param int
	fails error
}

func (b lots) Guarantee() Guarantee { return b.cost }
func (b lots) Params() int          { return b.param }

func (b lots) Release() (*drawn, error) {
	*b.draws++
	if b.fails != nil {
		return nil, b.fails
	}
	return &drawn{*b.draws, b.param}, nil
}

type silence struct{ cost Guarantee }

func (b silence) Guarantee() Guarantee      { return b.cost }
func (b silence) Release() (*silent, error) { return new(silent), nil }

// A name is drawn once: the stored object comes again, from copies, after a restart, and after a
// compaction, and nothing more is spent. What asks for something else under the name is refused.
func TestReleaseOnce(t *testing.T) {
	cost, unit := PureDP(0.1, User(20, AddRemove)), User(20, AddRemove)
	defer func(most int) { mostSince = most }(mostSince)
	mostSince = 4
	path := filepath.Join(t.TempDir(), "journal")
	draws := 0
	b := lots{cost: cost, draws: &draws}
	l := dptest.OK(reopened(path))(t)
	for round := range 4 {
		for day := range 3 {
			got := dptest.OK(ReleaseOnce(l, fmt.Sprint("day-", day), b))(t)
			require.Equal(t, &drawn{number: day + 1}, got, "round %d", round)
			part := dptest.OK(ReleaseOnce(l.PartOfUsers("de"), fmt.Sprint("de-", day), lots{cost: cost, draws: new(int)}))(t)
			require.Equal(t, 1, part.number)
		}
		require.Equal(t, 3, draws)
		require.EqualValues(t, 6, l.Records())
		require.Equal(t, 6, l.releases())

		refused := lots{cost: cost, draws: &draws, param: 7}
		require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "day-0", refused)), ErrMismatch, "other Params")
		require.ErrorIs(t, dptest.Err(ReleaseOnce(l.PartOfUsers("de"), "day-0", b)), ErrMismatch, "another part")
		require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "day-0", lots{cost: PureDP(0.2, unit), draws: &draws})), ErrMismatch, "another guarantee")
		require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "day-0", lots{draws: &draws})), ErrMismatch, "none")
		require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "a b", b)), ErrParams)
		require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "dear", lots{cost: PureDP(100, unit), draws: &draws})), ErrBudget)
		require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "rows", lots{cost: PureDP(0.1, rowed), draws: &draws})), ErrMismatch)
		require.ErrorIs(t, l.SpendOnce("day-0", cost), ErrSpent)
		require.Equal(t, 3, draws, "nothing is drawn for what is refused")
		require.EqualValues(t, 6, l.Records(), "and nothing is written")

		var copied Ledger
		require.NoError(t, copied.UnmarshalBinary(dptest.OK(l.MarshalBinary())(t)))
		require.Equal(t, 2, dptest.OK(ReleaseOnce(&copied, "day-1", b))(t).number)
		require.NoError(t, l.Close())
		l = dptest.OK(reopened(path))(t)
	}
	require.Equal(t, 2, bytes.Count(read(t, path), []byte("\n"))-2, "a snapshot of four, and two records")
	require.NoError(t, l.SpendOnce("paid", cost))
	require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "paid", b)), ErrSpent)
	require.Equal(t, 3, draws)
	require.NoError(t, l.Close())
	require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "later", b)), errClosed)
	require.ErrorIs(t, dptest.Err(ReleaseOnce(new(Ledger), "zero", b)), ErrMismatch)
	require.Equal(t, 3, draws)
}

// A release that fails was an output like any other: it is paid for, and not drawn again.
func TestReleaseOnceFails(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	cost, draws := PureDP(0.25, one), 0
	b := lots{cost: cost, draws: &draws, fails: ErrParams}
	require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "a", b)), ErrParams)
	require.Equal(t, 0.25, l.Spent().Epsilon())
	b.fails = nil
	require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "a", b)), ErrSpent)
	require.Equal(t, 1, draws)
	draws = -5 // what is drawn has no encoding
	require.ErrorContains(t, dptest.Err(ReleaseOnce(l, "b", b)), "no encoding")
	require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "b", b)), ErrSpent)
	require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "c", silence{cost})), ErrParams, "nothing that could be stored")
	require.ErrorIs(t, dptest.Err(ReleaseOnce(l, "c", silence{cost})), ErrSpent)
	require.Equal(t, 0.75, l.Spent().Epsilon())

	// A Builder that panics has shown nothing, and the ledger goes on.
	require.Panics(t, func() { _, _ = ReleaseOnce(l, "d", lots{cost: cost}) })
	draws = 0
	require.Equal(t, 1, dptest.OK(ReleaseOnce(l, "d", b))(t).number)

	// What cannot be written is not shown, and not drawn again.
	d, journaled := newJournal(t)
	b.cost = PureDP(0.1, User(20, AddRemove))
	d.tears = 30
	out, err := ReleaseOnce(journaled, "a", b)
	require.ErrorContains(t, err, "full")
	require.Nil(t, out)
	require.Equal(t, 2, draws)
	require.Error(t, dptest.Err(ReleaseOnce(journaled, "a", b)))
	require.Equal(t, 2, draws)
}

// A crash at each byte of the record: either it is there, and what was drawn comes again, or it is
// not, nothing was shown, and nothing is spent. Every byte that is changed is noticed.
func TestReleaseOnceSurvivesACrash(t *testing.T) {
	d, l := newJournal(t)
	require.NoError(t, l.Spend(someGuarantee(0)))
	before := len(d.data)
	draws := 41
	b := lots{cost: someGuarantee(1), draws: &draws}
	require.Equal(t, 42, dptest.OK(ReleaseOnce(l, "name", b))(t).number)
	for n := before; n <= len(d.data); n++ {
		cut := &disk{data: bytes.Clone(d.data[:n])}
		again := dptest.OK(OpenJournal(cut, 0))(t)
		there := n >= len(d.data)-1
		require.Equal(t, map[bool]int{false: 1, true: 2}[there], again.releases())
		draws = 99
		got := dptest.OK(ReleaseOnce(again, "name", b))(t)
		require.Equal(t, map[bool]int{false: 100, true: 42}[there], got.number)
		third := dptest.OK(OpenJournal(cut, 2))(t)
		require.Equal(t, got, dptest.OK(ReleaseOnce(third, "name", b))(t), "the same for ever")
		require.Equal(t, got.number == 100, draws == 100)
	}
	for n := before; n < len(d.data)-1; n++ {
		damaged := bytes.Clone(d.data)
		damaged[n] ^= 1 << (n % 8)
		_, err := OpenJournal(&disk{data: damaged}, 2)
		require.ErrorIs(t, err, ErrFormat, "%d", n)
	}
}

// However many ask at once, under however many names, each name is drawn once, and the budget
// holds.
func TestReleaseOnceConcurrently(t *testing.T) {
	_, l := newJournal(t)
	const names, asks = 20, 6
	var all sync.WaitGroup
	var numbers [names][asks]int // 0 where it was refused
	draws := 0
	b := lots{cost: PureDP(1, User(20, AddRemove)), draws: &draws}
	for name := range names {
		for ask := range asks {
			all.Go(func() {
				if out, err := ReleaseOnce(l, strconv.Itoa(name), b); err == nil {
					numbers[name][ask] = out.number
				} else if !errors.Is(err, ErrBudget) {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	seen := map[int]bool{}
	for _, list := range numbers {
		require.Equal(t, slices.Repeat(list[:1], asks), list[:])
		require.True(t, list[0] == 0 || !seen[list[0]])
		seen[list[0]] = true
	}
	require.Equal(t, l.releases(), draws)
	require.Len(t, seen, draws+1, "half the names do not fit")
}

// once is a Builder as Release sees it.
type once struct {
	cost     Guarantee
	released bool
	fails    error
}

func (o *once) Guarantee() Guarantee { return o.cost }
func (o *once) Released() bool       { return o.released }
func (o *once) Release() (int, error) {
	if o.released {
		return 0, errors.New("released twice")
	}
	o.released = true
	return 42, o.fails
}

// poisoned has had a wrong call.
type poisoned struct {
	once
	why error
}

func (p poisoned) Guarantee() Guarantee  { return p.cost }
func (p poisoned) Released() bool        { return true }
func (p poisoned) Release() (int, error) { return 0, p.why }

func TestRelease(t *testing.T) {
	l := dptest.OK(NewLedger(1, 0, one))(t)
	b := &once{cost: PureDP(0.75, one)}
	x := dptest.OK(Release(l, b))(t)
	require.Equal(t, 42, x)
	require.Equal(t, PureDP(0.75, one), l.Spent())

	require.ErrorIs(t, dptest.Err(Release(l, b)), ErrReleased)
	require.Equal(t, PureDP(0.75, one), l.Spent(), "a Builder that was released costs nothing")
	why := fmt.Errorf("values without a range: %w", ErrReleased)
	_, err := Release(l, poisoned{once{cost: PureDP(0.125, one)}, why})
	require.Equal(t, why, err, "the Builder says what was wrong")
	dear := &once{cost: PureDP(0.5, one)}
	require.ErrorIs(t, dptest.Err(Release(l, dear)), ErrBudget)
	require.False(t, dear.released, "it keeps its data")
	require.ErrorIs(t, dptest.Err(Release(l, &once{cost: PureDP(0.1, rowed)})), ErrMismatch)
	require.ErrorIs(t, dptest.Err(Release(l, &once{})), ErrBudget, "a Builder that was never made promises nothing")
	require.ErrorIs(t, dptest.Err(Release(l, &once{cost: PureDP(0.125, one), fails: ErrParams})), ErrParams)
	require.Equal(t, PureDP(0.875, one).Epsilon(), l.Spent().Epsilon(), "spent stays spent")
}
