package main

import (
	"database/sql"
	"testing"

	"contend/workers/bench"
	"contend/workers/wire"
)

func BenchmarkPointRead(b *testing.B) {
	bench.Compare(b, library(), bench.SQL(func(at wire.Database) (*sql.DB, error) { return sql.Open("sqlite3", at.Path) }))
}
