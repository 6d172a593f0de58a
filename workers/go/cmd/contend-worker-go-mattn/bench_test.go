package main

import (
	"database/sql"
	"testing"

	"contend/workers/bench"
)

func BenchmarkPointRead(b *testing.B) {
	bench.Compare(b, library(), bench.SQL(func(path string) (*sql.DB, error) { return sql.Open("sqlite3", path) }))
}
