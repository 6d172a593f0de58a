// Command contend-worker-go-tailscale is the worker for github.com/tailscale/sqlite.
package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"reflect"
	"sync"

	"contend/workers/sqldb"
	"contend/workers/wire"
	"contend/workers/worker"

	"github.com/tailscale/sqlite"
	"github.com/tailscale/sqlite/sqliteh"
)

func code(err error) (int, bool) {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return int(e.Code), true
	}
	return 0, false
}

const memory = ":memory:"

// connector stores the library's handle of each connection: through it the connection can be interrupted without a
// context per call, and an error's extended code can be read, of which the library returns only the primary code.
type connector struct{ driver.Connector }

type connection struct {
	driver.Conn
	db sqliteh.DB
}

var (
	opening sync.Mutex
	opened  sqliteh.DB
)

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opening.Lock()
	defer opening.Unlock()
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return connection{Conn: conn, db: opened}, nil
}

// extended adds the connection's extended code to an error.
func (c connection) extended(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		if code := c.db.ExtendedErrCode(); code&0xff == e.Code {
			e.Code = code
		}
	}
	return err
}

func (c connection) PrepareContext(ctx context.Context, sql string) (driver.Stmt, error) {
	inner, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, sql)
	if err != nil {
		return nil, c.extended(err)
	}
	return statement{inner, c}, nil
}

type statement struct {
	driver.Stmt
	conn connection
}

func (s statement) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	return result, s.conn.extended(err)
}

func (s statement) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	inner, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, s.conn.extended(err)
	}
	return &rows{inner, s.conn, reflect.ValueOf(inner).Elem().FieldByName("colType")}, nil
}

// rows distinguishes texts from blobs; the library returns both as bytes.
type rows struct {
	driver.Rows
	conn  connection
	types reflect.Value
}

func (r *rows) Next(values []driver.Value) error {
	if err := r.Rows.Next(values); err != nil {
		return r.conn.extended(err)
	}
	for i, value := range values {
		bytes, ok := value.([]byte)
		if ok && i < r.types.Len() && sqliteh.ColumnType(r.types.Index(i).Uint()) == sqliteh.SQLITE_TEXT {
			values[i] = string(bytes)
		}
	}
	return nil
}

func noteOpened() {
	open := sqlite.Open
	sqlite.Open = func(name string, flags sqliteh.OpenFlags, vfs string) (sqliteh.DB, error) {
		db, err := open(name, flags, vfs)
		opened = db
		return db, err
	}
}

func library() *worker.Driver {
	noteOpened()
	return sqldb.Driver(worker.Driver{
		Name:        "tailscale",
		Module:      "github.com/tailscale/sqlite",
		Engine:      "SQLite",
		Scratch:     memory,
		Code:        sqldb.SQLiteCode(code),
		Interrupted: sqldb.SQLiteInterrupt,
	}, &sqldb.Library{
		Connector: func(database wire.Database, _ *worker.Options) (driver.Connector, error) {
			// The library accepts only URIs.
			uri := (&url.URL{Scheme: "file", Path: database.Path}).String()
			if database.Path == memory {
				uri = "file:" + memory
			}
			return connector{sqlite.Connector(uri, nil, nil)}, nil
		},
		Interrupt: func(conn driver.Conn, _ *worker.Setup) func() { return conn.(connection).db.Interrupt },
		Keeping:   sqlite.WithPersist,
	})
}

func main() { worker.Main(library()) }
