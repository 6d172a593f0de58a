package sqldb

import (
	"context"
	"database/sql/driver"

	"contend/workers/wire"
	"contend/workers/worker"
)

// SQLite makes a worker's driver from any driver for database/sql that opens SQLite's files by their path. code finds
// SQLite's extended code of an error. The library learns of the end of the drain through its context.
func SQLite(name, module string, library driver.Driver, code func(error) (int, bool)) *worker.Driver {
	return Driver(worker.Driver{
		Name: name, Module: module, Engine: "SQLite", Scratch: ":memory:",
		Code: SQLiteCode(code), Interrupted: SQLiteInterrupt,
	}, &Library{
		Connector: func(database wire.Database, _ *worker.Options) (driver.Connector, error) {
			return opener{library, database.Path}, nil
		},
		Interrupt: func(driver.Conn, *worker.Setup) func() { return func() {} },
		Contexts:  true,
	})
}

// opener opens connections to one file.
type opener struct {
	library driver.Driver
	path    string
}

func (o opener) Driver() driver.Driver { return o.library }

func (o opener) Connect(context.Context) (driver.Conn, error) { return o.library.Open(o.path) }
