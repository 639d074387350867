package surface

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/arete"
	"github.com/dpsketch/dpsketch/elliptical"
	"github.com/dpsketch/dpsketch/hashing"
	"github.com/dpsketch/dpsketch/internal/audit/dptest"
	"github.com/dpsketch/dpsketch/kor"
	"github.com/dpsketch/dpsketch/kor/distinct"
	"github.com/dpsketch/dpsketch/misragries/series"
	"github.com/dpsketch/dpsketch/noise/approx"
	"github.com/dpsketch/dpsketch/noise/budget"
	"github.com/dpsketch/dpsketch/plan"
)

// bound is a release that is bound to a ledger.
type bound struct {
	promise budget.Guarantee
	release func(l *budget.Ledger) (any, error)
}

func byBuilder[T any](b budget.Releaser[T]) bound {
	return bound{b.Guarantee(), func(l *budget.Ledger) (any, error) { return budget.Release(l, b) }}
}

func byMechanism[X, T any](m interface {
	Guarantee() budget.Guarantee
	Release(x X) (T, error)
}, x X) bound {
	return byFunc(m.Guarantee(), func() (T, error) { return m.Release(x) })
}

func byFunc[T any](g budget.Guarantee, release func() (T, error)) bound {
	return bound{g, func(l *budget.Ledger) (any, error) { return budget.ReleaseFunc(l, g, release) }}
}

// made returns what a constructor made.
func made[T any](object T, err error) T {
	if err != nil {
		panic(err)
	}
	return object
}

// releases are all ways out of the library, each bound to a ledger in a line: by type and method.
// Those of Builders are among the makers.
func releases() map[string]bound {
	noLevels := distinct.Params{Epsilon: 1, Cells: 64, Levels: 8, Seed: hashing.Seed{1}}
	rows := [][]float64{{0, 0, 0, 0}}
	mean := made(plan.New(plan.Params{Rho: 1, Dim: 4, Max: 1, Rows: 1, Relation: budget.Replace}))
	number := made(arete.New(arete.Params{Epsilon: 1}))
	sum := made(elliptical.New(box))
	ctx := context.Background()
	sparse := plan.Sparse{Offsets: []int{0, 0}}
	all := map[string]bound{
		"arete.Mechanism.Release":            byMechanism(number, 1),
		"arete.Mechanism.Share":              byFunc(made(number.Share(3, 0)).Guarantee(), func() (*arete.Share, error) { return number.Share(3, 1) }),
		"elliptical.Mechanism.Release":       byMechanism(sum, []float64{0, 0}),
		"kor.Builder.Share":                  byFunc(korParams.Guarantee(), func() (*kor.Share, error) { return made(kor.New(korParams)).Share(2) }),
		"kor/distinct.CohortBuilder.Release": byBuilder(onTheLastDay(made(distinct.NewCohortBuilder(noLevels, 2)))),
		"kor/distinct.RunningBuilder.Step":   byFunc(made(distinct.NewRunningBuilder(noLevels)).Guarantee(), made(distinct.NewRunningBuilder(noLevels)).Step),
		"kor/distinct.ReleasePair": byFunc(made(noLevels.Plan()).Pair, func() (*distinct.Pair, error) {
			return distinct.ReleasePair(made(distinct.New(noLevels)), made(distinct.New(noLevels)))
		}),
		"misragries/series.Builder.Step": byFunc(series.Params{Epsilon: 1, Delta: 1e-6}.Guarantee(), func() (*series.Builder[string], error) {
			return series.New[string](series.Params{Epsilon: 1, Delta: 1e-6})
		}),
		"noise/approx.Search":            byFunc(advised.Guarantee(), func() (approx.Advised, error) { return approx.Search(advised, one) }),
		"noise/approx.Mechanism.Release": byMechanism(made(approx.New(approx.Params{Epsilon: 1, Error: 1})), 1),
		"plan.Mechanism.Release":         byFunc(mean.Guarantee(), func() (*plan.Mean, error) { return mean.Release(ctx, rows) }),
		"plan.Mechanism.ReleaseSparse":   byFunc(mean.Guarantee(), func() (*plan.Mean, error) { return mean.ReleaseSparse(ctx, sparse) }),
	}
	for _, m := range makers {
		if m.bound != nil {
			all[nameOf(reflect.TypeOf(made(m.make(m.good))).Elem())+".Release"] = m.bound()
		}
	}
	return all
}

// Every release is bound to a ledger in one line: what is refused is not released, and what is
// released was spent.
func TestReleasesAreBoundToALedger(t *testing.T) {
	dptest.NotShort(t, "half a second: in the default run")
	all := releases()
	for name, b := range all {
		t.Run(name, func(t *testing.T) {
			require.True(t, b.promise.Promises())
			poor := dptest.OK(budget.NewLedger(0, 0, b.promise.Unit()))(t)
			got, err := b.release(poor)
			require.ErrorIs(t, err, budget.ErrBudget)
			require.True(t, reflect.ValueOf(got).IsZero(), "%v", got)
			rich := dptest.OK(budget.NewLedger(100, 1e-3, b.promise.Unit()))(t)
			got = dptest.OK(b.release(rich))(t)
			require.False(t, got == nil)
			require.Equal(t, b.promise.String(), rich.Spent().String())
		})
	}
}

// The list of the test above is complete.
func TestEveryReleaseIsBoundToALedger(t *testing.T) {
	all := releases()
	for _, s := range loaded(t) {
		roles := s.roles()
		for _, name := range s.releases() {
			owner, _, _ := strings.Cut(strings.TrimPrefix(name, s.path+"."), ".")
			if roles[owner] != isPrivate { // a share, which was paid for
				require.Contains(t, all, name, "this release is bound to no ledger")
			}
		}
	}
}

// onTheLastDay moves the clock of two days, so that there is a release.
func onTheLastDay(b *distinct.CohortBuilder) *distinct.CohortBuilder {
	if err := b.Advance(2); err != nil {
		panic(err)
	}
	return b
}
