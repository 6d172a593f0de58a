// Command contend-worker-go-crawshaw is the worker for crawshaw.io/sqlite.
package main

import (
	"context"
	"errors"

	"contend/workers/native"
	"contend/workers/wire"
	"contend/workers/worker"

	"crawshaw.io/sqlite"
	"crawshaw.io/sqlite/sqlitex"
)

// flags returns 0, the library's default, where nothing is set; the default enables WAL, which is otherwise a setting
// of the plan.
func flags(asItComes bool) sqlite.OpenFlags {
	if asItComes {
		return 0
	}
	return sqlite.SQLITE_OPEN_READWRITE | sqlite.SQLITE_OPEN_CREATE | sqlite.SQLITE_OPEN_NOMUTEX
}

type pool struct{ *sqlitex.Pool }

func (p pool) Take(ctx context.Context) (*sqlite.Conn, error) {
	if conn := p.Get(ctx); conn != nil {
		return conn, nil
	}
	return nil, context.Canceled
}

func code(err error) (wire.Code, bool) {
	var e sqlite.Error
	ok := errors.As(err, &e)
	return wire.Code{Space: wire.SpaceSQLite, Number: uint32(e.Code)}, ok
}

func library() *worker.Driver {
	return native.Driver(worker.Driver{
		Name:    "crawshaw",
		Module:  "crawshaw.io/sqlite",
		Engine:  "SQLite",
		Scratch: ":memory:",
		Code:    code,
	}, &native.Library[*sqlite.Conn, *sqlite.Stmt]{
		Open: func(database string, asItComes bool) (*sqlite.Conn, error) {
			return sqlite.OpenConn(database, flags(asItComes))
		},
		Type:         func(stmt *sqlite.Stmt, column int) int { return int(stmt.ColumnType(column)) },
		BytesAreText: true, // BindBytes calls sqlite3_bind_text
		OpenPool: func(database string, size int, asItComes bool) (native.Pool[*sqlite.Conn], error) {
			inner, err := sqlitex.Open(database, flags(asItComes), size)
			return pool{inner}, err
		},
	})
}

func main() { worker.Main(library()) }
