// Command contend-worker-go-mine is the worker for a driver of database/sql of your own.
package main

import (
	"errors"

	"contend/workers/sqldb"
	"contend/workers/worker"

	"github.com/mattn/go-sqlite3" // yours instead
)

func code(err error) (int, bool) {
	var e sqlite3.Error
	ok := errors.As(err, &e)
	return int(e.ExtendedCode), ok
}

func main() {
	worker.Main(sqldb.SQLite("mine", "github.com/mattn/go-sqlite3", &sqlite3.SQLiteDriver{}, code))
}
