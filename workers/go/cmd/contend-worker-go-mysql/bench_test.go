package main

import (
	"database/sql"
	"testing"

	"contend/workers/bench"
	"contend/workers/worker"

	"github.com/go-sql-driver/mysql"
)

func BenchmarkPointRead(b *testing.B) {
	bench.CompareOn(b, library(), "CONTEND_BENCH_MARIADB", bench.Query,
		"INSERT INTO item SELECT seq, seq - 1, seq %% 100, concat('item ', seq) FROM seq_1_to_%d", bench.SQL(open))
}

func open(database string) (*sql.DB, error) {
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
