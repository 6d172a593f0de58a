package worker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"time"

	"contend/workers/wire"
)

// failure is why a part of an attempt failed: the engine's code, unclassified.
type failure struct {
	code  wire.Code
	words string
}

func (f failure) Error() string {
	if f.words != "" {
		return f.words
	}
	if f.code.Space == wire.SpaceWorker {
		switch f.code.Number {
		case wire.CodeRows:
			return "a step returned or changed a number of rows that the plan does not allow"
		case wire.CodeNotKept:
			return "a step needs a value that was not kept"
		case wire.CodeValue:
			return "a value that this driver cannot represent"
		}
	}
	return fmt.Sprintf("%s %d", wire.SpaceWord(f.code.Space), f.code.Number)
}

// NoValue is the error for a value that the driver cannot represent.
func NoValue() error { return workerFailure(wire.CodeValue) }

// Failed returns a failure with this code and text.
func Failed(code wire.Code, words string) error { return failure{code, words} }

// WrongValue is the error for a value that the driver cannot represent, with the reason.
func WrongValue(form string, args ...any) error {
	return failure{wire.Code{Space: wire.SpaceWorker, Number: wire.CodeValue}, fmt.Sprintf(form, args...)}
}

func workerFailure(number uint32) error {
	return failure{code: wire.Code{Space: wire.SpaceWorker, Number: number}}
}

var told atomic.Int32

// codeOf returns the code of an error. Errors without one are printed, a few times.
func (d *Driver) codeOf(err error) wire.Code {
	var f failure
	if errors.As(err, &f) {
		return f.code
	}
	if code, ok := d.Code(err); ok {
		return code
	}
	if told.Add(1) <= 20 {
		fmt.Fprintf(os.Stderr, "contend worker: an error of %s itself: %v\n", d.Name, err)
	}
	return wire.Code{Space: wire.SpaceWorker, Number: wire.CodeDriver}
}

// attempt is the state of one attempt; a client reuses it.
type attempt struct {
	driver       *Driver
	plan         *wire.Plan
	statements   *statements
	control      *control
	sleep        sleeper
	use          func(Conn) // reports to the supervisor which connection to interrupt
	operation    uint32
	args         []any
	firstUnique  int64
	uniques      []int64 // in place of those from firstUnique on
	answer       *answer // where rows go; nil: nowhere
	begun        bool    // a transaction
	kept         [][]any
	bound        []any
	rows         uint32
	lockNS       uint64
	timeoutSpent bool
	keeping      []wire.Keep
	found        int
	keep, hand   func(values []any) error
}

// statements are all statements that a plan needs.
type statements struct {
	all              []*Statement
	steps, begins    []*Statement
	commit, rollback *Statement
}

func newStatements(p *wire.Plan) *statements {
	s := &statements{}
	add := func(said wire.Statement) *Statement {
		one := newStatement(said)
		one.Index = len(s.all)
		s.all = append(s.all, one)
		return one
	}
	for _, said := range p.Statements {
		s.steps = append(s.steps, add(said))
	}
	for _, t := range p.Transactions {
		var begin *Statement
		if t.Begin != "" {
			begin = add(wire.Statement{SQL: t.Begin})
		}
		s.begins = append(s.begins, begin)
	}
	s.commit = add(wire.Statement{SQL: "COMMIT"})
	// Rare, and not every driver can prepare it outside of a transaction.
	s.rollback = simple("ROLLBACK")
	s.rollback.Always = true
	return s
}

func newAttempt(d *Driver, p *wire.Plan, s *statements, c *control) *attempt {
	a := &attempt{driver: d, plan: p, statements: s, control: c}
	slots := 0
	for _, t := range p.Transactions {
		slots = max(slots, t.Slots)
	}
	a.kept = make([][]any, slots)
	a.keep, a.hand = a.keepRow, a.handRow
	return a
}

// begin resets the state of the previous attempt.
func (a *attempt) begin(operation uint32, args []any) {
	a.operation, a.args, a.rows = operation, args, 0
	a.lockNS, a.timeoutSpent = wire.NotMeasured, false
	for i := range a.kept {
		a.kept[i] = a.kept[i][:0]
	}
}

// part carries out some steps of a transaction in order, with begin and commit if all steps are included. It returns
// the step that failed.
func (a *attempt) part(conn Conn, transaction, from, to int) (step int, err error) {
	waiter, measured := conn.(Waiter)
	if measured {
		waiter.ResetLockWait()
		defer func() { a.noteWait(waiter) }()
	}
	t := &a.plan.Transactions[transaction]
	step, err = a.steps(conn, t, a.statements.begins[transaction], from, to)
	if err != nil {
		a.undo(conn)
	}
	return step, err
}

// undo rolls back what a failed attempt may have left open. Not every driver reports whether a transaction is open,
// and SQLite rolls back by itself after some errors. If a needed rollback fails, the next begin fails and reports it.
// On a server a rollback is a round trip, which belongs to the attempt, so it is sent only if something was begun.
func (a *attempt) undo(conn Conn) {
	if !a.begun && a.driver.Server {
		return
	}
	// An interrupt must not hit the rollback: a lock that stays blocks all other clients.
	a.use(nil)
	_, _ = conn.Run(a.statements.rollback, nil, nil)
	a.use(conn)
}

// noteWait adds the connection's waits for locks to those of this attempt.
func (a *attempt) noteWait(waiter Waiter) {
	waited, spent, ok := waiter.LockWait()
	if !ok {
		return
	}
	if a.lockNS == wire.NotMeasured {
		a.lockNS = 0
	}
	a.lockNS += uint64(waited)
	a.timeoutSpent = a.timeoutSpent || spent
}

func (a *attempt) steps(conn Conn, t *wire.Transaction, begin *Statement, from, to int) (int, error) {
	a.begun = false
	if begin != nil {
		if _, err := conn.Run(begin, nil, nil); err != nil {
			return wire.FailedBegin, err
		}
		a.begun = true
	}
	for i := from; i < to; i++ {
		step := &t.Steps[i]
		var err error
		switch step.Kind {
		case wire.StepSQL:
			err = a.execute(conn, step)
		case wire.StepHold, wire.StepPause:
			err = a.wait(step.NS)
		}
		if err != nil {
			return i, err
		}
	}
	if begin != nil {
		if _, err := conn.Run(a.statements.commit, nil, nil); err != nil {
			return wire.FailedCommit, err
		}
	}
	return wire.FailedNone, nil
}

func (a *attempt) execute(conn Conn, step *wire.Step) error {
	s := a.statements.steps[step.Statement]
	for repetition := range step.Repeat {
		// An interrupt only affects a running statement, so each statement checks first.
		if a.control.drainIsOver.Load() {
			return failure{code: a.driver.cutShort()}
		}
		a.bound = a.bound[:0]
		for i := range step.Args {
			value, err := a.resolve(&step.Args[i], repetition)
			if err != nil {
				return err
			}
			a.bound = append(a.bound, value)
		}
		var each func([]any) error
		if len(step.Keep) > 0 {
			a.keeping, a.found, each = step.Keep, 0, a.keep
			for _, keep := range step.Keep {
				a.kept[keep.Slot] = a.kept[keep.Slot][:0]
			}
		} else {
			a.keeping = nil
		}
		if a.answer != nil {
			a.answer.conn, a.answer.statement = conn, s
			each = a.hand
		}
		rows, err := a.run(conn, s, step, each)
		if err != nil {
			return err
		}
		rows = min(rows, math.MaxUint32)
		a.rows = uint32(min(int64(a.rows)+rows, math.MaxUint32))
		if uint32(rows) < step.RowsMin || uint32(rows) > step.RowsMax {
			return workerFailure(wire.CodeRows)
		}
	}
	return nil
}

func (a *attempt) run(conn Conn, s *Statement, step *wire.Step, each func([]any) error) (int64, error) {
	if !a.driver.Nothing {
		return conn.Run(s, a.bound, each)
	}
	for _, keep := range step.Keep {
		a.kept[keep.Slot] = append(a.kept[keep.Slot], int64(1))
	}
	return int64(step.RowsMin), nil
}

// handRow passes a row to the caller that requested it.
func (a *attempt) handRow(values []any) error {
	if len(a.keeping) > 0 {
		if err := a.keepRow(values); err != nil {
			return err
		}
	}
	return a.answer.row(values)
}

func (a *attempt) keepRow(values []any) error {
	for _, keep := range a.keeping {
		if a.found >= keep.Rows {
			continue
		}
		if keep.Column >= len(values) {
			return workerFailure(wire.CodeValue)
		}
		value, err := plain(values[keep.Column])
		if err != nil {
			return err
		}
		if bytes, ok := value.([]byte); ok {
			value = append([]byte{}, bytes...)
		}
		a.kept[keep.Slot] = append(a.kept[keep.Slot], value)
	}
	a.found++
	return nil
}

// plain converts a value to the five types; some drivers return others for columns with certain declared types.
func plain(value any) (any, error) {
	switch v := value.(type) {
	case nil, int64, float64, string, []byte:
		return v, nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	}
	return nil, WrongValue("the driver gave %s, which is not a value of SQL", kindOf(value))
}

// Foreign is a value of a type without a counterpart in SQLite. It is an error only if it is used.
type Foreign struct{ Type string }

func kindOf(value any) string {
	if foreign, ok := value.(Foreign); ok {
		return "a value of the type " + foreign.Type
	}
	return fmt.Sprintf("a %T", value)
}

func (a *attempt) resolve(source *wire.Source, repetition int) (any, error) {
	switch source.Kind {
	case wire.SourceArgument:
		return a.args[source.A+int(source.B)*repetition], nil
	case wire.SourceKept:
		if len(a.kept[source.A]) == 0 {
			return nil, workerFailure(wire.CodeNotKept)
		}
		return add(a.kept[source.A][0], source.B)
	case wire.SourceKeptRow:
		if rows := a.kept[source.A]; int(source.B) < len(rows) {
			return rows[source.B], nil
		}
		return nil, nil
	case wire.SourceUnique:
		if a.uniques != nil {
			return a.uniques[source.A+int(source.B)*repetition], nil
		}
		return a.firstUnique + int64(source.A) + source.B*int64(repetition), nil
	case wire.SourceNow:
		return int64(a.now() / uint64(source.B)), nil
	}
	return source.Value, nil
}

func (a *attempt) now() uint64 {
	if a.plan.NowFixed {
		return a.plan.NowBase + a.plan.NowStep*uint64(a.operation)
	}
	return uint64(time.Now().UnixNano())
}

// add adds to a kept value: NULL plus anything is NULL, as in SQL; a number that exceeds its type is not a value.
func add(value any, plus int64) (any, error) {
	if plus == 0 || value == nil {
		return value, nil
	}
	switch v := value.(type) {
	case int64:
		if sum := v + plus; (sum > v) == (plus > 0) {
			return sum, nil
		}
	case float64:
		return v + float64(plus), nil
	}
	return nil, workerFailure(wire.CodeValue)
}

func (a *attempt) wait(ns uint64) error {
	until := saturatingAdd(monotonicNS(), ns)
	if a.sleep.until(until, a.control.drainOver, &a.control.drainIsOver) < until {
		return failure{code: a.driver.cutShort()}
	}
	return nil
}
