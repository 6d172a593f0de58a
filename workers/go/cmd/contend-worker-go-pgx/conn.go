package main

import (
	"context"
	"errors"
	"time"

	"contend/workers/server"
	"contend/workers/wire"
	"contend/workers/worker"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// conn is a connection with its prepared statements.
type conn struct {
	pg        *pgx.Conn
	held      *pgxpool.Conn // if a pool gave it
	used      bool          // the pool has given it before
	isNew     bool
	setup     *worker.Setup
	interrupt func()
	prepared  []*pgconn.StatementDescription // by index of the statement; none: sent with its text
	results   []*result
	fields    []pgconn.FieldDescription
	args      []any
	values    []any
}

// New reports whether the pool has just opened the connection.
func (c *conn) New() bool { return c.isNew }

var background = context.Background()

func newConn(inner *pgx.Conn, setup *worker.Setup) (*conn, error) {
	c := &conn{pg: inner, setup: setup}
	c.interrupt = server.Interrupter(func() {
		ctx, cancel := context.WithTimeout(background, time.Second)
		defer cancel()
		_ = inner.PgConn().CancelRequest(ctx)
	})
	for _, sql := range setup.Session {
		if _, err := inner.Exec(background, sql); err != nil {
			return nil, worker.OnSQL(sql, err)
		}
	}
	c.prepared = make([]*pgconn.StatementDescription, len(setup.Statements))
	c.results = make([]*result, len(setup.Statements))
	if setup.InRun.Load() {
		return c, nil // each when it is first used
	}
	for i, statement := range setup.Statements {
		if isText(statement) {
			continue
		}
		if setup.Options.PrepareEach {
			// Prepared as well, so that an error shows before the window.
			if _, err := c.describe(statement); err != nil {
				return nil, worker.OnSQL(statement.SQL, err)
			}
			continue
		}
		described, err := inner.Prepare(background, statement.SQL, statement.SQL)
		if err != nil {
			return nil, worker.OnSQL(statement.SQL, err)
		}
		c.prepared[i] = described
	}
	return c, nil
}

// isText reports a BEGIN or COMMIT, which the library's own Begin and Commit also send as text.
func isText(s *worker.Statement) bool { return s.Params == 0 && !s.Returns && !s.Changes }

func (c *conn) describe(s *worker.Statement) (*pgconn.StatementDescription, error) {
	if s.Index >= 0 && s.Index < len(c.prepared) && c.prepared[s.Index] != nil {
		return c.prepared[s.Index], nil
	}
	return c.pg.PgConn().Prepare(background, "", s.SQL, nil)
}

// Describe queries the server.
func (c *conn) Describe(s *worker.Statement) (params, columns int, err error) {
	described, err := c.describe(s)
	if err != nil {
		return 0, 0, err
	}
	return len(described.ParamOIDs), len(described.Fields), nil
}

func (c *conn) Columns(s *worker.Statement) (int, error) {
	_, columns, err := c.Describe(s)
	return columns, err
}

func (c *conn) Names() ([]string, error) {
	names := make([]string, len(c.fields))
	for i, field := range c.fields {
		names[i] = field.Name
	}
	return names, nil
}

// Lost: the library closes a connection whose state is unknown.
func (c *conn) Lost() bool { return c.pg.IsClosed() }

func (c *conn) Interrupt()   { c.interrupt() }
func (c *conn) Close() error { return c.pg.Close(background) }

func (c *conn) Run(s *worker.Statement, values []any, each func([]any) error) (int64, error) {
	if s.Always && c.pg.PgConn().TxStatus() == 'I' {
		return 0, nil // no transaction is open, so there is nothing to roll back
	}
	if err := c.first(s); err != nil {
		return 0, err
	}
	args := c.bind(s, values)
	if !s.Returns {
		tag, err := c.pg.Exec(background, s.SQL, args...)
		if err != nil || !s.Changes {
			return 0, err
		}
		return tag.RowsAffected(), nil
	}
	rows, err := c.pg.Query(background, s.SQL, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	return c.read(s, rows, each)
}

// first prepares a statement of the plan at its first use.
func (c *conn) first(s *worker.Statement) error {
	if s.Index < 0 || s.Index >= len(c.prepared) || c.prepared[s.Index] != nil || c.setup.Options.PrepareEach || isText(s) {
		return nil
	}
	described, err := c.pg.Prepare(background, s.SQL, s.SQL)
	if err == nil {
		c.prepared[s.Index] = described
	}
	return err
}

// bind converts values to arguments, in the server's types where those are known.
func (c *conn) bind(s *worker.Statement, values []any) []any {
	args := c.args[:0]
	var described *pgconn.StatementDescription
	if s.Index >= 0 && s.Index < len(c.prepared) {
		described = c.prepared[s.Index]
	}
	// Without values the library sends a statement that returns nothing as text, and prepares one that returns rows.
	if described == nil && (len(values) > 0 || s.Returns) {
		args = append(args, pgx.QueryExecModeExec)
	}
	for i, value := range values {
		if described != nil && i < len(described.ParamOIDs) {
			value = suited(value, described.ParamOIDs[i])
		} else if text, ok := asText(value); ok {
			value = text
		}
		args = append(args, value)
	}
	c.args = args
	return args
}

func (c *conn) read(s *worker.Statement, rows pgx.Rows, each func([]any) error) (count int64, err error) {
	var into *result
	for rows.Next() {
		if count == 0 {
			c.fields = rows.FieldDescriptions()
			into = c.result(s)
		}
		if err := rows.Scan(into.targets...); err != nil {
			return count, err
		}
		if each != nil {
			if c.values, err = into.values(c.values[:0], c.fields, rows.RawValues()); err != nil {
				return count, err
			}
			if err := each(c.values); err != nil {
				return count, err
			}
		}
		count++
	}
	return count, rows.Err()
}

// result returns the destination of a statement's rows; for statements of the plan it is created once.
func (c *conn) result(s *worker.Statement) *result {
	if s.Index < 0 || s.Index >= len(c.results) {
		return newResult(c.fields)
	}
	if c.results[s.Index] == nil {
		c.results[s.Index] = newResult(c.fields)
	}
	return c.results[s.Index]
}

// load copies the rows of a script into a table.
func load(opened worker.Conn, statement wire.Statement, next func() ([]any, error)) (int, error) {
	c := opened.(*conn)
	if statement.Group >= 0 || statement.Params > 0 {
		return 0, worker.WrongValue("on PostgreSQL a `load` is a COPY ... FROM STDIN")
	}
	from := &copied{next: next}
	tag, err := c.pg.PgConn().CopyFrom(background, from, statement.SQL)
	if from.wrong != nil {
		return 0, from.wrong
	}
	var told *pgconn.PgError
	if err != nil && errors.As(err, &told) {
		return 0, worker.Failed(sqlstate(told.Code), told.Message+" "+told.Where)
	}
	return int(tag.RowsAffected()), err
}

var _ worker.Describer = (*conn)(nil)
