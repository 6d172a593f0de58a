package worker

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"contend/workers/wire"
)

// recorded is a connection that notes its calls, and refuses the statement `refuse`.
type recorded struct {
	log    *[]string
	refuse string
}

func (r *recorded) Run(s *Statement, _ []any, each func([]any) error) (int64, error) {
	*r.log = append(*r.log, s.SQL)
	if r.refuse != "" && strings.Contains(s.SQL, r.refuse) {
		return 0, errors.New("refused")
	}
	if each != nil {
		return 1, each([]any{"value"})
	}
	return 1, nil
}

func (r *recorded) Names() ([]string, error)        { return []string{"a"}, nil }
func (r *recorded) Columns(*Statement) (int, error) { return 1, nil }
func (r *recorded) Interrupt()                      {}
func (r *recorded) Close() error                    { return nil }
func (r *recorded) Lost() bool                      { return false }

// recording is a driver of such connections; opens counts those that succeed, further ones fail.
func recording(log *[]string, opens int) *Driver {
	return &Driver{
		Name: "recording", Engine: "none", Server: true,
		Code:        func(error) (wire.Code, bool) { return wire.Code{Space: wire.SpaceMySQL, Number: 1}, true },
		Interrupted: wire.Code{Space: wire.SpaceMySQL, Number: 1317},
		Cut:         []wire.Code{{Space: wire.SpaceMySQL, Number: 2013}},
		Open: func(_ wire.Database, setup *Setup) (Conn, error) {
			*log = append(*log, "open")
			if setup.Opened.Add(1) > int64(opens) {
				return nil, errors.New("no more connections")
			}
			return &recorded{log: log, refuse: "refused"}, nil
		},
	}
}

const recordingPlan = `contend-plan 3
worker	0
driver	recording	thread
connections	client
window	0	0	1000000000
now	clock
database	socket	/s	me	d	-
readback	setting	SHOW setting
statement	0	rows	-	SELECT a
statement	1	rows	-	SELECT refused
statement	2	rows	19	SELECT a WHERE a = ?
transaction	0	connect	read	-	0	1	2
step	connect
step	sql	0	1..1	1	0:0:1
transaction	1	fail	write	-	0	0	1
step	sql	1	1..1	1	-
transaction	2	begin and fail	write	BEGIN	0	0	1
step	sql	1	1..1	1	-
transaction	3	pause	read	-	0	1	2
step	pause	1
step	sql	2	1..1	1	-	k0+0
retry	1	-	-	-
clients	1
client	0	0	closed	finite	%d	0	%[1]d
%send
`

// carriedOut is what came of operations, and what the connections were told.
func carriedOut(t *testing.T, opens int, operations ...int) ([]wire.Sample, []string) {
	t.Helper()
	log, ops := []string{}, ""
	for _, transaction := range operations {
		ops += fmt.Sprintf("op\t0\t%d\n", transaction)
	}
	samples, err := RunPlan(recording(&log, opens), wire.Sealed(fmt.Sprintf(recordingPlan, len(operations), ops)))
	if err != nil {
		t.Fatal(err)
	}
	return samples[0], log
}

func TestSettingsAreReadBackWhenNobodyMeasures(t *testing.T) {
	_, log := carriedOut(t, math.MaxInt, 0, 0)
	expected := []string{"open", "SHOW setting", "open", "SELECT a", "open", "SELECT a", "SHOW setting"}
	if !slices.Equal(log, expected) {
		t.Errorf("%q, expected %q", log, expected)
	}
}

func TestAServerIsToldToRollBackOnlyWhatWasBegun(t *testing.T) {
	_, log := carriedOut(t, math.MaxInt, 1, 2)
	expected := []string{"open", "SHOW setting", "SELECT refused", "BEGIN", "SELECT refused", "ROLLBACK", "SHOW setting"}
	if !slices.Equal(log, expected) {
		t.Errorf("%q, expected %q", log, expected)
	}
}

func TestAConnectionThatCannotBeOpenedFailsAtTheBeginIfThereIsOne(t *testing.T) {
	samples, _ := carriedOut(t, 1, 0, 1, 2)
	for i, step := range []uint16{0, 0, wire.FailedBegin} {
		if samples[i].FailedStep != step {
			t.Errorf("operation %d failed at %d, expected %d", i, samples[i].FailedStep, step)
		}
	}
}

var (
	refused   = wire.Code{Space: wire.SpaceMySQL, Number: 1}
	wrongRows = wire.Code{Space: wire.SpaceWorker, Number: wire.CodeRows}
)

// The first operation is carried out by itself, those after it in a row.
func TestOperationsInARowAreRecordedAsTheFirst(t *testing.T) {
	for name, of := range map[string]struct {
		attempts int
		code     wire.Code
		edits    []string
	}{
		"none fails":          {1, wire.Code{}, []string{"SELECT refused", "SELECT a"}},
		"each fails":          {1, refused, nil},
		"each is tried again": {3, refused, []string{"retry\t1\t-\t-\t-", "retry\t3\t-\t-\tmysql:1"}},
		"a row too few":       {1, wrongRows, []string{"SELECT refused", "SELECT a", "1..1\t1\t-\ntransaction\t2", "2..*\t1\t-\ntransaction\t2"}},
		"a row too many":      {1, wrongRows, []string{"SELECT refused", "SELECT a", "1..1\t1\t-\ntransaction\t2", "0..0\t1\t-\ntransaction\t2"}},
	} {
		log := []string{}
		plan := wire.Sealed(strings.NewReplacer(of.edits...).Replace(fmt.Sprintf(recordingPlan, 3, "op\t0\t1\nop\t0\t1\nop\t0\t1\n")))
		all, err := RunPlan(recording(&log, math.MaxInt), plan)
		if err != nil {
			t.Fatal(err)
		}
		samples := all[0]
		attempts := len(samples) / 3
		if attempts != of.attempts || len(samples)%3 != 0 {
			t.Fatalf("%s: %d samples of 3 operations", name, len(samples))
		}
		if told := (wire.Code{Space: samples[0].Space, Number: samples[0].Code}); told != of.code {
			t.Errorf("%s: %+v, expected %+v", name, told, of.code)
		}
		for i, s := range samples {
			first := samples[i%attempts]
			first.Operation, first.Due, first.Started, first.Finished = uint32(i/attempts), s.Due, s.Started, s.Finished
			if s != first {
				t.Errorf("%s: %+v, expected %+v", name, s, first)
			}
			if i >= attempts && (s.Due != samples[i-i%attempts-1].Finished || s.Started < s.Due || s.Finished < s.Started) {
				t.Errorf("%s: sample %d: %+v", name, i, s)
			}
		}
	}
}

func TestRoomForSamplesIsTouchedOnlyWhereTheEngineIsInThisProcess(t *testing.T) {
	plan := &wire.Plan{Clients: make([]wire.Client, 1)}
	for _, server := range []bool{false, true} {
		room := roomForSamples(&Driver{Server: server}, plan, &wire.Client{Limit: 4096})
		if len(room) != 0 || cap(room) < 4096 || (room[:4096][4064].Client == 1) == server {
			t.Errorf("a server: %t: %d of %d, touched: %d", server, len(room), cap(room), room[:4096][4064].Client)
		}
	}
}

func TestWhatWasCutAtTheEndOfTheDrain(t *testing.T) {
	d := recording(&[]string{}, 1)
	for number, cut := range map[uint32]bool{1317: true, 2013: true, 1205: false} {
		if d.isCut(wire.Code{Space: wire.SpaceMySQL, Number: number}) != cut {
			t.Errorf("%d", number)
		}
	}
	if !d.isCut(canceled) {
		t.Error("what the worker itself cut short")
	}
}

// A pause gives the connection of a pool back, so that an attempt may begin without one.
func TestNothingIsKeptFromTheOperationBefore(t *testing.T) {
	log := []string{}
	driver := recording(&log, math.MaxInt)
	pool := &onlyOne{conn: &recorded{log: &log}}
	driver.OpenPool = func(wire.Database, *Setup) (Pool, error) { return pool, nil }
	plan := strings.NewReplacer("recording\tthread", "recording\tpool", "connections\tclient", "connections\tdatabase",
		"database\tsocket", "option\tpool_size\t1\ndatabase\tsocket", "step\tconnect\n", "step\thold\t1\n").
		Replace(fmt.Sprintf(recordingPlan, 2, "op\t0\t0\nop\t0\t3\n"))
	samples, err := RunPlan(driver, wire.Sealed(plan))
	if err != nil {
		t.Fatal(err)
	}
	if first := samples[0][0]; first.Space != 0 {
		t.Errorf("%+v", first)
	}
	if s := samples[0][1]; s.FailedStep != 1 || s.Space != wire.SpaceWorker || s.Code != wire.CodeNotKept {
		t.Errorf("%+v, although nothing was kept", s)
	}
}

// onlyOne is a pool of one connection for one client.
type onlyOne struct{ conn Conn }

func (p *onlyOne) Acquire() (Conn, error) { return p.conn, nil }
func (p *onlyOne) Release(Conn)           {}
func (p *onlyOne) Idle() int              { return 1 }
func (p *onlyOne) Close() error           { return nil }

// A client whose code panics is reported, and the others go on to their end.
func TestAPanicOfAClientIsToldOf(t *testing.T) {
	driver := recording(&[]string{}, math.MaxInt)
	driver.Code = func(error) (wire.Code, bool) { panic("out of its mind") }
	over := make(chan error, 1)
	go func() {
		_, err := RunPlan(driver, wire.Sealed(fmt.Sprintf(recordingPlan, 1, "op\t0\t1\n")))
		over <- err
	}()
	select {
	case err := <-over:
		if err == nil || !strings.Contains(err.Error(), "client 0: out of its mind") {
			t.Errorf("%v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the run goes on without its only client")
	}
}
