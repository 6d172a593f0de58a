package worker

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"contend/workers/wire"
)

// connections gives a client its connection: its own, or one of a pool.
type connections interface {
	// carryOut makes one attempt; returns the step that failed and the time waited for a connection.
	carryOut(c *client, transaction int) (step int, acquireNS uint64, err error)
	// own returns the client's own connection, if it has one that is open.
	own() Conn
	close()
}

// turn is an attempt that is about to be made, or in flight.
type turn struct {
	index       int
	attempt     uint16
	due         uint64
	started     uint64
	firstUnique int64
}

// client is the loop of one client: which operation is next and when, what happens after a failed attempt, and the
// sample of every attempt.
type client struct {
	plan    *wire.Plan
	spec    *wire.Client
	control *control
	driver  *Driver
	a       *attempt
	singles []*single
	conns   connections
	samples sampleList
	sleep   sleeper

	previousEnd uint64
	operation   uint32
	next        int
	nextUnique  int64
	jitterTurn  int
	exhausted   bool

	// Progress counters, read by the supervisor.
	operations, failed atomic.Uint64
	// told is the time of the last update: one per operation would cost more than the operation's sample.
	told     uint64
	loopOver atomic.Bool

	// The connection in use, for the supervisor to interrupt; the lock prevents it from being closed meanwhile.
	lock    sync.Mutex
	current Conn
}

const (
	// tellEveryNS is far below the interval at which the tool is informed.
	tellEveryNS = 20_000_000

	samplesInAdvance   = 2 << 20
	fastestOperationNS = 2_000
	fastestRoundTripNS = 10_000
)

// roomForSamples allocates memory for a client's samples. For an embedded engine its pages are touched in advance, so
// that the window need not do it. For a server a page fault now and then is negligible compared with a round trip,
// while touching the pages of all possible samples is not.
func roomForSamples(d *Driver, p *wire.Plan, spec *wire.Client) []wire.Sample {
	fastest := uint64(fastestOperationNS)
	if d.Server {
		fastest = fastestRoundTripNS
	}
	count := uint64(samplesInAdvance / max(len(p.Clients), 1))
	if spec.Limit > 0 {
		count = min(count, uint64(spec.Limit))
	}
	if spec.Open {
		count = min(count, uint64(len(spec.Operations)))
	} else if p.Length > 0 {
		count = min(count, p.EndNS()/fastest)
	}
	samples := make([]wire.Sample, count)
	if d.Server {
		return samples[:0]
	}
	for i := 0; i < len(samples); i += 32 {
		samples[i].Client = 1
	}
	return samples[:0]
}

// busy is SQLITE_BUSY.
var busy = wire.Code{Space: wire.SpaceSQLite, Number: 5}

func (c *client) use(conn Conn) {
	c.lock.Lock()
	c.current = conn
	c.lock.Unlock()
}

func (c *client) holds() bool {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.current != nil
}

func (c *client) interrupt() {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.current != nil {
		c.current.Interrupt()
	}
}

func (c *client) run() {
	c.nextUnique = int64(c.spec.ID) * wire.UniqueStride
	c.previousEnd = saturatingAdd(c.control.startNS, c.spec.StartNS)
	for {
		t, again := c.inARow()
		if !again {
			if t, again = c.nextTurn(); !again {
				break
			}
		}
		for again {
			t, again = c.try(t)
		}
	}
	c.operations.Store(uint64(c.operation))
	c.loopOver.Store(true)
}

// single is a transaction of one statement, executed once, with the operation's arguments and nothing kept.
type single struct {
	statement        *Statement
	rowsMin, rowsMax int64
}

// singles has one entry per transaction; nil for other transactions.
func singles(p *wire.Plan, s *statements) []*single {
	all := make([]*single, len(p.Transactions))
	for i := range p.Transactions {
		t := &p.Transactions[i]
		if t.Begin != "" || len(t.Steps) != 1 || t.Steps[0].Kind != wire.StepSQL {
			continue
		}
		step := &t.Steps[0]
		same := step.Repeat == 1 && len(step.Keep) == 0 && len(step.Args) == t.Arguments()
		for place, source := range step.Args {
			same = same && source.Kind == wire.SourceArgument && source.A == place
		}
		if same {
			all[i] = &single{s.steps[step.Statement], int64(step.RowsMin), int64(step.RowsMax)}
			if step.RowsMax == wire.AnyRows {
				all[i].rowsMax = math.MaxInt64
			}
		}
	}
	return all
}

// inARow carries out operations of a single statement on the client's own connection, one after the other. Besides
// the library's part this is the whole cost of an operation, so it recomputes nothing that is known. It returns the
// next attempt of an operation that failed, if there is one.
func (c *client) inARow() (turn, bool) {
	o, isOwn := c.conns.(*own)
	if !isOwn || o.measures || c.operation == 0 || c.spec.Open {
		return turn{}, false
	}
	for o.conn != nil && c.next < len(c.spec.Operations) && (c.spec.Limit == 0 || c.operation < c.spec.Limit) {
		op := &c.spec.Operations[c.next]
		single, begun := c.singles[op.Transaction], c.previousEnd
		// The previous operation ended a moment ago; reading the clock again would only cost time.
		if single == nil || op.TimeNS != 0 || begun >= c.control.windowEnd.Load() || c.control.drainIsOver.Load() {
			break
		}
		rows, err := single.rowsMin, error(nil)
		if !c.driver.Nothing {
			rows, err = o.conn.Run(single.statement, op.Args, nil)
		}
		if err != nil || rows < single.rowsMin || rows > single.rowsMax {
			return c.failedInARow(o, rows, err)
		}
		finished := monotonicNS()
		*c.samples.next() = wire.Sample{
			Client: c.spec.ID, Operation: c.operation, Transaction: uint16(op.Transaction), FailedStep: wire.FailedNone,
			Rows: uint32(min(rows, math.MaxUint32)), Due: begun, Started: begun, Finished: finished, Lock: wire.NotMeasured,
		}
		c.end(op.Transaction, finished, false)
	}
	return turn{}, false
}

// failedInARow records the first attempt of the next operation, whose statement returned this error or number of
// rows.
func (c *client) failedInARow(o *own, rows int64, err error) (turn, bool) {
	a, op := c.a, &c.spec.Operations[c.next]
	a.begin(c.operation, op.Args)
	a.begun = false
	if err == nil {
		a.rows = uint32(min(rows, math.MaxUint32))
		err = workerFailure(wire.CodeRows)
	}
	a.undo(o.conn)
	o.loseIfLost(c)
	t := turn{index: c.next, due: c.previousEnd, started: c.previousEnd, firstUnique: c.nextUnique}
	return c.record(t, 0, 0, err)
}

// nextTurn returns the first attempt of the next operation, once it is due.
func (c *client) nextTurn() (turn, bool) {
	if c.spec.Limit != 0 && c.operation >= c.spec.Limit {
		return turn{}, false
	}
	if c.next >= len(c.spec.Operations) {
		c.exhausted = !c.spec.Open && c.previousEnd < c.control.windowEnd.Load()
		return turn{}, false
	}
	op := &c.spec.Operations[c.next]
	due := saturatingAdd(c.previousEnd, op.TimeNS)
	if c.spec.Open {
		due = saturatingAdd(c.control.startNS, op.TimeNS)
	}
	if due >= c.control.windowEnd.Load() {
		return turn{}, false
	}
	// The previous operation ended a moment ago; reading the clock again would only cost time.
	now := c.previousEnd
	if c.operation == 0 || now < due {
		now = c.sleep.until(due, c.control.windowOver, &c.control.windowIsOver)
	}
	end := c.control.windowEnd.Load()
	if now < due || due >= end || c.spec.Open && now >= end {
		return turn{}, false
	}
	return turn{index: c.next, due: due, started: now, firstUnique: c.nextUnique}, true
}

// try makes an attempt and returns the next one of the same operation, if there is one.
func (c *client) try(t turn) (turn, bool) {
	transaction := c.spec.Operations[t.index].Transaction
	a := c.a
	a.begin(c.operation, c.spec.Operations[t.index].Args)
	a.firstUnique = t.firstUnique
	step, acquireNS, err := c.conns.carryOut(c, transaction)
	return c.record(t, step, acquireNS, err)
}

// record adds the sample of a finished attempt, and returns the next one of the same operation, if there is one.
func (c *client) record(t turn, step int, acquireNS uint64, err error) (turn, bool) {
	finished := monotonicNS()
	a, transaction := c.a, c.spec.Operations[t.index].Transaction
	sample := wire.Sample{
		Client: c.spec.ID, Operation: c.operation, Transaction: uint16(transaction), Attempt: t.attempt,
		FailedStep: wire.FailedNone, Rows: a.rows, Due: t.due, Started: t.started, Finished: finished,
		Lock: a.lockNS, Acquire: acquireNS,
	}
	if a.timeoutSpent {
		sample.Flags |= wire.FlagLockTimeoutSpent
	}
	if err == nil {
		*c.samples.next() = sample
		c.end(transaction, finished, false)
		return turn{}, false
	}
	code := c.driver.codeOf(err)
	if errors.Is(err, context.Canceled) {
		code = c.driver.cutShort()
	}
	sample.FailedStep, sample.Space, sample.Code = uint16(step), code.Space, code.Number
	if c.control.drainIsOver.Load() && c.driver.isCut(code) {
		sample.Flags |= wire.FlagInterrupted
	}
	*c.samples.next() = sample
	if again, ok := c.retry(t, code, finished); ok {
		return again, true
	}
	c.end(transaction, finished, true)
	return turn{}, false
}

func (c *client) end(transaction int, finished uint64, failed bool) {
	c.nextUnique += int64(c.plan.Transactions[transaction].Uniques)
	c.operation++
	c.next++
	if c.spec.Cyclic && c.next == len(c.spec.Operations) {
		c.next = 0
	}
	c.previousEnd = finished
	if failed {
		c.failed.Add(1)
	}
	if finished-c.told >= tellEveryNS {
		c.told = finished
		c.operations.Store(uint64(c.operation))
	}
}

// retry waits for the next attempt of the same operation; false if the operation has failed.
func (c *client) retry(t turn, code wire.Code, finished uint64) (turn, bool) {
	if t.attempt+1 >= c.plan.Tries || !c.plan.RetryCodes[code] {
		return turn{}, false
	}
	until := saturatingAdd(finished, c.backoff(t.attempt))
	if c.control.drainIsOver.Load() || until >= c.control.drainEnd() {
		return turn{}, false
	}
	t.started = c.sleep.until(until, c.control.drainOver, &c.control.drainIsOver)
	t.attempt++
	// A busy machine may be too late here: attempts in flight must end with the drain.
	late := c.control.drainIsOver.Load() || t.started >= c.control.drainEnd()
	return t, t.started >= until && !late
}

func (c *client) backoff(attempt uint16) uint64 {
	entries, jitter := c.plan.BackoffNS, c.plan.JitterPermille
	wait, permille := uint64(0), uint64(1000)
	if len(entries) > 0 {
		wait = entries[min(int(attempt), len(entries)-1)]
	}
	if len(jitter) > 0 {
		permille = uint64(jitter[c.jitterTurn%len(jitter)])
	}
	c.jitterTurn++
	return wait/1000*permille + wait%1000*permille/1000
}

// own is the model `thread`: a connection for each client.
type own struct {
	open func() (Conn, error)
	conn Conn
	// measures reports whether connections are Waiters.
	measures bool
}

func (o *own) carryOut(c *client, transaction int) (int, uint64, error) {
	t := &c.plan.Transactions[transaction]
	connects := len(t.Steps) > 0 && t.Steps[0].Kind == wire.StepConnect
	if connects || o.conn == nil {
		c.use(nil)
		o.close()
		conn, err := o.open()
		if err != nil {
			pauseIfGone(c)
			if connects || t.Begin == "" {
				return 0, 0, err
			}
			return wire.FailedBegin, 0, err
		}
		o.conn = conn
		c.use(conn)
	}
	step, err := c.a.part(o.conn, transaction, 0, len(t.Steps))
	if err != nil {
		o.loseIfLost(c)
	}
	return step, 0, err
}

// loseIfLost closes a connection that was lost during an attempt.
func (o *own) loseIfLost(c *client) {
	if loser, ok := o.conn.(Loser); ok && loser.Lost() {
		c.use(nil)
		o.close()
	}
}

// pauseIfGone keeps the failures of a client whose server is gone from filling the memory.
func pauseIfGone(c *client) {
	if c.driver.Server {
		time.Sleep(10 * time.Millisecond)
	}
}

func (o *own) own() Conn { return o.conn }

func (o *own) close() {
	if o.conn != nil {
		_ = o.conn.Close()
		o.conn = nil
	}
}

// shared is the model `pool`: a connection for the length of an operation, returned during its pauses if no
// transaction is open.
type shared struct {
	pool Pool
	// reads, if not nil, reads back every new connection as a part of opening it.
	reads *readback
}

func (s *shared) carryOut(c *client, transaction int) (step int, acquireNS uint64, err error) {
	t := &c.plan.Transactions[transaction]
	end := len(t.Steps)
	if t.Begin != "" {
		acquireNS, step, err = s.part(c, transaction, 0, end)
		return step, acquireNS, err
	}
	for from := 0; from < end && err == nil; {
		if t.Steps[from].Kind == wire.StepPause {
			if step, err = from, c.a.wait(t.Steps[from].NS); err == nil {
				step = wire.FailedNone
			}
			from++
			continue
		}
		to := from
		for to < end && t.Steps[to].Kind != wire.StepPause {
			to++
		}
		var waited uint64
		waited, step, err = s.part(c, transaction, from, to)
		acquireNS += waited
		from = to
	}
	return step, acquireNS, err
}

func (s *shared) part(c *client, transaction, from, to int) (waited uint64, step int, err error) {
	begun := monotonicNS()
	conn, err := s.acquire()
	waited = monotonicNS() - begun
	if err != nil {
		pauseIfGone(c)
		if c.plan.Transactions[transaction].Begin != "" {
			return waited, wire.FailedBegin, err
		}
		return waited, from, err
	}
	c.use(conn)
	step, err = c.a.part(conn, transaction, from, to)
	c.use(nil)
	s.pool.Release(conn)
	return waited, step, err
}

func (s *shared) acquire() (Conn, error) {
	conn, err := s.pool.Acquire()
	if err != nil || s.reads == nil {
		return conn, err
	}
	if newcomer, ok := conn.(Newcomer); ok && newcomer.New() {
		if err := s.reads.opened(conn); err != nil {
			s.pool.Release(conn)
			return nil, err
		}
	}
	return conn, nil
}

// own returns nil: connections of a pool are read back when no client needs one any more.
func (s *shared) own() Conn { return nil }

func (s *shared) close() {}
