package dptest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dpsketch/dpsketch/internal/check"
	"github.com/dpsketch/dpsketch/internal/private"
)

type toyParams struct {
	Share float64
	Cells int
}

func (p toyParams) check() error {
	switch {
	case !(p.Share >= 0 && p.Share <= 1):
		return check.ParamsError("toy", "Share", p.Share, "a number in [0, 1]")
	case p.Cells < 1:
		return check.ParamsError("toy", "Cells", p.Cells, "at least 1")
	}
	return nil
}

func TestParams(t *testing.T) {
	bad := map[string][]any{"Share": {-1, 2}, "Cells": {0, math.MinInt}}
	answers := func(verify func(toyParams) error) map[string]func(toyParams) error {
		return map[string]func(toyParams) error{"New": toyParams.check, "Plan": verify}
	}
	Params(t, "toy", toyParams{Share: 1, Cells: 1}, bad, answers(toyParams.check))
	for text, verify := range map[string]func(toyParams) error{
		"Plan accepts Share = NaN": func(p toyParams) error {
			if math.IsNaN(p.Share) {
				return nil
			}
			return p.check()
		},
		"Plan accepts Cells = 0": func(p toyParams) error {
			if p.Cells == 0 {
				return nil
			}
			return p.check()
		},
		"does not wrap ErrParams": func(p toyParams) error {
			if p.check() != nil {
				return errors.New("toy: Share = 2: no")
			}
			return nil
		},
		"does not name the field": func(p toyParams) error {
			if p.check() != nil {
				return check.ParamsError("toy", "Size", 2, "less")
			}
			return nil
		},
		"Plan refuses {Share:1 Cells:1}": func(p toyParams) error { return check.ParamsError("toy", "Share", 2, "less") },
	} {
		require.Contains(t, fmt.Sprint(paramsProblems("toy", toyParams{Share: 1, Cells: 1}, bad, answers(verify))), text)
	}
	require.Equal(t, []string{"there is no field Rows"}, paramsProblems("toy", toyParams{Share: 1, Cells: 1}, map[string][]any{"Rows": {1}}, answers(toyParams.check)))
}

type toyState struct{ sum int }

type toySecret = private.State[toyState]

// toy is a Builder; a flaw is a wrong turn that the suite must see.
type toy struct {
	toySecret
	promise string
	flaw    string
}

func newToy(flaw string) *toy { return &toy{private.New(toyState{7}), "ε", flaw} }

func (b *toy) Add()              { private.Use(b.toySecret, func(s *toyState, x int) { s.sum += x }, 1) }
func (b *toy) Released() bool    { return b.flaw != "never released" && private.Released(b.toySecret) }
func (b *toy) Guarantee() string { return b.promise }

func (b *toy) Release() (int, error) {
	if b.flaw == "twice" {
		return 0, nil
	}
	if b.flaw == "guarantee" {
		b.promise = "2ε"
	}
	s, err := private.Take(b.toySecret, "toy: Release: the Builder")
	if err != nil {
		return 0, err
	}
	return s.sum, nil
}

func (b *toy) Merge(other *toy) error {
	if other == nil {
		other = new(toy)
	}
	if b.flaw == "itself" && b == other {
		return nil
	}
	err := private.Merge(b.toySecret, other.toySecret, "toy: Merge", "Builder", func(s, o *toyState) error {
		if b.flaw != "others" && b.promise != other.promise {
			return check.MismatchError("toy", "Epsilon", b.promise, other.promise)
		}
		s.sum += o.sum
		return nil
	})
	if b.flaw == "kept" && err == nil {
		*other = *newToy("")
	}
	return err
}

func (b *toy) AppendPrivateState(dst []byte) ([]byte, error) {
	return private.Append(b.toySecret, dst, "toy: AppendPrivateState: the Builder", func(s *toyState, dst []byte) []byte {
		return append(append(dst, b.promise...), byte(s.sum), ';')
	})
}

func (b *toy) RestorePrivateState(data []byte) error {
	return private.Restore(b.toySecret, data, "toy: RestorePrivateState: the Builder", func(s *toyState, data []byte) error {
		promise, last := data[:max(len(data)-2, 0)], data[max(len(data)-2, 0):]
		switch {
		case b.flaw != "truncated" && (len(last) < 2 || last[1] != ';'):
			return check.FormatError("toy", "no end")
		case b.flaw != "states" && b.flaw != "truncated" && string(promise) != b.promise:
			return check.MismatchError("toy", "Epsilon", b.promise, "another one")
		case b.flaw != "forgets":
			s.sum = int(last[0])
		}
		return nil
	})
}

func (b *toy) Format(out fmt.State, verb rune) {
	if s := private.Enter(b.toySecret); s != nil {
		defer private.Leave(b.toySecret)
		if b.flaw == "prints" {
			fmt.Fprint(out, s.sum)
			return
		}
	}
	b.toySecret.Format(out, verb)
}

func TestBuilder(t *testing.T) {
	problems := func(flaw string) []string {
		other := newToy(flaw)
		other.promise = "3ε"
		return builderProblems(func() *toy { return newToy(flaw) }, (*toy).Add, []*toy{other})
	}
	require.Empty(t, problems(""))
	for _, flaw := range []string{"never released", "twice", "guarantee", "itself", "others", "kept", "states", "truncated", "forgets", "prints"} {
		require.NotEmpty(t, problems(flaw), flaw)
	}
}

func TestOK(t *testing.T) {
	require.Equal(t, 3, OK(3, error(nil))(t))
	require.Contains(t, problems(func(t testing.TB) { OK(3, errors.New("refused"))(t, "of %d", 7) })[0], "of 7")
}
