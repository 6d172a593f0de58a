package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"contend/workers/bench"

	"github.com/jackc/pgx/v5"
)

func BenchmarkPointRead(b *testing.B) {
	bench.CompareOn(b, library(), "CONTEND_BENCH_POSTGRES", query,
		"INSERT INTO item SELECT i, i - 1, i %% 100, 'item ' || i FROM generate_series(1, %d) AS all_of_them(i)", bare)
}

var query = strings.Replace(bench.Query, "?", "$1", 1)

// bare is what a program would write: the library prepares the statement by itself and keeps it.
func bare(b *testing.B, database string, keys []int64, reads int) time.Duration {
	c, err := config(database)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	var id, value int64
	var note string
	read := func(key int64) {
		if err := conn.QueryRow(ctx, query, key).Scan(&id, &value, &note); err != nil {
			b.Fatal(err)
		}
	}
	// Preparing is not part of it; the worker does it before the start.
	read(keys[0])
	begun := time.Now()
	for i := range reads {
		read(keys[i%len(keys)])
	}
	return time.Since(begun)
}
