// Package native makes a worker's driver from a library whose interface follows SQLite's.
package native

import (
	"context"
	"errors"

	"contend/workers/wire"
	"contend/workers/worker"
)

// Stmt has the methods that such libraries share.
type Stmt interface {
	comparable
	Step() (bool, error)
	Reset() error
	ClearBindings() error
	Finalize() error
	ColumnCount() int
	ColumnName(column int) string
	BindInt64(param int, value int64)
	BindFloat(param int, value float64)
	BindText(param int, value string)
	BindBytes(param int, value []byte)
	BindZeroBlob(param int, length int64)
	BindNull(param int)
	ColumnInt64(column int) int64
	ColumnFloat(column int) float64
	ColumnText(column int) string
	ColumnLen(column int) int
	ColumnBytes(column int, into []byte) int
}

// Conn is a connection of such a library.
type Conn[S Stmt] interface {
	comparable
	PrepareTransient(sql string) (S, int, error)
	// Prepare keeps the statement, and returns the same one for the same text.
	Prepare(sql string) (S, error)
	Changes() int
	// SetInterrupt makes the connection stop executing once the channel is closed.
	SetInterrupt(<-chan struct{}) <-chan struct{}
	Close() error
}

// Library has the differences between libraries; C is the connection, S the statement.
type Library[C Conn[S], S Stmt] struct {
	// Open opens a connection; asItComes: with the library's defaults, because the plan sets nothing.
	Open func(database string, asItComes bool) (C, error)
	// Type returns SQLite's number for the type of a column.
	Type func(S, int) int
	// BytesAreText: bound bytes arrive as text, so there are no blobs.
	BytesAreText bool
	OpenPool     func(database string, size int, asItComes bool) (Pool[C], error)
}

// Pool is a pool of the library.
type Pool[C any] interface {
	Take(context.Context) (C, error)
	Put(C)
	Close() error
}

const (
	integer = 1
	float   = 2
	text    = 3
	blob    = 4
	null    = 5
)

// Driver makes a worker's driver from a library. The caller fills in the rest of d.
func Driver[C Conn[S], S Stmt](d worker.Driver, library *Library[C, S]) *worker.Driver {
	d.PoolFixed = true
	d.StatementCache = library.keeps
	d.Interrupted = wire.Code{Space: wire.SpaceSQLite, Number: 9}
	d.Open = func(database wire.Database, setup *worker.Setup) (worker.Conn, error) {
		inner, err := library.Open(database.Path, setup.AsItComes)
		if err != nil {
			return nil, worker.OnSQL("open", err)
		}
		setup.Opened.Add(1)
		c := &conn[C, S]{library: library, conn: inner, setup: setup}
		if setup.Context != nil {
			inner.SetInterrupt(setup.Context.Done())
		}
		if err := c.setUp(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return c, nil
	}
	d.OpenPool = func(database wire.Database, setup *worker.Setup) (worker.Pool, error) {
		inner, err := library.OpenPool(database.Path, setup.Options.PoolSize, setup.AsItComes)
		if err != nil {
			return nil, worker.OnSQL("open", err)
		}
		setup.Opened.Add(int64(setup.Options.PoolSize))
		p := &pool[C, S]{library: library, inner: inner, setup: setup, conns: map[C]*conn[C, S]{}}
		if err := p.setUp(); err != nil {
			return nil, errors.Join(err, p.Close())
		}
		return p, nil
	}
	return &d
}

// pool is the library's pool, with the data of each connection.
type pool[C Conn[S], S Stmt] struct {
	library *Library[C, S]
	inner   Pool[C]
	setup   *worker.Setup
	conns   map[C]*conn[C, S] // complete after setUp
}

// setUp takes all connections, so that each gets its settings and statements.
func (p *pool[C, S]) setUp() (err error) {
	var taken []C
	for range p.setup.Options.PoolSize {
		inner, problem := p.inner.Take(p.setup.Context)
		if err = problem; err != nil {
			break
		}
		taken = append(taken, inner)
		c := &conn[C, S]{library: p.library, conn: inner, setup: p.setup}
		p.conns[inner] = c
		if err = c.setUp(); err != nil {
			break
		}
	}
	for _, inner := range taken {
		p.inner.Put(inner)
	}
	return err
}

func (p *pool[C, S]) Acquire() (worker.Conn, error) {
	inner, err := p.inner.Take(p.setup.Context)
	if err != nil {
		return nil, err
	}
	return p.conns[inner], nil
}

func (p *pool[C, S]) Release(c worker.Conn) { p.inner.Put(c.(*conn[C, S]).conn) }

// Idle returns all connections: they are opened in advance and kept.
func (p *pool[C, S]) Idle() int { return p.setup.Options.PoolSize }

func (p *pool[C, S]) Close() error {
	for _, c := range p.conns {
		c.finalize()
	}
	return p.inner.Close()
}

// prepared is a statement with what a program would know about it: its columns and, from the first row on, their
// types.
type prepared[S Stmt] struct {
	stmt    S
	columns int
	types   []int
	names   []string // once they were asked for
}

// conn is a connection with its prepared statements.
type conn[C Conn[S], S Stmt] struct {
	library *Library[C, S]
	conn    C
	setup   *worker.Setup
	kept    []*prepared[S] // by index of the statement
	load    *worker.Statement
	loading *prepared[S]
	values  []any
	running *prepared[S]
	// Results of touch, so that reading is not optimised away.
	read64    int64
	readFloat float64
	readText  string
	readBytes []byte
}

func (c *conn[C, S]) setUp() error {
	for _, sql := range c.setup.Before() {
		if _, err := c.once(&worker.Statement{Statement: wire.Statement{SQL: sql}}, nil, nil); err != nil {
			return worker.OnSQL(sql, err)
		}
	}
	if !c.setup.Options.PrepareEach {
		c.kept = make([]*prepared[S], len(c.setup.Statements))
	}
	if c.setup.InRun.Load() {
		return nil // each when it is first used
	}
	for i, statement := range c.setup.Statements {
		s, err := c.prepare(statement.SQL)
		if err != nil {
			return worker.OnSQL(statement.SQL, err)
		}
		if c.setup.Options.PrepareEach {
			_ = s.stmt.Finalize()
		} else {
			c.kept[i] = s
		}
	}
	return nil
}

// first prepares a statement at its first use and keeps it.
func (c *conn[C, S]) first(statement *worker.Statement) (*prepared[S], error) {
	s, err := c.prepare(statement.SQL)
	if err == nil {
		c.kept[statement.Index] = s
	}
	return s, err
}

func (c *conn[C, S]) prepare(sql string) (*prepared[S], error) {
	s, _, err := c.conn.PrepareTransient(sql)
	if err != nil {
		return nil, err
	}
	return &prepared[S]{stmt: s, columns: s.ColumnCount()}, nil
}

// Interrupt has no work: the library watches the context of the setup.
func (c *conn[C, S]) Interrupt() {}

func (c *conn[C, S]) finalize() {
	for _, s := range c.kept {
		if s != nil {
			_ = s.stmt.Finalize()
		}
	}
	if c.load != nil {
		_ = c.loading.stmt.Finalize()
	}
	c.kept, c.load = nil, nil
}

func (c *conn[C, S]) Close() error {
	c.finalize()
	return c.conn.Close()
}

func (c *conn[C, S]) Columns(statement *worker.Statement) (int, error) {
	s, err := c.prepare(statement.SQL)
	if err != nil {
		return 0, err
	}
	defer s.stmt.Finalize()
	return s.columns, nil
}

// Names returns the columns of the current statement.
func (c *conn[C, S]) Names() ([]string, error) {
	p := c.running
	for i := len(p.names); i < p.columns; i++ {
		p.names = append(p.names, p.stmt.ColumnName(i))
	}
	return p.names, nil
}

// Run executes a statement. The end of the drain interrupts once, at any moment: one that has to be executed even then is
// executed again without interruptions, because a transaction that stays open keeps its locks.
func (c *conn[C, S]) Run(statement *worker.Statement, args []any, each func([]any) error) (int64, error) {
	count, err := c.dispatch(statement, args, each)
	if err != nil && statement.Always && c.setup.Context != nil && c.setup.Context.Err() != nil {
		c.conn.SetInterrupt(nil)
		return c.dispatch(statement, args, each)
	}
	return count, err
}

// dispatch finds the statement prepared, or prepares it.
func (c *conn[C, S]) dispatch(statement *worker.Statement, args []any, each func([]any) error) (int64, error) {
	switch {
	case statement.Index >= 0 && statement.Index < len(c.kept):
		s := c.kept[statement.Index]
		if s == nil {
			var err error
			if s, err = c.first(statement); err != nil {
				return 0, err
			}
		}
		return c.run(s, statement, args, each)
	case statement.Keep:
		if c.load != statement {
			s, err := c.prepare(statement.SQL)
			if err != nil {
				return 0, err
			}
			if c.load != nil {
				_ = c.loading.stmt.Finalize()
			}
			c.load, c.loading = statement, s
		}
		return c.run(c.loading, statement, args, each)
	}
	return c.once(statement, args, each)
}

func (c *conn[C, S]) once(statement *worker.Statement, args []any, each func([]any) error) (int64, error) {
	s, err := c.prepare(statement.SQL)
	if err != nil {
		return 0, err
	}
	defer s.stmt.Finalize()
	return c.run(s, statement, args, each)
}

func (c *conn[C, S]) run(p *prepared[S], statement *worker.Statement, args []any, each func([]any) error) (count int64, err error) {
	s := p.stmt
	c.running = p
	for i, arg := range args {
		if bytes, ok := arg.([]byte); ok && len(bytes) > 0 && c.library.BytesAreText {
			return 0, worker.NoValue()
		}
		bind(s, i+1, arg)
	}
	for {
		row, wrong := s.Step()
		if wrong != nil || !row {
			err = wrong
			break
		}
		count++
		if each == nil {
			c.touch(p)
		} else {
			c.read(s, p.columns)
			if err = each(c.values[:p.columns]); err != nil {
				break
			}
		}
	}
	if p.columns == 0 && err == nil && statement.Changes {
		count = int64(c.conn.Changes())
	}
	// A reset repeats the error of the step, which is already known.
	if reset := s.Reset(); err == nil {
		err = reset
	}
	return count, err
}

func bind[S Stmt](s S, param int, value any) {
	switch v := value.(type) {
	case int64:
		s.BindInt64(param, v)
	case float64:
		s.BindFloat(param, v)
	case string:
		s.BindText(param, v)
	case []byte:
		if len(v) == 0 {
			s.BindZeroBlob(param, 0)
		} else {
			s.BindBytes(param, v)
		}
	default:
		s.BindNull(param)
	}
}

// touch reads every column as an application would that knows the types; here those of the first row that has a value.
func (c *conn[C, S]) touch(p *prepared[S]) {
	s := p.stmt
	for i := len(p.types); i < p.columns; i++ {
		p.types = append(p.types, c.library.Type(s, i))
	}
	for i, kind := range p.types {
		if kind == null {
			// So far every row had NULL here.
			kind = c.library.Type(s, i)
			p.types[i] = kind
		}
		switch kind {
		case integer:
			c.read64 = s.ColumnInt64(i)
		case float:
			c.readFloat = s.ColumnFloat(i)
		case blob:
			if n := s.ColumnLen(i); cap(c.readBytes) < n {
				c.readBytes = make([]byte, n)
			}
			s.ColumnBytes(i, c.readBytes[:cap(c.readBytes)])
		default:
			c.readText = s.ColumnText(i)
		}
	}
}

// read returns every column unchanged.
func (c *conn[C, S]) read(s S, columns int) {
	for len(c.values) < columns {
		c.values = append(c.values, nil)
	}
	for i := range columns {
		switch c.library.Type(s, i) {
		case integer:
			c.values[i] = s.ColumnInt64(i)
		case float:
			c.values[i] = s.ColumnFloat(i)
		case text:
			c.values[i] = s.ColumnText(i)
		case blob:
			bytes := make([]byte, s.ColumnLen(i))
			s.ColumnBytes(i, bytes)
			c.values[i] = bytes
		default:
			c.values[i] = nil
		}
	}
}
