// Package fleet keeps one privacy budget for many servers in a database: one row, changed by
// compare-and-swap. A server leases a slice of the budget and spends it without asking anybody:
//
//	err := fleet.Create(ctx, db, "visits", 1, 1e-6, unit, "mu") // once
//	shared := fleet.Open(db, "visits")
//	server := fleet.NewServer(shared, 0.01, "host-3") // 1 % of the budget at a time
//	defer server.Close(ctx)                           // returns what is left
//	list, err := fleet.Release(ctx, server, builder)  // spends first, then releases
//
// # Guarantee
//
// All releases of all servers together are (ε, δ)-DP, also where their amounts depend on what other
// releases showed, and whichever servers crash. A server that crashes loses what was left of its
// lease; the others lose nothing. The argument is in lease_proof.md.
//
// # Cost
//
// A release within a lease takes a microsecond and no round trip. A new lease takes one round trip
// where no other server came between, otherwise two for each time that one did; the same trip
// returns what is left of the lease before.
//
// # Not covered
//
// The database is trusted to keep what it has committed: a restored backup, or a replica that lost
// the last changes, forgets what was spent. A process refuses a row that is older than one it has
// seen, and no more than that. Anyone who can write the row can write any budget into it.
package fleet
