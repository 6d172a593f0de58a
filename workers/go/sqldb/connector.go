// Package sqldb makes a worker's driver from a library for database/sql. Connections, pools and calls go through
// database/sql, as in any Go program; only prepared statements are cached per connection, which database/sql leaves
// to its user.
package sqldb

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"

	"contend/workers/worker"
)

// connector opens connections of the library with the settings of a plan.
type connector struct {
	driver.Connector
	library *Library
	setup   *worker.Setup
}

// Connect opens a connection, applies the settings and prepares the statements.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, worker.OnSQL("open", err)
	}
	c.setup.Opened.Add(1)
	conn := &conn{Conn: inner, library: c.library, context: context.Background(), setup: c.setup, kept: map[string]*stmt{}}
	conn.interrupt = c.library.Interrupt(inner, c.setup)
	if c.library.Contexts {
		conn.context = c.setup.Context
	}
	if err := conn.setUp(); err != nil {
		_ = inner.Close()
		return nil, err
	}
	if c.library.Direct {
		return &direct{conn}, nil
	}
	return conn, nil
}

// direct is a connection that can execute text without preparing it, which database/sql prefers.
type direct struct{ *conn }

// ExecContext declines cached statements, and those that the library prefers to prepare.
func (d *direct) ExecContext(_ context.Context, sql string, args []driver.NamedValue) (driver.Result, error) {
	if _, keeps := d.kept[sql]; keeps {
		return nil, driver.ErrSkip
	}
	return d.Conn.(driver.ExecerContext).ExecContext(d.context, sql, args)
}

// QueryContext does the same for statements that return rows.
func (d *direct) QueryContext(_ context.Context, sql string, args []driver.NamedValue) (driver.Rows, error) {
	if _, keeps := d.kept[sql]; keeps {
		return nil, driver.ErrSkip
	}
	rows, err := d.Conn.(driver.QueryerContext).QueryContext(d.context, sql, args)
	if err != nil {
		return nil, err
	}
	return d.library.rows(rows), nil
}

// rollback is executed even after the drain.
const rollback = "ROLLBACK"

// conn is a connection of the library that keeps prepared statements.
type conn struct {
	driver.Conn
	library *Library
	// context is passed to the library: database/sql starts a goroutine for each call whose context can end.
	context   context.Context
	interrupt func()
	setup     *worker.Setup
	// kept has the cached statements by text; nil means not used yet.
	kept map[string]*stmt
	// used reports whether the connection was taken before.
	used bool
}

func (c *conn) setUp() error {
	setup := c.setup
	for _, sql := range setup.Before() {
		if err := c.once(sql); err != nil {
			return worker.OnSQL(sql, err)
		}
	}
	for _, statement := range setup.Statements {
		isText := c.library.Direct && statement.Params == 0 && !statement.Returns && !statement.Changes
		if c.kept[statement.SQL] != nil || isText {
			continue
		}
		if setup.InRun.Load() {
			if !setup.Options.PrepareEach {
				c.kept[statement.SQL] = nil // prepared when it is first used
			}
			continue
		}
		s, err := c.prepare(c.keeping(), statement.SQL)
		if err != nil {
			return worker.OnSQL(statement.SQL, err)
		}
		if setup.Options.PrepareEach {
			_ = s.inner.Close()
		} else {
			c.keep(statement.SQL, s)
		}
	}
	return nil
}

func (c *conn) keep(sql string, s *stmt) {
	s.keep = true
	c.kept[sql] = s
}

// once executes a statement of the setup.
func (c *conn) once(sql string) error {
	if c.library.Direct {
		_, err := c.Conn.(driver.ExecerContext).ExecContext(c.context, sql, nil)
		return err
	}
	s, err := c.prepare(c.context, sql)
	if err != nil {
		return err
	}
	err = s.drain()
	_ = s.inner.Close()
	return err
}

// keeping returns the context for preparing cached statements.
func (c *conn) keeping() context.Context {
	if c.library.Keeping == nil || c.setup.Options.PrepareEach {
		return c.context
	}
	return c.library.Keeping(c.context)
}

func (c *conn) prepare(ctx context.Context, sql string) (*stmt, error) {
	bound := c.context
	if sql == rollback {
		ctx, bound = context.WithoutCancel(ctx), context.WithoutCancel(bound)
	}
	var inner driver.Stmt
	var err error
	if preparer, ok := c.Conn.(driver.ConnPrepareContext); ok {
		inner, err = preparer.PrepareContext(ctx, sql)
	} else {
		inner, err = c.Conn.Prepare(sql)
	}
	if err != nil {
		return nil, err
	}
	s := &stmt{context: bound, inner: inner, library: c.library}
	var queries, executes bool
	s.query, queries = inner.(driver.StmtQueryContext)
	s.exec, executes = inner.(driver.StmtExecContext)
	if !queries || !executes {
		return nil, fmt.Errorf("a statement of the library (%T) takes no context", inner)
	}
	return s, nil
}

// PrepareContext returns a cached statement, or prepares it.
func (c *conn) PrepareContext(_ context.Context, sql string) (driver.Stmt, error) {
	s, keeps := c.kept[sql]
	if s != nil {
		return s, nil
	}
	if !keeps {
		return c.prepare(c.context, sql)
	}
	s, err := c.prepare(c.keeping(), sql)
	if err != nil {
		return nil, err
	}
	c.keep(sql, s)
	return s, nil
}

// Close finalizes the cached statements.
func (c *conn) Close() error {
	for _, s := range c.kept {
		if s != nil {
			_ = s.inner.Close()
		}
	}
	return c.Conn.Close()
}

// ResetSession and IsValid call the library, as database/sql would.
func (c *conn) ResetSession(ctx context.Context) error {
	if inner, ok := c.Conn.(driver.SessionResetter); ok {
		return inner.ResetSession(ctx)
	}
	return nil
}

func (c *conn) IsValid() bool {
	inner, ok := c.Conn.(driver.Validator)
	return !ok || inner.IsValid()
}

// stmt is a prepared statement of the library.
type stmt struct {
	library *Library
	context context.Context
	inner   driver.Stmt
	query   driver.StmtQueryContext
	exec    driver.StmtExecContext
	keep    bool
}

// Close does nothing for a cached statement.
func (s *stmt) Close() error {
	if s.keep {
		return nil
	}
	return s.inner.Close()
}

// NumInput leaves the check to the worker.
func (s *stmt) NumInput() int { return -1 }

// CheckNamedValue accepts all values: the worker passes only the five types.
func (s *stmt) CheckNamedValue(*driver.NamedValue) error { return nil }

func (s *stmt) Exec([]driver.Value) (driver.Result, error) { panic("database/sql calls ExecContext") }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { panic("database/sql calls QueryContext") }

func (s *stmt) ExecContext(_ context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.exec.ExecContext(s.context, args)
}

func (s *stmt) QueryContext(_ context.Context, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.query.QueryContext(s.context, args)
	if err != nil {
		return nil, err
	}
	return s.library.rows(rows), nil
}

// drain executes a statement and reads what it returns.
func (s *stmt) drain() error {
	rows, err := s.query.QueryContext(s.context, nil)
	if err != nil {
		return err
	}
	values := make([]driver.Value, len(rows.Columns()))
	for err == nil {
		err = rows.Next(values)
	}
	if closed := rows.Close(); err == io.EOF {
		err = closed
	}
	return err
}
