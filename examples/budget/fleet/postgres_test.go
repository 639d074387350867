package fleet

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/dpsketch/dpsketch/examples/internal/cli"
	"github.com/dpsketch/dpsketch/examples/internal/cli/clitest"
	"github.com/dpsketch/dpsketch/noise/budget"
)

// postgres starts a server of its own.
func postgres(t testing.TB) string {
	var db *sql.DB
	return clitest.Postgres(t, func(dsn string) error {
		if db == nil {
			db = connect(t, "pgx", dsn)
		}
		return db.Ping()
	})
}

// connect opens a database until the test ends.
func connect(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db := cli.Must(sql.Open(driver, dsn))
	t.Cleanup(func() { db.Close() })
	return db
}

// In TestPostgres a lease is a part of the budget, and a release a part of a lease.
const (
	leases   = 1500
	releases = 30
	kills    = 60
)

func TestMain(m *testing.M) {
	if text := os.Getenv("FLEET_CHILD"); text != "" {
		dsn, path, _ := strings.Cut(text, " ")
		if err := child(dsn, path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is a server in a process of its own: it releases until its input ends or nothing is left,
// and writes a line for each release that it makes.
func child(dsn, path string) error {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	s := NewServer(Open(db, "test"), 1./leases, strconv.Itoa(os.Getpid()))
	whole, err := wholes[0].ledger()
	if err != nil {
		return err
	}
	most := whole.Remaining().Mu()
	for ctx.Err() == nil {
		part := (0.5 + rand.Float64()) / leases / releases
		if rand.IntN(500) == 0 {
			part *= 2 * releases // more than a lease
		}
		mu := most * math.Sqrt(part)
		err := s.Spend(context.Background(), budget.GDP(mu, unit))
		if errors.Is(err, budget.ErrBudget) {
			break
		}
		if err != nil { // the connection broke, and is made again
			continue
		}
		if _, err := fmt.Fprintf(file, "%x\n", mu); err != nil {
			return err
		}
		time.Sleep(rand.N(100 * time.Microsecond))
	}
	for range 100 {
		if err = s.Close(context.Background()); err == nil {
			break
		}
	}
	return err
}

// Eight processes spend one budget in PostgreSQL. They are killed at random moments, and others
// take their place; connections are cut at random moments as well. All releases that were made fit
// in the budget by the ledger of the whole; one lease at most is lost for each kill; and the rest
// of the budget is used.
func TestPostgres(t *testing.T) {
	dsn := postgres(t)
	db := connect(t, "pgx", dsn)
	create(t, db, wholes[0])
	folder := t.TempDir()
	type running struct {
		*exec.Cmd
		in io.Closer
	}
	var paths []string
	start := func() running {
		paths = append(paths, filepath.Join(folder, strconv.Itoa(len(paths))))
		p := exec.Command(os.Args[0])
		p.Env = append(os.Environ(), "FLEET_CHILD="+dsn+" "+paths[len(paths)-1])
		p.Stderr = os.Stderr
		in := cli.Must(p.StdinPipe())
		cli.OK(p.Start())
		t.Cleanup(func() { _ = p.Process.Kill() })
		return running{p, in}
	}
	var all []running
	for range 8 {
		all = append(all, start())
	}
	killed, cut := 0, 0
	for range kills {
		time.Sleep(rand.N(100 * time.Millisecond))
		if rand.IntN(2) == 0 {
			var done bool
			err := db.QueryRow("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1").Scan(&done)
			if err == nil && done {
				cut++
			}
		}
		i := rand.IntN(len(all))
		if err := all[i].Process.Kill(); err == nil {
			killed++
		}
		_ = all[i].Wait()
		all[i] = start()
	}
	midway := cli.Must(Open(db, "test").Status(context.Background()))
	for i, p := range all { // one is asked to end, the others go on until nothing is left
		if i == 0 {
			p.in.Close()
		}
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	made, _ := wholes[0].ledger()
	count := 0
	for _, path := range paths {
		file, err := os.Open(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // killed before
		}
		clitest.Not(t, err != nil, "%v", err)
		lines := bufio.NewScanner(file)
		for lines.Scan() {
			mu := cli.Must(strconv.ParseFloat(lines.Text(), 64))
			if err := made.Spend(budget.GDP(mu, unit)); err != nil {
				t.Fatalf("above the budget: %v", err)
			}
			count++
		}
		file.Close()
	}
	s := cli.Must(Open(db, "test").Status(context.Background()))
	used := 1 - wholes[0].share(made)
	t.Logf("%d releases by %d processes, %d killed, %d connections cut; %d leases lost; used %.5f, settled %.5f, leased %.5f, free %.5f (%.2f when the kills ended), version %d",
		count, len(paths), killed, cut, len(s.Leases), used, s.Spent, s.Leased, s.Free, midway.Free, s.Version)
	clitest.Not(t, len(s.Leases) > killed, "%d leases are lost after %d kills", len(s.Leases), killed)
	clitest.Not(t, midway.Free < 0.05, "nothing was left when the kills ended: they did not hit what they should")
	// A release that was booked alone when its process was killed or its connection cut was not
	// made, and is no larger than three leases; the last process ended when one did not fit.
	if lost := float64(len(s.Leases)+3*(cut+killed+1)) / leases; used < 1-lost {
		t.Errorf("%v of the budget is used, want at least %v", used, 1-lost)
	}
	clitest.Not(t, s.Spent+1e-9 < used-s.Leased, "%v is booked, and %v was used", s.Spent+s.Leased, used)
}

// What a release costs within leases of k releases, and with a change of the row for each.
func BenchmarkSpend(b *testing.B) {
	file := filepath.Join(b.TempDir(), "budget.db")
	for _, c := range []struct{ name, driver, dsn string }{{"postgres", "pgx", postgres(b)}, {"sqlite", "sqlite", "file:" + file + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"}} {
		db := connect(b, c.driver, c.dsn)
		cli.OK(Create(context.Background(), db, "bench", 1, 1e-6, unit, "mu"))
		whole, _ := wholes[0].ledger()
		const all = 1 << 24 // releases of the whole
		g := budget.GDP(whole.Remaining().Mu()/math.Sqrt(all), unit)
		for _, k := range []int{0, 10, 100, 1000} {
			for _, workers := range []int{1, 8} {
				b.Run(fmt.Sprintf("%s/k=%d/servers=%d", c.name, k, workers), func(b *testing.B) {
					errs := make(chan error, workers)
					b.ResetTimer()
					for range workers {
						go func() {
							shared := Open(db, "bench")
							s := NewServer(shared, float64(k)/all*(1+1e-6), "bench")
							var err error
							for range b.N / workers {
								if k == 0 {
									err = shared.Spend(context.Background(), g)
								} else {
									err = s.Spend(context.Background(), g)
								}
								if err != nil {
									break
								}
							}
							errs <- errors.Join(err, s.Close(context.Background()))
						}()
					}
					for range workers {
						cli.OK(<-errs)
					}
				})
			}
		}
	}
}
