// Command contend-worker-go-mattn is the worker for github.com/mattn/go-sqlite3.
package main

// // The library has it, but shows it only through contexts, which cost a goroutine for each call.
// #include <stdint.h>
// extern void sqlite3_interrupt(void *db);
// static void interrupt(uintptr_t db) { sqlite3_interrupt((void *)db); }
import "C"

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"contend/workers/sqldb"
	"contend/workers/wire"
	"contend/workers/worker"

	"github.com/mattn/go-sqlite3"
)

type connector string

func (c connector) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }
func (c connector) Connect(context.Context) (driver.Conn, error) {
	return c.Driver().Open(string(c))
}

func code(err error) (int, bool) {
	var e sqlite3.Error
	ok := errors.As(err, &e)
	return int(e.ExtendedCode), ok
}

func interrupt(conn driver.Conn, _ *worker.Setup) func() {
	db := C.uintptr_t(reflect.ValueOf(conn).Elem().FieldByName("db").Pointer())
	return func() { C.interrupt(db) }
}

// keeps returns the number of statements that a connection keeps by default; the library does not export it.
func keeps() (string, error) {
	conn, err := connector(":memory:").Connect(context.Background())
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return strconv.Itoa(reflect.ValueOf(conn).Elem().FieldByName("stmtCache").Cap()), nil
}

func library() *worker.Driver {
	return sqldb.Driver(worker.Driver{
		Name:        "mattn",
		Module:      "github.com/mattn/go-sqlite3",
		Engine:      "SQLite",
		Scratch:     ":memory:",
		Code:        sqldb.SQLiteCode(code),
		Interrupted: sqldb.SQLiteInterrupt,

		StatementCache: keeps,
	}, &sqldb.Library{
		Connector: func(database wire.Database, options *worker.Options) (driver.Connector, error) {
			path := database.Path
			if options.BusyTimeoutMS >= 0 {
				// The library locks the database when it opens a connection, and would wait for its default of 5 s.
				path = fmt.Sprintf("%s?_busy_timeout=%d", path, options.BusyTimeoutMS)
			}
			return connector(path), nil
		},
		Interrupt: interrupt,
	})
}

func main() { worker.Main(library()) }
