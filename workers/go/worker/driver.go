// Package worker carries out plans and scripts through one driver: the handshake, the clients' loops, the samples.
// Differences between drivers are behind Driver, Database and Conn.
package worker

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"contend/workers/wire"
)

// Driver is a client library that plans can name.
type Driver struct {
	Name   string // in plans
	Module string // of the library, whose version `hello` reports
	Engine string // what is behind it, such as `SQLite`
	// LockWait: connections can measure what they wait for locks.
	LockWait bool
	// PoolFixed: the library's pool opens all connections in advance and keeps them.
	PoolFixed bool
	// CutsLockWaits: its waits for locks end with the drain, with Busy instead of Interrupted.
	CutsLockWaits bool
	// Code is the engine's code of an error, and whether it has one.
	Code func(error) (wire.Code, bool)
	// Interrupted is the engine's code of an interrupted statement.
	Interrupted wire.Code
	// Cut are further codes of statements interrupted by the end of the drain, for example because the connection is
	// lost.
	Cut []wire.Code
	// Open opens a connection of a client's own.
	Open func(database wire.Database, setup *Setup) (Conn, error)
	// OpenPool opens a pool of setup.Options.PoolSize connections.
	OpenPool func(database wire.Database, setup *Setup) (Pool, error)
	// Nothing: it executes nothing. A step returns the fewest rows it may return, and keeps ones.
	Nothing bool
	// Server: connections lead to a server. They can be lost, and SQLite's options do not apply.
	Server bool
	// Describes: its connections are Describers.
	Describes bool
	// PoolKeeps: the library's pool closes no idle connections.
	PoolKeeps bool
	// Load loads all rows that next returns, or none, faster than one by one; may be nil. After the last row next
	// returns io.EOF.
	Load func(conn Conn, statement wire.Statement, next func() ([]any, error)) (count int, err error)
	// Scratch is a database to ask for version and compile options.
	Scratch string
	// StatementCache returns how many statements the library caches per connection by default, as text; nil: unknown or
	// none.
	StatementCache func() (string, error)
}

// canceled is ECANCELED of code space `os`, for requests that a server never received.
var canceled = wire.Code{Space: wire.SpaceOS, Number: 125}

// cutShort is the code of an interrupted wait of the worker, and of a step that may not begin any more.
func (d *Driver) cutShort() wire.Code {
	if d.Server {
		return canceled
	}
	return d.Interrupted
}

// isCut reports the codes of statements interrupted by the end of the drain.
func (d *Driver) isCut(code wire.Code) bool {
	return code == d.Interrupted || code == d.cutShort() || d.CutsLockWaits && code == busy || slices.Contains(d.Cut, code)
}

// Setup is applied to every new connection. Statements are prepared and cached unless Options.PrepareEach.
type Setup struct {
	Options    *Options
	Session    []string
	Statements []*Statement
	// AsItComes: the plan sets nothing on a connection, so that the library's defaults are measured.
	AsItComes bool
	// Context is cancelled at the end of the drain.
	Context context.Context
	// Opened counts connections.
	Opened atomic.Int64
	// InRun: connections are now opened within attempts, so statements are prepared at their first use.
	InRun atomic.Bool
}

// Before returns the statements that a driver for SQLite runs on a new connection, before anything is prepared.
func (s *Setup) Before() []string {
	var before []string
	if s.Options.BusyTimeoutMS >= 0 {
		before = append(before, fmt.Sprintf("PRAGMA busy_timeout = %d", s.Options.BusyTimeoutMS))
	}
	if s.Options.ForeignKeys != "" {
		before = append(before, "PRAGMA foreign_keys = "+s.Options.ForeignKeys)
	}
	return append(before, s.Session...)
}

// OnSQL adds the statement to an error.
func OnSQL(sql string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("`%s`: %w", sql, err)
}

// Statement is SQL of the plan, or of the worker itself.
type Statement struct {
	wire.Statement
	Index int // position in Setup.Statements; -1: not one of them
	// Keep: executed repeatedly outside of a plan, so that it is kept prepared.
	Keep bool
	// Always: executed even after the drain.
	Always bool
	// keys are the beginnings of its columns in JSON, see Conn.Names.
	keys atomic.Pointer[[]string]
}

func newStatement(said wire.Statement) *Statement { return &Statement{Statement: said, Index: -1} }

// simple returns a statement of the worker itself without rows.
func simple(sql string) *Statement { return newStatement(wire.Statement{SQL: sql}) }

// query returns one with rows.
func query(sql string) *Statement { return newStatement(wire.Statement{SQL: sql, Returns: true}) }

// Conn is an open connection. It is used by one goroutine at a time, except for Interrupt.
type Conn interface {
	// Run executes a statement and reads every column of every row. each, if not nil, gets the values of a row, valid
	// until it returns. The result is the number of rows that the statement returned or, if it returns none, changed.
	Run(s *Statement, args []any, each func(values []any) error) (rows int64, err error)
	// Names are the columns of the row that each was last called for.
	Names() ([]string, error)
	// Columns is the number of columns of a statement that changes nothing.
	Columns(s *Statement) (int, error)
	// Interrupt stops what the connection executes, as soon as the driver can.
	Interrupt()
	Close() error
}

// Describer is a Conn whose engine describes the parameters and results of a statement.
type Describer interface {
	Describe(s *Statement) (params, columns int, err error)
}

// Loser is a Conn that detects when it is lost and must be reopened.
type Loser interface{ Lost() bool }

// Waiter is a Conn that measures its waits for locks.
type Waiter interface {
	ResetLockWait()
	// LockWait is the time waited since, and whether a timeout passed; not ok: it does not measure.
	LockWait() (waited time.Duration, timeoutSpent, ok bool)
}

// Pool is the pool that the clients of one database share.
type Pool interface {
	Acquire() (Conn, error)
	Release(Conn)
	// Idle is the number of open connections that are not in use.
	Idle() int
	Close() error
}
