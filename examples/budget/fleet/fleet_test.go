package fleet

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/dpsketch/dpsketch/noise/budget"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
)

var background = context.Background()

// memory returns an empty database.
func memory(t *testing.T) *sql.DB {
	t.Helper()
	db := cli.Must(sql.Open("sqlite", ":memory:"))
	db.SetMaxOpenConns(1) // each connection is another database
	t.Cleanup(func() { db.Close() })
	return db
}

// create makes a budget.
func create(t *testing.T, db *sql.DB, x terms) {
	t.Helper()
	cli.OK(Create(background, db, "test", x.epsilon, x.delta, x.unit, x.rule))
}

var errWire = errors.New("the connection broke")

// wire is a connection on which something happens to the next change of the row.
type wire struct {
	*sql.DB
	before func() // what others do between reading and storing
	fault  fault
}

type fault int

const (
	lost       fault = iota + 1 // the change does not arrive
	unanswered                  // it arrives, and the answer does not
	faults     = 3
)

func (w *wire) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	before, fault := w.before, w.fault
	w.before, w.fault = nil, 0
	if before != nil {
		before()
	}
	if fault == lost {
		return nil, errWire
	}
	result, err := w.DB.ExecContext(ctx, query, args...)
	if fault == unanswered && err == nil {
		return nil, errWire
	}
	return result, err
}

// process is a server and its connection.
type process struct {
	*Server
	wire *wire
}

// world is a database, servers that use it, and what an all-knowing observer has seen.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	db      *sql.DB
	terms   terms
	servers []*process
	closed  []*process
	made    *budget.Ledger // the whole, from which each release that was made is spent
	sum     float64        // of the amounts of these
	doubled float64        // amounts of calls with an error of the database
	crashes int
	deep    int
}

func newWorld(t *testing.T, seed uint64, x terms) *world {
	w := &world{t: t, rng: rand.New(rand.NewPCG(seed, 7)), db: memory(t), terms: x}
	create(t, w.db, x)
	w.made, _ = x.ledger()
	for range 3 {
		w.servers = append(w.servers, w.start())
	}
	return w
}

func (w *world) start() *process {
	p := &process{wire: &wire{DB: w.db}}
	p.Server = NewServer(&Budget{db: p.wire, name: "test"}, math.Pow(2, -1-7*w.rng.Float64()), "test")
	return p
}

// guarantee draws a release: mostly a small part of the budget.
func (w *world) guarantee() budget.Guarantee {
	whole, _ := w.terms.ledger()
	most := whole.Remaining()
	part := math.Pow(2, -12*w.rng.Float64())
	escapes, rho, _ := w.terms.escapes()
	if !rho {
		return budget.GDP(most.Mu()*math.Sqrt(part), unit)
	}
	r := rhoOf(most) * part
	switch w.rng.IntN(3) {
	case 0:
		return budget.ZCDP(r, unit).WithEscape(escapes * part)
	case 1:
		return budget.GDP(math.Sqrt(2*r), unit)
	}
	return budget.ApproxDP(most.Epsilon()*part, escapes*part, unit)
}

// note writes down what a call to spend came to.
func (w *world) note(g budget.Guarantee, err error) {
	switch {
	case err == nil:
		if err := w.made.Spend(g); err != nil {
			w.t.Fatalf("above the budget: %v", err)
		}
		w.sum += amount(g)
	case errors.Is(err, errWire):
		w.doubled += amount(g)
	case !errors.Is(err, budget.ErrBudget):
		w.t.Fatal(err)
	}
}

// step does something.
func (w *world) step() {
	p := w.servers[w.rng.IntN(len(w.servers))]
	if w.rng.IntN(4) == 0 {
		p.wire.fault = fault(w.rng.IntN(faults))
		if w.deep < 2 {
			p.wire.before = func() { w.others(p) }
		}
	}
	switch op := w.rng.IntN(20); {
	case op == 0: // killed
		w.crashes++
		w.replace(p)
	case op == 1:
		w.close(p)
		w.closed = append(w.closed, p)
		w.replace(p)
	case op == 2:
		g := w.guarantee()
		w.note(g, p.budget.Spend(background, g))
	case op == 3 && len(w.closed) > 0: // one that was closed goes on
		old := w.closed[w.rng.IntN(len(w.closed))]
		g := w.guarantee()
		if err := old.Spend(background, g); err == nil {
			w.note(g, nil)
		}
		if err := old.Close(background); err != nil && !errors.Is(err, errWire) {
			w.t.Fatal(err)
		}
	default:
		g := w.guarantee()
		w.note(g, p.Spend(background, g))
	}
	p.wire.fault, p.wire.before = 0, nil
}

// others lets all servers but p, which is busy, do something.
func (w *world) others(p *process) {
	w.servers = slices.DeleteFunc(slices.Clone(w.servers), func(q *process) bool { return q == p })
	if w.deep++; len(w.servers) > 0 {
		for range w.rng.IntN(3) {
			w.step()
		}
	}
	w.deep--
	w.servers = append(w.servers, p)
}

// close returns a server's lease, with more calls where one fails.
func (w *world) close(p *process) {
	for p.Close(background) != nil {
		p.wire.fault = 0
	}
}

// replace starts another server in the place of one.
func (w *world) replace(p *process) {
	w.servers[slices.Index(w.servers, p)] = w.start()
}

// check compares the database with what was seen.
func (w *world) check() Status {
	s, err := Open(w.db, "test").Status(background)
	if err != nil {
		w.t.Fatal(err)
	}
	booked := w.settledSum(s) + w.tolerance()
	for _, lease := range s.Leases {
		booked += amount(lease.Booked)
	}
	if !(booked >= w.sum) {
		w.t.Fatalf("%v is booked, and %v was made", booked, w.sum)
	}
	return s
}

func (w *world) tolerance() float64 {
	whole, _ := w.terms.ledger()
	return 1e-12 * amount(whole.Remaining())
}

// settledSum returns the sum of what is spent for certain, as ρ, to 1e-12 of the whole.
func (w *world) settledSum(s Status) float64 {
	whole, _ := w.terms.ledger()
	return amount(whole.Remaining()) - amount(s.Settled.Remaining())
}

// Servers lease, spend, return, crash and go on after they were closed, while changes arrive late,
// twice or not at all: never above the budget, at any moment no less booked than made, and in the
// end one lease at most is lost for each crash, and nothing else but what a caller was not told of.
func TestInterleavings(t *testing.T) {
	for _, x := range []terms{{1, 1e-6, unit, "mu"}, {2, 1e-6, unit, "rho 5e-7"}} {
		seeds := uint64(100)
		if x.rule != "mu" {
			seeds = 20
		}
		refused, lost := 0, 0
		for seed := range seeds {
			t.Run(fmt.Sprint(x.rule, seed), func(t *testing.T) {
				w := newWorld(t, seed, x)
				for i := range 60 {
					if w.step(); i%4 == 0 {
						w.check()
					}
				}
				for _, p := range w.servers {
					w.close(p)
				}
				s := w.check()
				clitest.Not(t, len(s.Leases) > w.crashes, "%d leases are lost after %d crashes", len(s.Leases), w.crashes)
				if settled := w.settledSum(s); settled > w.sum+w.doubled+w.tolerance() {
					t.Errorf("%v is settled, and %v was made, %v perhaps", settled, w.sum, w.doubled)
				}
				lost += len(s.Leases)
				if s.Free < 0.02 {
					refused++
				}
			})
		}
		t.Logf("%s: %d of %d budgets ended, %d leases lost", x.rule, refused, seeds, lost)
		clitest.Not(t, refused < int(seeds)/4 || lost == 0, "the worlds are too quiet to show anything")
	}
}

// The lease of a server that goes on cannot be returned from outside, whatever is said to be spent:
// with what the row shows it can only be written off, and all that the server spends is booked.
func TestNobodyElseReturnsALease(t *testing.T) {
	db := memory(t)
	create(t, db, wholes[0])
	b := Open(db, "test")
	server := NewServer(b, 0.25, "first")
	whole, _ := wholes[0].ledger()
	each := budget.GDP(whole.Remaining().Mu()/30, unit) // a 900th of the whole
	spend := func(n int) {
		t.Helper()
		for range n {
			cli.OK(server.Spend(background, each))
		}
	}
	spend(50)
	s := cli.Must(b.Status(background))
	lease := s.Leases[0]
	for _, token := range []string{lease.ID, lease.ID + "-", lease.ID + "-" + lease.Proof, lease.ID + "-" + lease.ID} {
		if err := b.Return(background, token, each); !errors.Is(err, ErrHolder) {
			t.Errorf("%q returns the lease of a server: %v", token, err)
		}
	}
	spend(150)
	after := cli.Must(b.Status(background))
	if len(after.Leases) != 1 || after.Leases[0].ID != lease.ID || after.Spent+after.Leased < 200./900 {
		t.Errorf("200 releases of a 900th, and the row says %v and %v", after.Spent, after.Leased)
	}
	cli.OK(b.WriteOff(background, lease.ID))
	spend(20)
	cli.OK(server.Close(background))
	if s, err := b.Status(background); err != nil || len(s.Leases) != 0 || math.Abs(s.Spent-0.25) > 1e-6 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A lease is returned once, and with no more left than it had; the operator writes off what a lost
// server has, and the server may go on.
func TestReturns(t *testing.T) {
	db := memory(t)
	create(t, db, wholes[0])
	b := Open(db, "test")
	whole, _ := wholes[0].ledger()
	part := budget.GDP(whole.Remaining().Mu()/3, unit) // a ninth of the whole
	_, token, most, err := b.Lease(background, 0.25, "first")
	if err != nil || math.Abs(most.Mu()/whole.Remaining().Mu()-0.5) > 1e-6 {
		t.Fatal(most, err)
	}
	second := NewServer(b, 0.25, "second")
	cli.OK(second.Spend(background, part))
	status := func() Status {
		t.Helper()
		s := cli.Must(b.Status(background))
		return s
	}
	s := status()
	clitest.Not(t, len(s.Leases) != 2 || s.Leases[0].Holder != "first" || math.Abs(s.Free-0.5) > 1e-6 || math.Abs(s.Leased-0.5) > 1e-6 || s.Spent != 0, "%+v", s)
	lease := s.Leases[0].ID
	if err := b.Return(background, token, budget.GDP(whole.Remaining().Mu(), unit)); !errors.Is(err, budget.ErrBudget) {
		t.Errorf("more is said to be spent than was leased: %v", err)
	}
	cli.OK(b.Return(background, token, part))
	for _, err := range []error{b.Return(background, token, part), b.WriteOff(background, lease), b.Return(background, "x", part)} {
		clitest.Not(t, !errors.Is(err, ErrReturned), "returned again: %v", err)
	}
	if s = status(); len(s.Leases) != 1 || math.Abs(s.Spent-1./9) > 1e-6 || math.Abs(s.Free-1+1./9+0.25) > 1e-6 {
		t.Errorf("%+v", s)
	}
	cli.OK(b.WriteOff(background, s.Leases[0].ID))
	if err := second.Spend(background, part); err != nil { // within what was written off
		t.Fatal(err)
	}
	cli.OK(second.Close(background))
	if s = status(); len(s.Leases) != 0 || math.Abs(s.Spent-1./9-0.25) > 1e-6 {
		t.Errorf("%+v", s)
	}
	if err := second.Spend(background, part); err == nil {
		t.Error("a server spends after Close")
	}
}

// A process refuses a row older than one it has seen.
func TestOldCopy(t *testing.T) {
	db := memory(t)
	create(t, db, wholes[0])
	b := Open(db, "test")
	old := cli.Must(b.read(background))
	g := budget.GDP(1e-3, unit)
	cli.OK(b.Spend(background, g))
	cli.Must(db.Exec("UPDATE dp_budgets SET version = $1, ledger = $2, leases = $3", old.version, old.ledger, old.leases))
	if err := b.Spend(background, g); err == nil {
		t.Error("the process spends from an old copy")
	}
	b = Open(db, "test")
	b.AtLeast(2)
	if err := b.Spend(background, g); err == nil {
		t.Error("an old copy is spent from")
	}
	if err := Open(db, "test").Spend(background, g); err != nil {
		t.Error(err)
	}
	if err := Create(background, db, "test", 1, 1e-6, unit, "mu"); err == nil {
		t.Error("a budget is created twice")
	}
	if err := Open(db, "other").Spend(background, g); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a budget that is not there: %v", err)
	}
	cli.Must(db.Exec("UPDATE dp_budgets SET leases = '[{}]'"))
	if err := Open(db, "test").Spend(background, g); err == nil {
		t.Error("a damaged row is spent from")
	}
}

// counter is a Builder that knows whether it was released.
type counter struct{ released bool }

func (c *counter) Guarantee() budget.Guarantee { return budget.GDP(1e-3, unit) }
func (c *counter) Released() bool              { return c.released }
func (c *counter) Release() (int, error) {
	if c.released {
		return 0, budget.ErrReleased
	}
	c.released = true
	return 1, nil
}

// A release spends first, and one that cannot be made costs nothing.
func TestRelease(t *testing.T) {
	db := memory(t)
	create(t, db, wholes[0])
	s, c := NewServer(Open(db, "test"), 0.1, "test"), new(counter)
	for i, want := range []error{nil, budget.ErrReleased} {
		if n, err := Release(background, s, c); !errors.Is(err, want) || n != 1-i {
			t.Errorf("%d, %v", n, err)
		}
	}
	cli.OK(s.Close(background))
	if status, err := Open(db, "test").Status(background); err != nil || math.Abs(status.Settled.Spent().Mu()-1e-3) > 1e-15 {
		t.Errorf("%v, %v", status.Settled, err)
	}
	if n, err := Release(background, s, new(counter)); n != 0 || err == nil {
		t.Error("a closed server releases")
	}
}
