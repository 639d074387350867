package clitest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// tool returns the path of a program of the PostgreSQL server, "" if there is none.
func tool(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// Postgres starts a PostgreSQL server of the test's own on loopback, in a temporary folder, and
// returns how to reach it once ping does. Without a server on this machine the test says that it
// did not run.
func Postgres(t testing.TB, ping func(dsn string) error) string {
	t.Helper()
	initdb, server := tool("initdb"), tool("postgres")
	if initdb == "" || server == "" {
		t.Skip("DID NOT RUN: there is no PostgreSQL server (Debian: apt-get install postgresql)")
	}
	folder, err := os.MkdirTemp("", "postgres") // of its own: the server's user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	data := filepath.Join(folder, "data")
	// The server refuses to run as root.
	as, err := otherUser(folder)
	if err != nil {
		t.Skipf("DID NOT RUN: %v", err)
	}
	create := exec.Command(initdb, "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
	create.SysProcAttr, create.Dir = as, folder
	if out, err := create.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close()
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	run := exec.Command(server, "-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "shared_buffers=16MB")
	run.SysProcAttr, run.Dir, run.Stdout, run.Stderr = as, folder, log, log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	t.Cleanup(func() {
		_ = run.Process.Signal(os.Interrupt) // at once, but cleanly
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = run.Process.Kill()
			<-ended
		}
	})
	dsn := fmt.Sprintf("postgres://tester@127.0.0.1:%d/postgres?sslmode=disable&connect_timeout=5", port)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if err = ping(dsn); err == nil {
			return dsn
		}
		if time.Since(began) > 30*time.Second || len(ended) > 0 {
			text, _ := os.ReadFile(log.Name())
			t.Fatalf("the server does not start: %v\n%s", err, text)
		}
	}
}
