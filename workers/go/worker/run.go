package worker

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"contend/workers/wire"
)

const (
	progressEvery   = 200 * time.Millisecond
	interruptAgain  = 10 * time.Millisecond
	stuckNS         = 5_000_000_000
	modelThread     = "thread"
	modelPool       = "pool"
	timeoutReadback = "busy_timeout"
)

// ready is a plan whose connections are open and whose clients wait for the start.
type ready struct {
	plan     *wire.Plan
	control  *control
	setup    *Setup
	cancel   context.CancelFunc
	clients  []*client
	pools    []Pool
	sessions [][]wire.Pair
	ended    chan error
	opened   int64 // before the run
	reads    *readback
	// openedInRun is the number of connections opened by clients.
	openedInRun int64
	pauses      pauses
}

// prepare opens every connection, one after the other: session statements such as a change of the journal mode fail
// when two connections run them at the same time.
func prepare(drivers []*Driver, plan *wire.Plan) (*ready, error) {
	driver, setup, statements, err := check(drivers, plan)
	if err != nil {
		return nil, err
	}
	control := newControl(plan.Drain)
	reads := &readback{driver: driver, plan: plan, setup: setup}
	r := &ready{plan: plan, control: control, setup: setup, reads: reads, ended: make(chan error, len(plan.Clients))}
	setup.Context, r.cancel = context.WithCancel(context.Background())
	for i := range plan.Clients {
		spec := &plan.Clients[i]
		c := &client{
			plan: plan, spec: spec, control: control, driver: driver,
			a: newAttempt(driver, plan, statements, control), singles: singles(plan, statements),
			samples: sampleList{last: roomForSamples(driver, plan, spec)},
		}
		c.a.use = c.use
		r.clients = append(r.clients, c)
	}
	open := r.openOwn
	if plan.Model == modelPool {
		open = r.openPools
	}
	if err := open(driver); err != nil {
		r.close()
		return nil, err
	}
	r.opened = setup.Opened.Load()
	setup.InRun.Store(true)
	for _, c := range r.clients {
		go r.client(c)
	}
	return r, nil
}

// check checks whether this worker can carry out the plan, before anything is opened.
func check(drivers []*Driver, plan *wire.Plan) (*Driver, *Setup, *statements, error) {
	driver, err := find(drivers, plan.Driver)
	if err != nil {
		return nil, nil, nil, err
	}
	options, err := parseOptions(driver, plan.Options)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := checkModel(driver, plan, options); err != nil {
		return nil, nil, nil, err
	}
	for _, database := range plan.Databases {
		if err := driver.finds(database); err != nil {
			return nil, nil, nil, err
		}
	}
	statements := newStatements(plan)
	setup := &Setup{Options: options, Session: plan.Session, Statements: statements.all}
	setup.AsItComes = !driver.Server && len(setup.Before()) == 0
	return driver, setup, statements, nil
}

func find(drivers []*Driver, name string) (*Driver, error) {
	var names []string
	for _, d := range drivers {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	return nil, fmt.Errorf("driver %s: this worker has only %q", name, names)
}

func checkModel(driver *Driver, plan *wire.Plan, options *Options) error {
	switch {
	case plan.Model != modelThread && plan.Model != modelPool:
		return fmt.Errorf("model %s: this worker has only `thread` and `pool`", plan.Model)
	case plan.Shared != (plan.Model == modelPool):
		return fmt.Errorf("model %s: the clients of a database share connections in `pool`, and only there", plan.Model)
	}
	for _, t := range plan.Transactions {
		if plan.Model == modelPool && len(t.Steps) > 0 && t.Steps[0].Kind == wire.StepConnect {
			return fmt.Errorf("model pool: `%s` reconnects, but a pool decides itself when it does that", t.Name)
		}
	}
	return options.checkModel(driver, plan.Model)
}

// finds checks that a driver can use a database at such a place.
func (d *Driver) finds(database wire.Database) error {
	switch isFile := database.Path != ""; {
	case d.Nothing:
	case d.Server && isFile:
		return fmt.Errorf("database %s: this driver connects to a server", database)
	case !d.Server && !isFile:
		return fmt.Errorf("database %s: this driver opens files", database)
	}
	return nil
}

// checkStatements checks that no step keeps a missing column and, if the engine describes statements, that the
// numbers of arguments match.
func checkStatements(plan *wire.Plan, statements []*Statement, conn Conn) error {
	describer, describes := conn.(Describer)
	for _, t := range plan.Transactions {
		for _, step := range t.Steps {
			if step.Kind != wire.StepSQL {
				continue
			}
			s := statements[step.Statement]
			check := checkColumns
			if describes {
				check = func(Conn, *Statement, *wire.Step) error { return checkDescribed(describer, s, &step) }
			}
			if err := check(conn, s, &step); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkDescribed(conn Describer, s *Statement, step *wire.Step) error {
	params, columns, err := conn.Describe(s)
	if err != nil {
		return OnSQL(s.SQL, err)
	}
	if params != len(step.Args) {
		return fmt.Errorf("`%s` has %d placeholders, the plan brings %d arguments", s.SQL, params, len(step.Args))
	}
	return checkKept(s, step, columns)
}

func checkColumns(conn Conn, s *Statement, step *wire.Step) error {
	if len(step.Keep) == 0 || s.Changes {
		return nil // what changes data cannot be asked without executing it
	}
	columns, err := conn.Columns(s)
	if err != nil {
		return OnSQL(s.SQL, err)
	}
	return checkKept(s, step, columns)
}

func checkKept(s *Statement, step *wire.Step, columns int) error {
	for _, keep := range step.Keep {
		if keep.Column >= columns {
			return fmt.Errorf("`%s` has %d columns, the plan keeps column %d", s.SQL, columns, keep.Column)
		}
	}
	return nil
}

func (r *ready) openOwn(driver *Driver) error {
	for i, c := range r.clients {
		database := r.plan.Databases[c.spec.Database]
		o := &own{open: func() (Conn, error) { return driver.Open(database, r.setup) }}
		var session []wire.Pair
		err := whenFree(driver, func() (err error) {
			if o.conn, err = o.open(); err != nil {
				return err
			}
			if session, err = look(driver, r.plan, r.setup, o.conn, i == 0, clientFact(c.spec)); err != nil {
				o.close()
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("client %d, database %s: %w", c.spec.ID, database, err)
		}
		_, o.measures = o.conn.(Waiter)
		c.conns = o
		c.use(o.conn)
		r.reads.known(session)
		r.sessions = append(r.sessions, session)
	}
	return nil
}

func clientFact(spec *wire.Client) []wire.Pair {
	return []wire.Pair{{Name: "client", Text: strconv.FormatUint(uint64(spec.ID), 10)}}
}

// openPools opens a pool for each database that clients use. All connections opened in advance are taken at the same
// time, so that the settings of each are reported.
func (r *ready) openPools(driver *Driver) error {
	pools := map[int]Pool{}
	for _, c := range r.clients {
		index := c.spec.Database
		if pools[index] == nil {
			database := r.plan.Databases[index]
			pool, sessions, err := openPool(driver, r.plan, r.setup, database, clientFact(c.spec))
			if err != nil {
				return fmt.Errorf("database %s: %w", database, err)
			}
			r.pools = append(r.pools, pool)
			r.reads.known(sessions[0])
			r.sessions = append(r.sessions, sessions...)
			pools[index] = pool
		}
		c.conns = &shared{pool: pools[index]}
	}
	return nil
}

func lookAtAll(driver *Driver, plan *wire.Plan, setup *Setup, pool Pool, facts []wire.Pair) (sessions [][]wire.Pair, err error) {
	count := setup.Options.PoolSize
	if setup.Options.PoolLazy {
		count = 1
	}
	var taken []Conn
	defer func() {
		for _, conn := range taken {
			pool.Release(conn)
		}
	}()
	for i := range count {
		conn, err := pool.Acquire()
		if err != nil {
			return sessions, err
		}
		taken = append(taken, conn)
		session, err := look(driver, plan, setup, conn, i == 0, facts)
		if err != nil {
			return sessions, err
		}
		sessions = append(sessions, session)
	}
	return sessions, nil
}

// look reads back the settings of a connection; for the first one it also checks whether the plan fits.
func look(driver *Driver, plan *wire.Plan, setup *Setup, conn Conn, first bool, facts []wire.Pair) ([]wire.Pair, error) {
	if first {
		if err := checkStatements(plan, setup.Statements, conn); err != nil {
			return nil, err
		}
	}
	if driver.Nothing {
		return append(append([]wire.Pair{}, facts...), setup.Options.poolFacts()...), nil
	}
	readbacks := plan.Readbacks
	asked := driver.Engine != "SQLite"
	for _, readback := range readbacks {
		asked = asked || readback.Name == timeoutReadback
	}
	if !asked {
		readbacks = append(readbacks[:len(readbacks):len(readbacks)], wire.Pair{Name: timeoutReadback, Text: "PRAGMA busy_timeout"})
	}
	session := append([]wire.Pair{}, facts...)
	for _, readback := range readbacks {
		value, err := driver.firstValue(conn, readback.Text)
		if err != nil {
			return nil, OnSQL(readback.Text, err)
		}
		session = append(session, wire.Pair{Name: readback.Name, Text: value})
	}
	return append(session, setup.Options.poolFacts()...), nil
}

// firstValue is the first column of the first row as text; empty for NULL or without rows.
func (d *Driver) firstValue(conn Conn, sql string) (string, error) {
	text, seen := "", false
	_, err := conn.Run(query(sql), nil, func(values []any) error {
		if seen || len(values) == 0 {
			return nil
		}
		seen = true
		if foreign, is := values[0].(Foreign); is {
			_, err := plain(foreign)
			return err
		}
		text = inWords(values[0])
		return nil
	})
	return text, err
}

func inWords(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return hex.EncodeToString(v)
	}
	return fmt.Sprint(value)
}

// client runs a client after the start, and reports its end.
func (r *ready) client(c *client) {
	defer func() {
		if panicked := recover(); panicked != nil {
			c.loopOver.Store(true)
			r.ended <- fmt.Errorf("client %d: %v\n%s", c.spec.ID, panicked, debug.Stack())
		}
	}()
	<-r.control.start
	if !r.control.abandoned {
		c.run()
	}
	c.use(nil)
	r.readBack(c.conns.own())
	c.conns.close()
	r.ended <- nil
}

// abandon gives up the run and closes all connections.
func (r *ready) abandon() {
	r.control.abandon()
	for range r.clients {
		<-r.ended
	}
	r.close()
}

func (r *ready) close() {
	r.cancel()
	for _, c := range r.clients {
		if c.conns != nil {
			c.conns.close()
		}
	}
	for _, pool := range r.pools {
		_ = pool.Close()
	}
}

func (r *ready) counts() (operations, failed uint64) {
	for _, c := range r.clients {
		operations += c.operations.Load()
		failed += c.failed.Load()
	}
	return operations, failed
}

// run carries out the plan from start on, until every client is done and its connection is closed. It answers the
// tool meanwhile.
func (r *ready) run(start uint64, s *server) error {
	r.pauses = readPauses()
	r.control.open(start, r.plan.EndNS())
	progress := time.NewTicker(progressEvery)
	defer progress.Stop()
	drain := time.NewTimer(r.untilDrain())
	defer drain.Stop()
	var broken error
	for running := len(r.clients); running > 0; {
		select {
		case err := <-r.ended:
			running--
			broken = errors.Join(broken, err)
		case request := <-s.requests:
			if err := s.during(r, request); err != nil {
				return err
			}
			drain.Reset(r.untilDrain())
		case <-progress.C:
			s.say(r.progress(start))
		case <-drain.C:
			if err := r.endDrain(); err != nil {
				return err
			}
			drain.Reset(r.untilDrain())
		}
	}
	s.say(r.progress(start))
	r.openedInRun = r.setup.Opened.Load() - r.opened
	r.readBackPools()
	r.close()
	return broken
}

// progress is a progress line. The last one reports that all is done: closing connections may take time.
func (r *ready) progress(start uint64) string {
	operations, failed := r.counts()
	return fmt.Sprintf("progress\telapsed_ns=%d\toperations=%d\tfailed=%d", max(monotonicNS(), start)-start, operations, failed)
}

// readBack reads the settings of a connection after the measurement, so that a change during the run is found. Inside
// an attempt it would be measured. After the drain connections execute nothing.
func (r *ready) readBack(conn Conn) {
	if conn == nil || r.control.drainIsOver.Load() {
		return
	}
	// Other clients may still write.
	err := whenFree(r.reads.driver, func() error {
		if r.control.drainIsOver.Load() {
			return nil
		}
		return r.reads.opened(conn)
	})
	if err != nil && !r.control.drainIsOver.Load() {
		r.reads.wrong(fmt.Sprintf("a connection cannot be read back after the run: %v", err))
	}
}

// readBackPools does the same for connections that the pools have kept open, or for a new one if they keep none.
func (r *ready) readBackPools() {
	if r.control.drainIsOver.Load() {
		return
	}
	for _, pool := range r.pools {
		var taken []Conn
		for range max(pool.Idle(), 1) {
			conn, err := pool.Acquire()
			if err != nil {
				break
			}
			taken = append(taken, conn)
		}
		for _, conn := range taken {
			r.readBack(conn)
			pool.Release(conn)
		}
	}
}

// untilDrain is the time until the drain ends, or until connections are interrupted again: an interrupt only affects
// a running statement.
func (r *ready) untilDrain() time.Duration {
	if r.control.drainIsOver.Load() {
		return interruptAgain
	}
	end, now := r.control.drainEnd(), monotonicNS()
	return time.Duration(min(max(end, now)-now, uint64(time.Hour)))
}

func (r *ready) endDrain() error {
	end, now := r.control.drainEnd(), monotonicNS()
	if now < end {
		return nil
	}
	if !r.control.drainIsOver.Load() {
		r.control.endDrain()
		r.cancel()
	}
	for _, c := range r.clients {
		if c.loopOver.Load() {
			continue
		}
		if now >= saturatingAdd(end, stuckNS) {
			return fmt.Errorf("client %d did not return 5 s after it was interrupted", c.spec.ID)
		}
		c.interrupt()
	}
	return nil
}
