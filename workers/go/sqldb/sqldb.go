package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"contend/workers/wire"
	"contend/workers/worker"
)

// Library has the differences between libraries for database/sql.
type Library struct {
	// Connector opens connections to a database with the library's defaults; it applies only the options that must hold
	// while a connection is opened.
	Connector func(database wire.Database, options *worker.Options) (driver.Connector, error)
	// Interrupt returns a function that interrupts a connection from another goroutine.
	Interrupt func(driver.Conn, *worker.Setup) func()
	// Direct: text without arguments, and with statements=each all of it, is executed without preparing it first.
	Direct bool
	// Rows converts the library's values to the five types; may be nil.
	Rows func(driver.Rows) driver.Rows
	// Lost reports errors after which a connection cannot be used; may be nil.
	Lost func(error) bool
	// Contexts: the library learns of the end of the drain through its context, without a cost per call.
	Contexts bool
	// Keeping informs the library that a statement will be executed often; may be nil.
	Keeping func(context.Context) context.Context
}

func (l *Library) rows(rows driver.Rows) driver.Rows {
	if l.Rows == nil {
		return rows
	}
	return l.Rows(rows)
}

// Driver makes a worker's driver from a library. The caller fills in the rest of d.
func Driver(d worker.Driver, library *Library) *worker.Driver {
	open := func(database wire.Database, setup *worker.Setup) (*sql.DB, error) {
		if setup.Context == nil {
			setup.Context = context.Background()
		}
		inner, err := library.Connector(database, setup.Options)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(&connector{Connector: inner, library: library, setup: setup}), nil
	}
	d.Open = func(database wire.Database, setup *worker.Setup) (worker.Conn, error) {
		db, err := open(database, setup)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1)
		one, err := take(db, setup, library)
		if err != nil {
			_ = db.Close()
			return nil, err
		}
		one.db = db
		return one, nil
	}
	d.OpenPool = func(database wire.Database, setup *worker.Setup) (worker.Pool, error) {
		db, err := open(database, setup)
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(setup.Options.PoolSize)
		db.SetMaxIdleConns(setup.Options.PoolIdle)
		if setup.Options.PoolIdle == 0 {
			db.SetMaxIdleConns(-1)
		}
		return &pool{db, setup, library}, nil
	}
	return &d
}

type pool struct {
	db      *sql.DB
	setup   *worker.Setup
	library *Library
}

func (p *pool) Acquire() (worker.Conn, error) {
	conn, err := take(p.db, p.setup, p.library)
	if err != nil {
		return nil, err
	}
	return conn, nil
}
func (p *pool) Release(c worker.Conn) {
	if taken := c.(*connection); taken.lost {
		// Without this the pool keeps it: the server has announced its end, and may not have closed it yet.
		_ = taken.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = c.Close()
}
func (p *pool) Idle() int    { return p.db.Stats().Idle }
func (p *pool) Close() error { return p.db.Close() }

// connection is taken from a pool, or the only one of its own.
type connection struct {
	library   *Library
	lost      bool
	isNew     bool
	db        *sql.DB // if it is the only one
	conn      *sql.Conn
	interrupt func()
	values    []any
	into      []any // pointers to values
	reading   *sql.Rows
	// Statement with which a script loads rows.
	load    *worker.Statement
	loading *sql.Stmt
}

func take(db *sql.DB, setup *worker.Setup, library *Library) (*connection, error) {
	taken, err := db.Conn(setup.Context)
	if err != nil {
		return nil, err
	}
	c := &connection{conn: taken, library: library}
	err = taken.Raw(func(raw any) error {
		var inner *conn
		switch raw := raw.(type) {
		case *conn:
			inner = raw
		case *direct:
			inner = raw.conn
		default:
			return nil
		}
		c.interrupt = inner.interrupt
		c.isNew, inner.used = !inner.used, true
		return nil
	})
	return c, err
}

func (c *connection) Interrupt() {
	if c.interrupt != nil {
		c.interrupt()
	}
}

func (c *connection) Close() error {
	err := c.conn.Close()
	if c.db != nil {
		err = errors.Join(err, c.db.Close())
	}
	return err
}

// New reports whether database/sql has just opened the connection.
func (c *connection) New() bool { return c.isNew }

// Lost reports whether an error has shown that the connection is lost.
func (c *connection) Lost() bool { return c.lost }

func (c *connection) Run(s *worker.Statement, args []any, each func([]any) error) (int64, error) {
	rows, err := c.run(s, args, each)
	if err != nil && c.library.Lost != nil {
		c.lost = c.lost || c.library.Lost(err)
	}
	return rows, err
}

func (c *connection) run(s *worker.Statement, args []any, each func([]any) error) (int64, error) {
	if s.Keep && c.load != s {
		loading, err := c.conn.PrepareContext(context.Background(), s.SQL)
		if err != nil {
			return 0, err
		}
		c.load, c.loading = s, loading
	}
	if s.Keep {
		_, err := c.loading.ExecContext(context.Background(), args...)
		return 0, err
	}
	if !s.Returns {
		result, err := c.conn.ExecContext(context.Background(), s.SQL, args...)
		if err != nil || !s.Changes {
			return 0, err
		}
		affected, err := result.RowsAffected()
		if s.Upserts > 0 && c.library.Direct {
			// A row that is replaced or updated counts twice.
			affected = min(affected, s.Upserts)
		}
		return affected, err
	}
	rows, err := c.conn.QueryContext(context.Background(), s.SQL, args...)
	if err != nil {
		return 0, err
	}
	count, err := c.read(rows, each)
	if closed := rows.Close(); err == nil {
		err = closed
	}
	return count, err
}

func (c *connection) read(rows *sql.Rows, each func([]any) error) (count int64, err error) {
	into := c.into[:0]
	c.reading = rows
	for rows.Next() {
		if count == 0 {
			if into, err = c.columns(rows); err != nil {
				return count, err
			}
		}
		if err := rows.Scan(into...); err != nil {
			return count, err
		}
		if each != nil {
			if err := each(c.values[:len(into)]); err != nil {
				return count, err
			}
		}
		count++
	}
	return count, rows.Err()
}

// Names returns the columns of the rows being read.
func (c *connection) Names() ([]string, error) { return c.reading.Columns() }

// columns returns pointers to as many values as the rows have columns.
func (c *connection) columns(rows *sql.Rows) ([]any, error) {
	names, err := rows.Columns()
	if len(c.values) < len(names) {
		c.values, c.into = make([]any, len(names)), make([]any, len(names))
		for i := range c.values {
			c.into[i] = &c.values[i]
		}
	}
	return c.into[:len(names)], err
}

// anyColumns is more than a plan can keep.
const anyColumns = 1 << 16

// Columns returns their number without requesting a row.
func (c *connection) Columns(s *worker.Statement) (int, error) {
	rows, err := c.conn.QueryContext(context.Background(), "SELECT * FROM ("+s.SQL+") AS asked LIMIT 0", make([]any, s.Params)...)
	if err != nil && c.library.Direct {
		return anyColumns, nil // a query may be one that cannot stand in another
	}
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	return len(names), err
}

// SQLiteCode makes a driver's Code from a function that finds SQLite's code.
func SQLiteCode(find func(error) (int, bool)) func(error) (wire.Code, bool) {
	return func(err error) (wire.Code, bool) {
		code, ok := find(err)
		return wire.Code{Space: wire.SpaceSQLite, Number: uint32(code)}, ok
	}
}

// SQLiteInterrupt is SQLITE_INTERRUPT.
var SQLiteInterrupt = wire.Code{Space: wire.SpaceSQLite, Number: 9}
