// Package bench compares the worker with a bare loop that calls the same library, reading rows by rowid from SQLite,
// and by primary key from a server.
package bench

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/workers/wire"
	"contend/workers/worker"
)

const (
	rows  = 100_000
	cycle = 16_384

	// Query is executed by both sides.
	Query = "SELECT id, value, note FROM item WHERE rowid = ?"
)

// Bare reads the keys in order with the library alone, from index 0 on and cyclically.
type Bare func(b *testing.B, database wire.Database, keys []int64, reads int) time.Duration

// side is one side of the comparison: turns of reads with this text.
type side struct {
	query        string
	turns, reads int
}

// Compare prints the ratio of the bare loop's time to the worker's. Both sides alternate, so that both have the same
// machine.
func Compare(b *testing.B, driver *worker.Driver, bare Bare) {
	path := filepath.Join(b.TempDir(), "bench.db")
	load(b, driver, path, []string{
		// A rollback journal would add the kernel's work to every read and hide the difference.
		"PRAGMA journal_mode = WAL",
		"CREATE TABLE item (id INTEGER, value INTEGER, note TEXT)",
		fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO item SELECT i, i %% 100, 'item ' || i FROM n", rows-1),
	})
	side{Query, 101, 5_000}.compare(b, driver, "file\t"+path, bare)
}

// CompareOn does the same on a server that has the table. The environment has the fields of its `database` line;
// without them there is no comparison.
func CompareOn(b *testing.B, driver *worker.Driver, variable, query string, bare Bare) {
	database := os.Getenv(variable)
	if database == "" {
		b.Skipf("%s names no server; scripts/bench-workers-go.sh starts one", variable)
	}
	side{query, 31, 2_000}.compare(b, driver, database, bare)
}

func (s side) compare(b *testing.B, driver *worker.Driver, fields string, bare Bare) {
	random := rand.New(rand.NewPCG(1, 2))
	keys := make([]int64, cycle)
	for i := range keys {
		keys[i] = 1 + random.Int64N(rows)
	}
	database := wire.DatabaseOf(strings.Split(fields, "\t"))
	plan := s.plan(driver, fields, keys)
	reads, turns := s.reads, s.turns
	var ratios, bareNS, workerNS []float64
	alone := func() time.Duration {
		runtime.GC() // as the worker before its start; otherwise the loop would collect the worker's garbage
		return bare(b, database, keys, reads)
	}
	for slice := range turns {
		var plain, ours time.Duration
		if slice%2 == 0 {
			plain = alone()
		}
		ours = throughWorker(b, driver, plan, reads)
		if slice%2 == 1 {
			plain = alone()
		}
		ratios = append(ratios, float64(plain)/float64(ours))
		bareNS = append(bareNS, float64(plain)/float64(reads))
		workerNS = append(workerNS, float64(ours)/float64(reads))
	}
	for _, values := range [][]float64{ratios, bareNS, workerNS} {
		slices.Sort(values)
	}
	// Other processes make turns longer, never shorter: use the slowest of the fastest tenth.
	middle, fast := turns/2, (turns+9)/10-1
	fmt.Printf("%-13s bare/worker %.3f (median of %d; %.3f to %.3f), bare %.0f ns, worker %.0f ns per read; "+
		"%.3f between the fastest tenths, bare %.0f ns, worker %.0f ns\n", driver.Name,
		ratios[middle], turns, ratios[0], ratios[turns-1], bareNS[middle], workerNS[middle],
		bareNS[fast]/workerNS[fast], bareNS[fast], workerNS[fast])
}

func load(b *testing.B, driver *worker.Driver, path string, statements []string) {
	conn, err := driver.Open(wire.File(path), &worker.Setup{Options: &worker.Options{BusyTimeoutMS: -1}, Context: context.Background()})
	if err != nil {
		b.Fatal(err)
	}
	for _, sql := range statements {
		if _, err := conn.Run(&worker.Statement{Statement: wire.Statement{SQL: sql, Returns: strings.HasPrefix(sql, "PRAGMA")}, Index: -1}, nil, nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		b.Fatal(err)
	}
}

func (s side) plan(driver *worker.Driver, fields string, keys []int64) string {
	var text strings.Builder
	fmt.Fprintf(&text, "contend-plan 3\nworker\t0\ndriver\t%s\tthread\nconnections\tclient\nwindow\t0\t0\t0\nnow\tclock\n", driver.Name)
	fmt.Fprintf(&text, "database\t%s\nstatement\t0\trows\t%s\t%s\ntransaction\t0\tread\tread\t-\t0\t0\t1\n", fields, s.placeholder(), s.query)
	fmt.Fprintf(&text, "step\tsql\t0\t1..1\t1\t-\tp0+0\nretry\t1\t-\t-\t-\nclients\t1\n")
	fmt.Fprintf(&text, "client\t0\t0\tclosed\tcyclic\t%d\t0\t%d\n", s.reads, len(keys))
	for _, key := range keys {
		fmt.Fprintf(&text, "op\t0\t0\ti%d\n", key)
	}
	return wire.Sealed(text.String())
}

// placeholder is the offset of the query's only one.
func (s side) placeholder() string {
	if at := strings.IndexByte(s.query, '?'); at >= 0 {
		return fmt.Sprint(at)
	}
	return fmt.Sprintf("%d:1", strings.IndexByte(s.query, '$'))
}

// throughWorker is the time from the first start to the last end.
func throughWorker(b *testing.B, driver *worker.Driver, plan string, reads int) time.Duration {
	clients, err := worker.RunPlan(driver, plan)
	if err != nil {
		b.Fatal(err)
	}
	samples := clients[0]
	for _, s := range samples {
		if s.Space != 0 || s.Rows != 1 {
			b.Fatalf("a read failed: %+v", s)
		}
	}
	if len(samples) != reads {
		b.Fatalf("%d reads instead of %d", len(samples), reads)
	}
	return time.Duration(samples[reads-1].Finished - samples[0].Started)
}

// SQL is the bare loop of a library for database/sql: a prepared statement, a row, its columns.
func SQL(open func(database wire.Database) (*sql.DB, error)) Bare {
	return func(b *testing.B, database wire.Database, keys []int64, reads int) time.Duration {
		db, err := open(database)
		if err != nil {
			b.Fatal(err)
		}
		defer db.Close()
		ctx := context.Background()
		conn, err := db.Conn(ctx)
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Close()
		stmt, err := conn.PrepareContext(ctx, Query)
		if err != nil {
			b.Fatal(err)
		}
		var id, value int64
		var note string
		begun := time.Now()
		for i := range reads {
			if err := stmt.QueryRowContext(ctx, keys[i%len(keys)]).Scan(&id, &value, &note); err != nil {
				b.Fatal(err)
			}
		}
		return time.Since(begun)
	}
}
