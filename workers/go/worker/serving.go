package worker

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"time"

	"contend/workers/wire"
)

// serving is a plan whose transactions are requested over HTTP.
type serving struct {
	plan     *wire.Plan
	setup    *Setup
	cancel   context.CancelFunc
	control  *control
	handler  *handler
	http     *http.Server
	listener net.Listener
	sessions [][]wire.Pair
	pool     Pool // of the model pool
	first    chan Conn
	opened   int64
	reads    *readback
}

// errOver answers requests that arrive after the end.
var errOver = errors.New("the server is being stopped")

// serve opens the connections that the plan's model opens in advance, and starts listening.
func serve(drivers []*Driver, plan *wire.Plan) (*serving, error) {
	driver, setup, statements, err := check(drivers, plan)
	if err != nil {
		return nil, err
	}
	if err := checkServed(plan); err != nil {
		return nil, err
	}
	reads := &readback{driver: driver, plan: plan, setup: setup}
	s := &serving{plan: plan, setup: setup, reads: reads, control: newControl(plan.Drain), first: make(chan Conn, 1)}
	setup.Context, s.cancel = context.WithCancel(context.Background())
	database := plan.Databases[0]
	open := s.openOne
	if plan.Model == modelPool {
		open = s.openPool
	}
	if err := open(driver, database); err != nil {
		s.closeDatabase()
		return nil, fmt.Errorf("database %s: %w", database, err)
	}
	s.opened = setup.Opened.Load()
	setup.InRun.Store(true)
	s.handler = newHandler(driver, plan, statements, s.control, func() connections {
		if s.pool != nil {
			return &shared{pool: s.pool, reads: s.reads}
		}
		return &own{open: func() (Conn, error) { return s.ofPeer(driver, database) }}
	})
	s.handler.secret = setup.Options.Secret
	if s.listener, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		s.closeDatabase()
		return nil, err
	}
	s.http = &http.Server{
		Handler:     s.handler,
		ConnContext: s.handler.meet,
		ConnState:   s.handler.part,
		ErrorLog:    log.New(os.Stderr, "contend worker: ", 0),
	}
	go func() { _ = s.http.Serve(s.listener) }()
	return s, nil
}

func checkServed(plan *wire.Plan) error {
	switch {
	case len(plan.Databases) != 1:
		return fmt.Errorf("a server has one database, the plan names %d: start one for each", len(plan.Databases))
	case len(plan.Clients) > 0:
		return fmt.Errorf("the plan has %d clients, but a server is asked by those of others", len(plan.Clients))
	}
	return nil
}

func (s *serving) url() string { return "http://" + s.listener.Addr().String() }

func (s *serving) openPool(driver *Driver, database wire.Database) (err error) {
	if s.pool, s.sessions, err = openPool(driver, s.plan, s.setup, database, nil); err == nil {
		s.reads.known(s.sessions[0])
	}
	return err
}

// openOne opens the connection that the first HTTP connection gets, so that errors of the plan show at once.
func (s *serving) openOne(driver *Driver, database wire.Database) error {
	conn, err := driver.Open(database, s.setup)
	if err != nil {
		return err
	}
	s.first <- conn
	session, err := look(driver, s.plan, s.setup, conn, true, nil)
	s.reads.known(session)
	s.sessions = append(s.sessions, session)
	return err
}

// ofPeer opens the connection of one HTTP connection.
func (s *serving) ofPeer(driver *Driver, database wire.Database) (Conn, error) {
	select {
	case conn := <-s.first:
		return conn, nil
	default:
	}
	if s.control.drainIsOver.Load() {
		return nil, errOver
	}
	return s.reads.reading(func() (Conn, error) { return driver.Open(database, s.setup) })()
}

const (
	lookAgain   = time.Millisecond
	stuckServed = stuckNS * time.Nanosecond
	leaveWithin = time.Second
)

// stop accepts no more requests, and waits for running ones: until the end of the drain, then for their interruption.
func (s *serving) stop() error {
	_ = s.listener.Close()
	s.http.SetKeepAlivesEnabled(false)
	drain := time.Duration(min(s.plan.Drain, uint64(time.Hour)))
	await(drain, func() bool { return s.handler.inFlight.Load() == 0 })
	return s.close(stuckServed)
}

// close ends everything, including running requests.
func (s *serving) close(within time.Duration) error {
	s.control.endDrain()
	s.cancel()
	_ = s.listener.Close()
	ended := await(within, func() bool {
		if s.handler.inFlight.Load() > 0 {
			s.handler.interrupt()
			return false
		}
		s.endConnections()
		return s.handler.connected() == 0
	})
	if !ended {
		return errors.New("a request did not return after it was interrupted")
	}
	s.closeDatabase()
	return nil
}

// endConnections closes all, those with an answer that is still to be sent last.
func (s *serving) endConnections() {
	const sending = 200 * time.Millisecond
	ctx, cancel := context.WithTimeout(context.Background(), sending)
	defer cancel()
	_ = s.http.Shutdown(ctx)
	_ = s.http.Close()
}

// await polls until the condition holds; false: not within the time.
func await(within time.Duration, so func() bool) bool {
	for end := time.Now().Add(within); ; time.Sleep(lookAgain) {
		if so() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

func (s *serving) closeDatabase() {
	s.cancel()
	select {
	case conn := <-s.first:
		_ = conn.Close()
	default:
	}
	if s.pool != nil {
		_ = s.pool.Close()
	}
}

func (s *serving) done() string {
	return fmt.Sprintf("done\trequests=%d\tfailed=%d\tconnections_opened=%d",
		s.handler.requests.Load(), s.handler.failed.Load(), s.setup.Opened.Load()-s.opened) + s.reads.facts()
}
