package main

import (
	"testing"
	"time"

	"contend/workers/bench"
	"contend/workers/wire"

	"crawshaw.io/sqlite"
)

func BenchmarkPointRead(b *testing.B) {
	bench.Compare(b, library(), bare)
}

func bare(b *testing.B, database wire.Database, keys []int64, reads int) time.Duration {
	conn, err := sqlite.OpenConn(database.Path, flags(false))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	stmt, err := conn.Prepare(bench.Query)
	if err != nil {
		b.Fatal(err)
	}
	var sum int64
	var note string
	begun := time.Now()
	for i := range reads {
		stmt.BindInt64(1, keys[i%len(keys)])
		for {
			row, err := stmt.Step()
			if err != nil {
				b.Fatal(err)
			}
			if !row {
				break
			}
			sum += stmt.ColumnInt64(0) + stmt.ColumnInt64(1)
			note = stmt.ColumnText(2)
		}
		if err := stmt.Reset(); err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(begun)
	if sum == 0 || note == "" {
		b.Fatal("nothing was read")
	}
	return took
}
