// Command contend-worker-go-zombiezen is the worker for zombiezen.com/go/sqlite.
package main

import (
	"contend/workers/native"
	"contend/workers/wire"
	"contend/workers/worker"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// flags returns 0, the library's default, where nothing is set; the default enables WAL, which is otherwise a setting
// of the plan.
func flags(asItComes bool) sqlite.OpenFlags {
	if asItComes {
		return 0
	}
	return sqlite.OpenReadWrite | sqlite.OpenCreate
}

func code(err error) (wire.Code, bool) {
	return wire.Code{Space: wire.SpaceSQLite, Number: uint32(sqlite.ErrCode(err))}, true
}

func library() *worker.Driver {
	return native.Driver(worker.Driver{
		Name:    "zombiezen",
		Module:  "zombiezen.com/go/sqlite",
		Engine:  "SQLite",
		Scratch: ":memory:",
		Code:    code,
	}, &native.Library[*sqlite.Conn, *sqlite.Stmt]{
		Open: func(database string, asItComes bool) (*sqlite.Conn, error) {
			return sqlite.OpenConn(database, flags(asItComes))
		},
		Type: func(stmt *sqlite.Stmt, column int) int { return int(stmt.ColumnType(column)) },
		OpenPool: func(database string, size int, asItComes bool) (native.Pool[*sqlite.Conn], error) {
			return sqlitex.NewPool(database, sqlitex.PoolOptions{Flags: flags(asItComes), PoolSize: size})
		},
	})
}

func main() { worker.Main(library()) }
