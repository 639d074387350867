package fleet

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dpsketch/dpsketch/noise/budget"
)

// ErrReturned reports a lease that is not open: it was returned before, or never taken.
var ErrReturned = errors.New("no such lease is open")

// ErrHolder reports a lease that somebody else than its holder wants to return.
var ErrHolder = errors.New("only its holder can return it, by its token; WriteOff is for all others, and books all of it")

// newToken returns a token: the ID of a lease, a hyphen and a secret, both of 130 random bits. The
// row has the ID and the token's hash. So whoever reads the row cannot return the lease of a server
// that goes on spending from it.
func newToken() string { return rand.Text() + "-" + rand.Text() }

// idOf returns the ID of the lease with a token.
func idOf(token string) string {
	id, _, _ := strings.Cut(token, "-")
	return id
}

// proof returns what the row knows of a token.
func proof(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Lease is a slice of a budget that a server spends by itself.
type Lease struct {
	ID     string           `json:"id"`
	Proof  string           `json:"proof"`  // SHA-256 of the token, which the holder alone has
	Holder string           `json:"holder"` // who has it, in the holder's words
	Since  time.Time        `json:"since"`  // by the holder's clock
	Share  float64          `json:"share"`  // of the whole
	Booked budget.Guarantee `json:"booked"` // more than the holder can spend
}

// row is the row of a budget, decoded.
type row struct {
	terms
	settled *budget.Ledger // spent for certain
	leases  []Lease
}

// stored is the row as it is in the database.
type stored struct {
	version      int64
	rule, leases string
	ledger       []byte
}

func (s stored) decode() (*row, error) {
	r := &row{settled: new(budget.Ledger)}
	if err := r.settled.UnmarshalBinary(s.ledger); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(s.leases), &r.leases); err != nil {
		return nil, fmt.Errorf("fleet: the leases: %w", err)
	}
	epsilon, delta := r.settled.Budget()
	r.terms = terms{epsilon, delta, r.settled.Unit(), s.rule}
	return r, nil
}

func (r *row) encode(version int64) (stored, error) {
	ledger, err := r.settled.MarshalBinary()
	if err != nil {
		return stored{}, err
	}
	leases, err := json.Marshal(r.leases)
	return stored{version: version, rule: r.rule, ledger: ledger, leases: string(leases)}, err
}

// total returns a copy of the ledger with all that is booked spent.
func (r *row) total() (*budget.Ledger, error) {
	data, err := r.settled.MarshalBinary()
	if err != nil {
		return nil, err
	}
	l := new(budget.Ledger)
	if err := l.UnmarshalBinary(data); err != nil {
		return nil, err
	}
	for _, lease := range r.leases {
		if err := l.Spend(lease.Booked); err != nil {
			return nil, fmt.Errorf("fleet: lease %s: %w", lease.ID, err)
		}
	}
	return l, nil
}

// index returns where a lease is, or −1.
func (r *row) index(id string) int {
	return slices.IndexFunc(r.leases, func(l Lease) bool { return l.ID == id })
}

// lease books a slice of the share, or of what remains if that is less.
func (r *row) lease(token string, share float64, holder string) (*budget.Ledger, Lease, error) {
	if !(share >= leastShare && share <= 1) {
		return nil, Lease{}, errShare(share)
	}
	total, err := r.total()
	if err != nil {
		return nil, Lease{}, err
	}
	if left := r.share(total); left < leastShare {
		return nil, Lease{}, fmt.Errorf("fleet: less than 2⁻³⁰ of the budget remains: %w", budget.ErrBudget)
	} else if share > left {
		share = left
	}
	l, booked, err := r.slice(share)
	if err == nil {
		err = total.Spend(booked)
	}
	if err != nil {
		return nil, Lease{}, err
	}
	lease := Lease{idOf(token), proof(token), holder, time.Now().UTC().Truncate(time.Second), share, booked}
	r.leases = append(r.leases, lease)
	return l, lease, nil
}

// spend books a release for certain.
func (r *row) spend(g budget.Guarantee) error {
	total, err := r.total()
	if err == nil {
		err = total.Spend(g)
	}
	if err != nil {
		return err
	}
	return r.book(g)
}

// giveBack ends a lease for whoever has its token.
func (r *row) giveBack(token string, spent budget.Guarantee) error {
	if i := r.index(idOf(token)); i >= 0 && r.leases[i].Proof != proof(token) {
		return fmt.Errorf("fleet: lease %s: %w", idOf(token), ErrHolder)
	}
	return r.settle(idOf(token), spent)
}

// settle ends a lease that its holder spends from no more: what was spent of it stays spent, and
// the rest is free again.
func (r *row) settle(id string, spent budget.Guarantee) error {
	i := r.index(id)
	if i < 0 {
		return fmt.Errorf("fleet: lease %s: %w", id, ErrReturned)
	}
	if lease := r.leases[i]; !spent.Equal(lease.Booked) {
		l, _, err := r.slice(lease.Share)
		if err == nil {
			err = l.Spend(spent)
		}
		if err != nil {
			return fmt.Errorf("fleet: lease %s cannot have been spent so: %w", id, err)
		}
	}
	if err := r.book(spent); err != nil {
		return err
	}
	r.drop(i)
	return nil
}

// book adds a release to what is spent for certain, as one with all before, so that the row does
// not grow with each lease; or by itself, where roundings leave no room for that.
func (r *row) book(g budget.Guarantee) error {
	whole, err := budget.Compose(r.settled.Spent(), g)
	if err != nil {
		return err
	}
	fresh, err := r.terms.ledger()
	if err != nil {
		return err
	}
	if fresh.Spend(whole) != nil {
		return r.settled.Spend(g)
	}
	r.settled = fresh
	return nil
}

// drop takes a lease out.
func (r *row) drop(i int) { r.leases = slices.Delete(r.leases, i, i+1) }
