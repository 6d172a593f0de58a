package main

import (
	"database/sql"
	"testing"

	"contend/workers/bench"
	"contend/workers/wire"
	"contend/workers/worker"

	"github.com/go-sql-driver/mysql"
)

func BenchmarkPointRead(b *testing.B) {
	bench.CompareOn(b, library(), "CONTEND_BENCH_MARIADB", bench.Query, bench.SQL(open))
}

func open(database wire.Database) (*sql.DB, error) {
	c, err := config(database, &worker.Options{})
	if err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(inner), nil
}
