package main

import (
	"contend/workers/wire"
	"context"
	"strings"
	"testing"
	"time"

	"contend/workers/bench"

	"github.com/jackc/pgx/v5"
)

func BenchmarkPointRead(b *testing.B) {
	bench.CompareOn(b, library(), "CONTEND_BENCH_POSTGRES", query, bare)
}

var query = strings.Replace(bench.Query, "?", "$1", 1)

// bare is what a program that prepares its statement would write. With this configuration, under which it caches
// nothing, the library would otherwise parse the text for every read, in an extra round trip.
func bare(b *testing.B, database wire.Database, keys []int64, reads int) time.Duration {
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
	if _, err := conn.Prepare(ctx, "read", query); err != nil {
		b.Fatal(err)
	}
	var id, value int64
	var note string
	begun := time.Now()
	for i := range reads {
		if err := conn.QueryRow(ctx, "read", keys[i%len(keys)]).Scan(&id, &value, &note); err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(begun)
}
