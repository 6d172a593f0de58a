// Package worker carries out plans and scripts through one driver: the handshake, the clients' loops, the
// samples. What differs between drivers is behind Driver, Database and Conn.
package worker

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"contend/workers/wire"
)

// Driver is a client library a plan may ask for.
type Driver struct {
	Name   string // in plans
	Module string // of the library, whose version `hello` tells
	Engine string // what is behind it, such as `SQLite`
	// LockWait: connections can measure what they wait for locks.
	LockWait bool
	// PoolFixed: its own pool opens all connections in advance and keeps them.
	PoolFixed bool
	// CutsLockWaits: its waits for locks end with the drain, with Busy and not with Interrupted.
	CutsLockWaits bool
	// Code is the engine's code of an error, and whether it has one.
	Code func(error) (wire.Code, bool)
	// Interrupted is the engine's code of what it was told to stop.
	Interrupted wire.Code
	// Cut are further codes of what was executed when the drain ended: a connection may be lost with it.
	Cut []wire.Code
	// Open opens a connection of its own.
	Open func(database wire.Database, setup *Setup) (Conn, error)
	// OpenPool opens a pool of setup.Options.PoolSize connections.
	OpenPool func(database wire.Database, setup *Setup) (Pool, error)
	// Nothing: it executes nothing. A step has the fewest rows it may have, and ones in what it keeps.
	Nothing bool
	// Server: connections lead to a server. They can be lost, and SQLite's options mean nothing to it.
	Server bool
	// Describes: its connections are Describers.
	Describes bool
	// PoolKeeps: its own pool closes no connection for being idle.
	PoolKeeps bool
	// Load loads the rows of a script that next gives, all or none of them, faster than one by one; may be nil. After
	// the last row next gives io.EOF.
	Load func(conn Conn, statement wire.Statement, next func() ([]any, error)) (count int, err error)
	// Scratch is a database to ask for version and compile options.
	Scratch string
	// StatementCache is how many statements the library itself keeps on a connection unless it is told otherwise, in its own
	// words; nil: it does not tell, or has no such thing.
	StatementCache func() (string, error)
}

// canceled is ECANCELED of code space `os`: a server never heard of what this worker did not begin, or waited for.
var canceled = wire.Code{Space: wire.SpaceOS, Number: 125}

// cutShort is the code of a wait of the worker's own that was cut short, and of a step that may not begin any more.
func (d *Driver) cutShort() wire.Code {
	if d.Server {
		return canceled
	}
	return d.Interrupted
}

// isCut tells the codes of what was interrupted at the end of the drain.
func (d *Driver) isCut(code wire.Code) bool {
	return code == d.Interrupted || code == d.cutShort() || d.CutsLockWaits && code == busy || slices.Contains(d.Cut, code)
}

// Setup is what every new connection is given. Statements are prepared, and stay so unless
// Options.PrepareEach.
type Setup struct {
	Options    *Options
	Session    []string
	Statements []*Statement
	// AsItComes: the plan sets nothing on a connection, so what the library does when it opens one is what is asked for.
	AsItComes bool
	// Context is cancelled at the end of the drain.
	Context context.Context
	// Opened counts connections.
	Opened atomic.Int64
	// InRun: a client that opens a connection now does so within an attempt, so a statement is prepared when it is first used.
	InRun atomic.Bool
}

// Before are the statements that a driver for SQLite runs on a new connection, before anything is prepared.
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

// OnSQL says which statement an error happened on.
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
	// Keep: executed again and again outside of a plan; worth keeping prepared.
	Keep bool
	// Always: executed although the drain is over.
	Always bool
	// keys are how its columns begin in JSON, see Conn.Names.
	keys atomic.Pointer[[]string]
}

func newStatement(said wire.Statement) *Statement { return &Statement{Statement: said, Index: -1} }

// simple is a statement of the worker itself that returns nothing.
func simple(sql string) *Statement { return newStatement(wire.Statement{SQL: sql}) }

// query is one that returns rows.
func query(sql string) *Statement { return newStatement(wire.Statement{SQL: sql, Returns: true}) }

// Conn is an open connection. One goroutine at a time uses it, but for Interrupt.
type Conn interface {
	// Run executes a statement and reads every column of every row. each, if there is one, gets the values
	// of a row, valid until it returns. The result is the number of rows
	// the statement returned or, if it returns none by its nature, changed.
	Run(s *Statement, args []any, each func(values []any) error) (rows int64, err error)
	// Names are those of the columns of the row that each was called for last.
	Names() ([]string, error)
	// Columns is how many columns a statement returns that changes nothing.
	Columns(s *Statement) (int, error)
	// Interrupt ends what the connection executes now, as soon as the driver can.
	Interrupt()
	Close() error
}

// Describer is a Conn that knows from its engine what a statement takes and gives.
type Describer interface {
	Describe(s *Statement) (params, columns int, err error)
}

// Loser is a Conn that knows when it is lost and must be opened again.
type Loser interface{ Lost() bool }

// Waiter is a Conn that measures what it waits for locks.
type Waiter interface {
	ResetLockWait()
	// LockWait is what it has waited since, and whether a timeout passed; not ok: it does not measure.
	LockWait() (waited time.Duration, timeoutSpent, ok bool)
}

// Pool is what the clients of one database share.
type Pool interface {
	Acquire() (Conn, error)
	Release(Conn)
	// Idle is how many connections are open and wait for somebody who needs one.
	Idle() int
	Close() error
}
