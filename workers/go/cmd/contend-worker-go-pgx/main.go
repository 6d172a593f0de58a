// Command contend-worker-go-pgx is the worker for PostgreSQL through github.com/jackc/pgx, with its own interface and
// its own pool, as its authors advise for programs that need no other database.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"

	"contend/workers/server"
	"contend/workers/wire"
	"contend/workers/worker"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	lost         = "08006" // a connection that broke without the server saying why
	notConnected = "08001" // one that could not be opened
	canceled     = "57014"
)

func sqlstate(state string) wire.Code {
	number, ok := wire.SQLStateCode(state)
	if !ok {
		return wire.Code{Space: wire.SpaceWorker, Number: wire.CodeDriver}
	}
	return wire.Code{Space: wire.SpaceSQLState, Number: number}
}

// code returns the server's code, or one for a missing connection.
func code(err error) (wire.Code, bool) {
	var told *pgconn.PgError
	if errors.As(err, &told) {
		return sqlstate(told.Code), true
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		return sqlstate(notConnected), true
	}
	var network *net.OpError
	if errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err) {
		return sqlstate(lost), true
	}
	return wire.Code{}, false
}

// config returns the configuration for an address; it does not use the environment.
func config(at wire.Database) (*pgx.ConnConfig, error) {
	password, err := at.Password()
	if err != nil {
		return nil, err
	}
	c, err := pgx.ParseConfig("sslmode=disable")
	if err != nil {
		return nil, err
	}
	c.Host, c.Port = at.Host, at.Port
	if at.Socket != "" {
		// PostgreSQL's clients need the directory, and the number in the socket's name.
		name, ok := strings.CutPrefix(filepath.Base(at.Socket), ".s.PGSQL.")
		port, err := strconv.ParseUint(name, 10, 16)
		if !ok || err != nil {
			return nil, fmt.Errorf("the socket %s is not named .s.PGSQL.PORT", at.Socket)
		}
		c.Host, c.Port = filepath.Dir(at.Socket), uint16(port)
	}
	c.User, c.Password, c.Database = at.User, password, at.Name
	c.TLSConfig, c.Fallbacks = nil, nil
	c.RuntimeParams = map[string]string{"application_name": "contend"}
	c.ConnectTimeout = server.ConnectTime
	// The statements of a plan are prepared by name; nothing else is cached.
	c.StatementCacheCapacity, c.DescriptionCacheCapacity = 0, 0
	c.DefaultQueryExecMode = pgx.QueryExecModeDescribeExec
	return c, nil
}

func open(database wire.Database, setup *worker.Setup) (worker.Conn, error) {
	c, err := config(database)
	if err != nil {
		return nil, err
	}
	inner, err := pgx.ConnectConfig(context.Background(), c)
	if err != nil {
		return nil, worker.OnSQL("connect", err)
	}
	setup.Opened.Add(1)
	opened, err := newConn(inner, setup)
	if err != nil {
		_ = inner.Close(context.Background())
		return nil, err
	}
	return opened, nil
}

// ours is the key of a connection's data in the library's custom data.
const ours = "contend"

type pool struct {
	inner *pgxpool.Pool
	setup *worker.Setup
}

func openPool(database wire.Database, setup *worker.Setup) (worker.Pool, error) {
	c, err := config(database)
	if err != nil {
		return nil, err
	}
	all, err := pgxpool.ParseConfig("sslmode=disable")
	if err != nil {
		return nil, err
	}
	all.ConnConfig = c
	all.MaxConns, all.MinConns = int32(setup.Options.PoolSize), 0
	all.AfterConnect = func(_ context.Context, inner *pgx.Conn) error {
		setup.Opened.Add(1)
		opened, err := newConn(inner, setup)
		if err == nil {
			inner.PgConn().CustomData()[ours] = opened
		}
		return err
	}
	inner, err := pgxpool.NewWithConfig(context.Background(), all)
	if err != nil {
		return nil, err
	}
	return &pool{inner, setup}, nil
}

func (p *pool) Acquire() (worker.Conn, error) {
	held, err := p.inner.Acquire(p.setup.Context)
	if err != nil {
		return nil, err
	}
	c := held.Conn().PgConn().CustomData()[ours].(*conn)
	c.held = held
	c.isNew, c.used = !c.used, true
	return c, nil
}

func (p *pool) Release(c worker.Conn) { c.(*conn).held.Release() }

func (p *pool) Idle() int { return int(p.inner.Stat().IdleConns()) }

func (p *pool) Close() error {
	p.inner.Close()
	return nil
}

func library() *worker.Driver {
	return &worker.Driver{
		Name:        "pgx",
		Module:      "github.com/jackc/pgx/v5",
		Engine:      "PostgreSQL",
		Server:      true,
		Describes:   true,
		PoolKeeps:   true,
		Code:        code,
		Interrupted: sqlstate(canceled),
		Open:        open,
		OpenPool:    openPool,
		Load:        load,

		StatementCache: keeps,
	}
}

// keeps returns the number of statements that a connection prepares and caches by default.
func keeps() (string, error) {
	c, err := pgx.ParseConfig("sslmode=disable")
	if err != nil {
		return "", err
	}
	return strconv.Itoa(c.StatementCacheCapacity), nil
}

func main() { worker.Main(library()) }
