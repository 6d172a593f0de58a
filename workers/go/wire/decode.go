package wire

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParsePlan reads a plan and checks every reference; an error names the line.
func ParsePlan(text string) (plan *Plan, err error) {
	d := &decoder{rest: text}
	defer func() {
		// Errors inside are raised with fail, which spares a check after every field.
		if raised := recover(); raised != nil {
			wrong, ok := raised.(formatError)
			if !ok {
				panic(raised)
			}
			plan, err = nil, wrong
		}
	}()
	d.next()
	if err := checkVersion("contend-plan", planVersion, d.line); err != nil {
		d.fail("%s", err)
	}
	plan = d.head()
	f := d.expect("clients")
	count := f.count("count")
	f.end()
	for range count {
		plan.Clients = append(plan.Clients, d.client(plan))
	}
	d.expect("end").end()
	switch {
	case !d.ended:
		d.fail("cut off: the `end` line has no line end")
	case d.rest != "":
		d.fail("text after the `end` line")
	}
	return plan, nil
}

type formatError struct{ words string }

func (e formatError) Error() string { return e.words }

type decoder struct {
	rest, line string
	number     int
	ended      bool // the line has a line end
	held       bool // the line was read and not used yet
}

func (d *decoder) fail(form string, args ...any) {
	panic(formatError{fmt.Sprintf("plan line %d: %s", d.number, fmt.Sprintf(form, args...))})
}

func (d *decoder) next() {
	d.line, d.rest, d.ended = strings.Cut(d.rest, "\n")
	d.number++
}

// nextIf uses the next line if it is of this kind.
func (d *decoder) nextIf(kind string) *fields {
	if !d.held {
		d.next()
		d.held = true
	}
	found, rest, more := strings.Cut(d.line, "\t")
	if found != kind {
		return nil
	}
	d.held = false
	return &fields{d: d, kind: kind, rest: rest, more: more}
}

func (d *decoder) expect(kind string) *fields {
	f := d.nextIf(kind)
	if f == nil {
		d.fail("expected a `%s` line, found `%s`", kind, crop(d.line))
	}
	return f
}

// fields are those of one line after its kind.
type fields struct {
	d          *decoder
	kind, rest string
	more       bool
}

func (f *fields) raw(what string) string {
	if !f.more {
		f.d.fail("a `%s` line without its %s", f.kind, what)
	}
	var field string
	field, f.rest, f.more = strings.Cut(f.rest, "\t")
	return field
}

func (f *fields) text(what string) string {
	text, err := Unescape(f.raw(what))
	if err != nil {
		f.d.fail("%s", err)
	}
	return text
}

func (f *fields) number(what string, bits int) uint64 {
	field := f.raw(what)
	n, err := strconv.ParseUint(field, 10, bits)
	if err != nil {
		f.d.fail("%s `%s` is not a number that fits", what, crop(field))
	}
	return n
}

func (f *fields) count(what string) int { return int(f.number(what, 31)) }

func (f *fields) word(what string, words ...string) int {
	field := f.raw(what)
	for i, word := range words {
		if field == word {
			return i
		}
	}
	f.d.fail("`%s` is not %s", crop(field), strings.Join(words, " or "))
	return 0
}

func (f *fields) end() {
	if f.more {
		f.d.fail("a field too many: `%s`", crop(f.rest))
	}
}

// list is a field of items separated by commas; `-` is an empty one.
func (f *fields) list(what string, read func(item string) bool) {
	field := f.raw(what)
	if field == "-" {
		return
	}
	for _, item := range strings.Split(field, ",") {
		if !read(item) {
			f.d.fail("`%s` in the list of %s", crop(item), what)
		}
	}
}

func (d *decoder) head() *Plan {
	p := &Plan{RetryCodes: map[Code]bool{}}
	f := d.expect("worker")
	p.Worker = uint32(f.number("number", 32))
	f.end()
	f = d.expect("driver")
	p.Driver, p.Model = f.text("driver"), f.text("model")
	f.end()
	f = d.expect("connections")
	p.Shared = f.word("way of sharing", "client", "database") == 1
	f.end()
	f = d.expect("window")
	p.RunIn, p.Length, p.Drain = f.number("run-in", 64), f.number("length", 64), f.number("drain", 64)
	f.end()
	f = d.expect("now")
	if p.NowFixed = f.word("source", "clock", "fixed") == 1; p.NowFixed {
		p.NowBase, p.NowStep = f.number("base", 64), f.number("step", 64)
	}
	f.end()
	p.Options = d.pairs("option")
	p.Databases = d.texts("database", false)
	p.Session = d.texts("session", false)
	p.Readbacks = d.pairs("readback")
	p.Statements = d.texts("statement", true)
	p.Texts = d.texts("text", true)
	for f := d.nextIf("transaction"); f != nil; f = d.nextIf("transaction") {
		d.transaction(p, f)
	}
	d.retry(p)
	return p
}

func (d *decoder) pairs(kind string) (pairs []Pair) {
	for f := d.nextIf(kind); f != nil; f = d.nextIf(kind) {
		pairs = append(pairs, Pair{f.text("name"), f.text("text")})
		f.end()
	}
	return pairs
}

func (d *decoder) texts(kind string, numbered bool) (texts []string) {
	for f := d.nextIf(kind); f != nil; f = d.nextIf(kind) {
		if numbered {
			f.index(len(texts))
		}
		texts = append(texts, f.text("text"))
		f.end()
	}
	return texts
}

func (f *fields) index(expected int) {
	if found := f.number("number", 64); found != uint64(expected) {
		f.d.fail("expected number %d, found %d", expected, found)
	}
}

func (d *decoder) transaction(p *Plan, f *fields) {
	f.index(len(p.Transactions))
	t := Transaction{Name: f.text("name"), Writes: f.word("kind", "read", "write") == 1}
	if begin := f.text("begin"); begin != "-" {
		t.Begin = begin
	}
	t.Uniques, t.Slots = int(f.number("count of unique numbers", 16)), int(f.number("count of slots", 16))
	steps := f.count("count of steps")
	f.end()
	for i := range steps {
		t.Steps = append(t.Steps, d.step(p, &t, i))
	}
	if needed := t.Arguments(); needed > math.MaxUint16 {
		d.fail("`%s` takes %d arguments; 65535 are the most", t.Name, needed)
	}
	p.Transactions = append(p.Transactions, t)
}

func (d *decoder) step(p *Plan, t *Transaction, index int) Step {
	f := d.expect("step")
	switch kind := f.raw("kind"); kind {
	case "sql":
		return d.sqlStep(p, t, f)
	case "hold", "pause":
		step := Step{Kind: StepHold, NS: f.number("length", 64)}
		if kind == "pause" {
			step.Kind = StepPause
		}
		f.end()
		return step
	case "connect":
		f.end()
		if index > 0 {
			d.fail("`connect` must be the first step of a transaction")
		}
		return Step{Kind: StepConnect}
	default:
		d.fail("`%s` is not a kind of step this worker knows", crop(kind))
	}
	return Step{}
}

func (d *decoder) sqlStep(p *Plan, t *Transaction, f *fields) Step {
	s := Step{Kind: StepSQL, Statement: f.count("statement")}
	rows := f.raw("rows")
	low, high, ok := strings.Cut(rows, "..")
	least, err := strconv.ParseUint(low, 10, 32)
	most := uint64(AnyRows)
	if high != "*" && err == nil {
		most, err = strconv.ParseUint(high, 10, 32)
	}
	if !ok || err != nil || least > most {
		d.fail("rows `%s` are not of the form MIN..MAX or MIN..*", crop(rows))
	}
	s.RowsMin, s.RowsMax = uint32(least), uint32(most)
	if s.Repeat = f.count("repeat"); s.Repeat == 0 {
		d.fail("a step is repeated at least once")
	}
	f.list("keep", func(item string) bool {
		n, ok := numbers(item, ":", 3)
		if ok && n[2] > 0 {
			s.Keep = append(s.Keep, Keep{n[0], n[1], n[2]})
		}
		return ok && n[2] > 0
	})
	if s.Statement >= len(p.Statements) {
		d.fail("statement %d is not in the plan", s.Statement)
	}
	for _, keep := range s.Keep {
		d.checkSlot(t, keep.Slot)
	}
	for f.more {
		s.Args = append(s.Args, d.source(p, t, f.raw("source"), s.Repeat))
	}
	return s
}

func numbers(text, separator string, count int) ([]int, bool) {
	parts := strings.Split(text, separator)
	found := make([]int, len(parts))
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return nil, false
		}
		found[i] = int(n)
	}
	return found, len(found) == count
}

func (d *decoder) checkSlot(t *Transaction, slot int) {
	if slot >= t.Slots {
		d.fail("slot %d is beyond the %d of `%s`", slot, t.Slots, t.Name)
	}
}

func (d *decoder) source(p *Plan, t *Transaction, field string, repeat int) Source {
	kinds := map[byte]SourceKind{'p': SourceArgument, 'k': SourceKept, 'K': SourceKeptRow, 'u': SourceUnique, 'c': SourceNow}
	if field == "" {
		d.fail("an empty field where the source of an argument was expected")
	}
	kind, ok := kinds[field[0]]
	if !ok {
		return Source{Value: d.value(p, field)}
	}
	s := Source{Kind: kind}
	a, b, pair := strings.Cut(field[1:], "+")
	first, errA := strconv.ParseUint(a, 10, 16)
	bits := 16
	if kind == SourceKept {
		bits = 64
	} else if kind == SourceNow {
		b, errA, pair, first, bits = a, nil, true, 0, 64
	}
	second, errB := strconv.ParseInt(b, 10, bits)
	if bits == 16 {
		var n uint64
		n, errB = strconv.ParseUint(b, 10, bits)
		second = int64(n)
	}
	if !pair || errA != nil || errB != nil || kind == SourceNow && second <= 0 {
		d.fail("`%s` is not the source of an argument", crop(field))
	}
	s.A, s.B = int(first), second
	if kind == SourceKept || kind == SourceKeptRow {
		d.checkSlot(t, s.A)
	}
	if kind == SourceUnique && s.A+int(s.B)*(repeat-1) >= t.Uniques {
		d.fail("`%s` announces %d unique numbers, this step needs more", t.Name, t.Uniques)
	}
	return s
}

// value reads a value; texts of the table are put in its place at once.
func (d *decoder) value(p *Plan, field string) any {
	value, err := ParseValue(field)
	if err != nil {
		d.fail("%s", err)
	}
	if ref, ok := value.(TextRef); ok {
		if int(ref) >= len(p.Texts) {
			d.fail("text %d is not in the plan", ref)
		}
		return p.Texts[ref]
	}
	return value
}

func (d *decoder) retry(p *Plan) {
	f := d.expect("retry")
	if p.Tries = uint16(f.number("number of tries", 16)); p.Tries == 0 {
		d.fail("the number of tries must be at least 1")
	}
	f.list("back-off", func(item string) bool {
		n, err := strconv.ParseUint(item, 10, 64)
		p.BackoffNS = append(p.BackoffNS, n)
		return err == nil
	})
	f.list("jitter", func(item string) bool {
		n, err := strconv.ParseUint(item, 10, 16)
		p.JitterPermille = append(p.JitterPermille, uint16(n))
		return err == nil
	})
	f.list("codes", func(item string) bool {
		word, number, _ := strings.Cut(item, ":")
		n, err := strconv.ParseUint(number, 10, 32)
		space := spaceOf(word)
		p.RetryCodes[Code{byte(max(space, 0)), uint32(n)}] = true
		return err == nil && space >= 0
	})
	f.end()
}

func (d *decoder) client(p *Plan) Client {
	f := d.expect("client")
	c := Client{ID: uint32(f.number("number", 32)), Database: f.count("database")}
	if c.Database >= len(p.Databases) {
		d.fail("client %d uses database %d; the plan has %d", c.ID, c.Database, len(p.Databases))
	}
	c.Open = f.word("loop", "closed", "open") == 1
	c.Cyclic = f.word("cycle", "cyclic", "finite") == 0
	if c.Open && c.Cyclic {
		d.fail("an open loop cannot be cyclic: its due times are drawn in advance")
	}
	c.Limit, c.StartNS = uint32(f.number("limit", 32)), f.number("start", 64)
	count := f.count("count of operations")
	f.end()
	previous := uint64(0)
	for range count {
		op := d.operation(p)
		if c.Open && op.TimeNS < previous {
			d.fail("due times of an open loop must not go back")
		}
		previous = op.TimeNS
		c.Operations = append(c.Operations, op)
	}
	return c
}

func (d *decoder) operation(p *Plan) Operation {
	f := d.expect("op")
	op := Operation{TimeNS: f.number("time", 64), Transaction: int(f.number("transaction", 16))}
	if op.Transaction >= len(p.Transactions) {
		d.fail("transaction %d is not in the plan", op.Transaction)
	}
	for f.more {
		op.Args = append(op.Args, d.value(p, f.raw("value")))
	}
	t := &p.Transactions[op.Transaction]
	if needed := t.Arguments(); needed != len(op.Args) {
		d.fail("`%s` takes %d arguments, found %d", t.Name, needed, len(op.Args))
	}
	return op
}
