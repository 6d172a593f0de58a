package worker

import (
	"context"

	"contend/workers/wire"
)

// Null is the driver that executes nothing. What remains is the worker's own cost per operation or request: arguments
// are still looked up, rows counted, samples recorded.
func Null(name string) *Driver {
	return &Driver{
		Name:    name,
		Module:  "null",
		Engine:  "none",
		Nothing: true,
		Code:    func(error) (wire.Code, bool) { return wire.Code{}, false },
		Interrupted: wire.Code{
			Space: wire.SpaceWorker, Number: wire.CodeDriver,
		},
		Open: func(_ wire.Database, setup *Setup) (Conn, error) {
			setup.Opened.Add(1)
			return nullConn{}, nil
		},
		OpenPool: func(_ wire.Database, setup *Setup) (Pool, error) {
			return newNullPool(setup.Context, setup.Options.PoolSize), nil
		},
	}
}

// nullConn is a connection to nothing.
type nullConn struct{}

func (nullConn) Run(*Statement, []any, func([]any) error) (int64, error) { return 0, nil }
func (nullConn) Names() ([]string, error)                                { return nil, nil }
func (nullConn) Interrupt()                                              {}
func (nullConn) Close() error                                            { return nil }

// Columns returns as many as any plan may keep.
func (nullConn) Columns(*Statement) (int, error) { return 1 << 16, nil }

// nullPool hands out a limited number of connections, as pools of libraries do.
type nullPool struct {
	context context.Context
	free    chan nullConn
}

func newNullPool(ctx context.Context, size int) *nullPool {
	p := &nullPool{context: ctx, free: make(chan nullConn, size)}
	for range size {
		p.free <- nullConn{}
	}
	return p
}

func (p *nullPool) Acquire() (Conn, error) {
	select {
	case conn := <-p.free:
		return conn, nil
	case <-p.context.Done():
		return nil, p.context.Err()
	}
}

func (p *nullPool) Release(Conn) { p.free <- nullConn{} }
func (p *nullPool) Idle() int    { return len(p.free) }
func (p *nullPool) Close() error { return nil }
