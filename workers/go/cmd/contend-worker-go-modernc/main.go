// Command contend-worker-go-modernc is the worker for modernc.org/sqlite.
package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"reflect"

	"contend/workers/sqldb"
	"contend/workers/wire"
	"contend/workers/worker"

	"modernc.org/libc"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

type connector string

func (c connector) Driver() driver.Driver { return &sqlite.Driver{} }
func (c connector) Connect(context.Context) (driver.Conn, error) {
	return c.Driver().Open(string(c))
}

func code(err error) (int, bool) {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code(), true
	}
	return 0, false
}

// interrupt calls the function that the library calls when a context ends; a context costs a goroutine per call.
func interrupt(conn driver.Conn, _ *worker.Setup) func() {
	db := uintptr(reflect.ValueOf(conn).Elem().FieldByName("db").Uint())
	return func() {
		tls := libc.NewTLS()
		sqlite3.Xsqlite3_interrupt(tls, db)
		tls.Close()
	}
}

func library() *worker.Driver {
	return sqldb.Driver(worker.Driver{
		Name:        "modernc",
		Module:      "modernc.org/sqlite",
		Engine:      "SQLite",
		Scratch:     ":memory:",
		Code:        sqldb.SQLiteCode(code),
		Interrupted: sqldb.SQLiteInterrupt,
	}, &sqldb.Library{
		Connector: func(database wire.Database, _ *worker.Options) (driver.Connector, error) {
			return connector(database.Path), nil
		},
		Interrupt: interrupt,
	})
}

func main() { worker.Main(library()) }
