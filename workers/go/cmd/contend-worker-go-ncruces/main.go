// Command contend-worker-go-ncruces is the worker for github.com/ncruces/go-sqlite3.
package main

import (
	"database/sql/driver"
	"errors"

	"contend/workers/sqldb"
	"contend/workers/wire"
	"contend/workers/worker"

	"github.com/ncruces/go-sqlite3"
	sqlite3driver "github.com/ncruces/go-sqlite3/driver"
	_ "github.com/ncruces/go-sqlite3/embed"
)

func code(err error) (int, bool) {
	var e *sqlite3.Error
	if errors.As(err, &e) {
		return int(e.ExtendedCode()), true
	}
	var extended sqlite3.ExtendedErrorCode
	if errors.As(err, &extended) {
		return int(extended), true
	}
	var plain sqlite3.ErrorCode
	if errors.As(err, &plain) {
		return int(plain), true
	}
	return 0, false
}

func library() *worker.Driver {
	return sqldb.Driver(worker.Driver{
		Name:        "ncruces",
		Module:      "github.com/ncruces/go-sqlite3",
		Engine:      "SQLite",
		Scratch:     ":memory:",
		Code:        sqldb.SQLiteCode(code),
		Interrupted: sqldb.SQLiteInterrupt,
		// The busy handler gives up once the context is done.
		CutsLockWaits: true,
	}, &sqldb.Library{
		Connector: func(database wire.Database, _ *worker.Options) (driver.Connector, error) {
			return (&sqlite3driver.SQLite{}).OpenConnector(database.Path)
		},
		// The library checks the context regularly during execution.
		Interrupt: func(driver.Conn, *worker.Setup) func() { return nil },
		Contexts:  true,
	})
}

func main() { worker.Main(library()) }
