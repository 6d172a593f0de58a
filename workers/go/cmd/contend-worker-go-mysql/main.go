// Command contend-worker-go-mysql is the worker for MariaDB and MySQL through github.com/go-sql-driver/mysql, with
// database/sql.
package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"

	"contend/workers/server"
	"contend/workers/sqldb"
	"contend/workers/wire"
	"contend/workers/worker"

	"github.com/go-sql-driver/mysql"
)

const (
	notConnected = 2003 // CR_CONN_HOST_ERROR, for a connection that could not be opened
	lost         = 2013 // CR_SERVER_LOST, for one that broke without the server saying why
	interrupted  = 1317 // ER_QUERY_INTERRUPTED
	killed       = 1927 // ER_CONNECTION_KILLED
)

func errno(number uint32) wire.Code { return wire.Code{Space: wire.SpaceMySQL, Number: number} }

// isLost: after such an error the state of the connection is unknown.
func isLost(err error) bool {
	var told *mysql.MySQLError
	if errors.As(err, &told) {
		return told.Number == killed
	}
	var network *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// code returns the server's code, or one for a missing connection.
func code(err error) (wire.Code, bool) {
	var told *mysql.MySQLError
	if errors.As(err, &told) {
		return errno(uint32(told.Number)), true
	}
	return errno(lost), isLost(err)
}

func config(at wire.Database, options *worker.Options) (*mysql.Config, error) {
	password, err := at.Password()
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.User, c.Passwd, c.DBName = at.User, password, at.Name
	c.Net, c.Addr = "tcp", net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port)))
	if at.Socket != "" {
		c.Net, c.Addr = "unix", at.Socket
	}
	// Count the rows that an UPDATE finds, as SQLite and PostgreSQL do, not only those that it changes.
	c.ClientFoundRows = true
	c.InterpolateParams = options.PrepareEach
	c.Timeout = server.ConnectTime
	c.DialFunc = dial
	return c, nil
}

// connector stores the number of each connection that it opens, which interrupting it requires.
type connector struct {
	driver.Connector
	config *mysql.Config
}

type connection struct {
	driver.Conn
	config *mysql.Config
	id     uint32
}

func newConnector(database wire.Database, options *worker.Options) (driver.Connector, error) {
	c, err := config(database, options)
	if err != nil {
		return nil, err
	}
	inner, err := mysql.NewConnector(c)
	return connector{inner, c}, err
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	var socket *greeting
	inner, err := c.Connector.Connect(listening(ctx, &socket))
	if err == nil {
		if id, told := connectionID(socket.heard); told {
			return &connection{inner, c.config, id}, nil
		}
		_ = inner.Close()
		err = errors.New("the server does not tell the connection's number")
	}
	var told *mysql.MySQLError
	if !errors.As(err, &told) {
		err = worker.Failed(errno(notConnected), err.Error())
	}
	return nil, err
}

func (c *connection) PrepareContext(ctx context.Context, sql string) (driver.Stmt, error) {
	return c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, sql)
}

func (c *connection) ExecContext(ctx context.Context, sql string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, sql, args)
}

func (c *connection) QueryContext(ctx context.Context, sql string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, sql, args)
}

func (c *connection) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

func (c *connection) IsValid() bool { return c.Conn.(driver.Validator).IsValid() }

// interrupt stops the running statement; a context would close the connection and leave the statement running.
func interrupt(conn driver.Conn, _ *worker.Setup) func() {
	c := conn.(*connection)
	return server.Interrupter(func() {
		ctx, cancel := context.WithTimeout(context.Background(), server.ConnectTime)
		defer cancel()
		connector, err := mysql.NewConnector(c.config)
		if err != nil {
			return
		}
		if second, err := connector.Connect(ctx); err == nil {
			_, _ = second.(driver.ExecerContext).ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", c.id), nil)
			_ = second.Close()
		}
	})
}

func library() *worker.Driver {
	return sqldb.Driver(worker.Driver{
		Name:        "go-sql-driver",
		Module:      "github.com/go-sql-driver/mysql",
		Engine:      "MariaDB",
		Server:      true,
		Code:        code,
		Interrupted: errno(interrupted),
		Cut:         []wire.Code{errno(lost), errno(killed)},
		Load:        load,
	}, &sqldb.Library{
		Connector: newConnector,
		Interrupt: interrupt,
		Direct:    true,
		Rows:      func(inner driver.Rows) driver.Rows { return &rows{Rows: inner} },
		Lost:      isLost,
	})
}

func main() { worker.Main(library()) }
