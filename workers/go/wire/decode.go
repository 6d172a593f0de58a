package wire

import (
	"fmt"
	"hash/crc32"
	"runtime"
	"strconv"
	"strings"
)

// opened returns the text before its last line, which has the digest that the tool computed after its checks.
func opened(kind, text string) (string, error) {
	at := strings.LastIndex(text, "\nend\t")
	if at < 0 || strings.IndexByte(text[at+1:], '\n') != len(text)-at-2 {
		return "", fmt.Errorf("%s: cut off: its last line is not `end` with a digest", kind)
	}
	body, said := text[:at+1], text[at+5:len(text)-1]
	if found := Digest(body); found != said {
		return "", fmt.Errorf("%s: changed after contend had checked it: its last line has the digest `%s`, the text before it %s", kind, crop(said), found)
	}
	return body, nil
}

// Digest returns the digest of a text, as in its last line.
func Digest(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

// Sealed returns a text whose last line is a bare `end` with its digest added, as the tool writes it.
func Sealed(text string) string {
	body := strings.TrimSuffix(text, "end\n")
	return body + "end\t" + Digest(body) + "\n"
}

// caught converts a panic while a line was read into an error.
func caught(err *error, format string, line *int) {
	switch raised := recover().(type) {
	case nil:
	case runtime.Error:
		*err = fmt.Errorf("%s line %d: a field is missing: %w", format, *line, raised)
	case error:
		*err = fmt.Errorf("%s line %d: %w", format, *line, raised)
	default:
		panic(raised)
	}
}

// ParsePlan parses a plan. The tool has checked it, and the digest shows that it is unchanged, so its content is not
// checked again; an error is something that this worker cannot do.
func ParsePlan(text string) (plan *Plan, err error) {
	first, _, _ := strings.Cut(text, "\n")
	if err := checkVersion("contend-plan", planVersion, first); err != nil {
		return nil, fmt.Errorf("plan line 1: %w", err)
	}
	body, err := opened("plan", text)
	if err != nil {
		return nil, err
	}
	plan, at := &Plan{RetryCodes: map[Code]bool{}}, 1
	defer caught(&err, "plan", &at)
	_, rest, _ := strings.Cut(body, "\n")
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		at++
		plan.line(strings.Split(line, "\t"))
	}
	return plan, nil
}

func (p *Plan) line(f []string) {
	switch f[0] {
	case "op":
		p.operation(f)
	case "client":
		p.Clients = append(p.Clients, Client{
			ID: uint32(number(f[1])), Database: int(number(f[2])), Open: f[3] == "open", Cyclic: f[4] == "cyclic",
			Limit: uint32(number(f[5])), StartNS: number(f[6]), Operations: make([]Operation, 0, number(f[7])),
		})
	case "clients":
	case "step":
		t := &p.Transactions[len(p.Transactions)-1]
		t.Steps = append(t.Steps, p.step(t, f[1:]))
	case "transaction":
		t := Transaction{Name: unescape(f[2]), Writes: f[3] == "write", Uniques: int(number(f[5])), Slots: int(number(f[6]))}
		if f[4] != "-" {
			t.Begin = unescape(f[4])
		}
		p.Transactions = append(p.Transactions, t)
	case "retry":
		p.retry(f)
	default:
		p.setting(f)
	}
}

func (p *Plan) setting(f []string) {
	switch f[0] {
	case "worker":
		p.Worker = uint32(number(f[1]))
	case "driver":
		p.Driver, p.Model = unescape(f[1]), unescape(f[2])
	case "connections":
		p.Shared = f[1] == "database"
	case "window":
		p.RunIn, p.Length, p.Drain = number(f[1]), number(f[2]), number(f[3])
	case "now":
		if p.NowFixed = f[1] == "fixed"; p.NowFixed {
			p.NowBase, p.NowStep = number(f[2]), number(f[3])
		}
	case "option":
		p.Options = append(p.Options, Pair{unescape(f[1]), unescape(f[2])})
	case "database":
		p.Databases = append(p.Databases, DatabaseOf(f[1:]))
	case "session":
		p.Session = append(p.Session, unescape(f[2]))
	case "readback":
		p.Readbacks = append(p.Readbacks, Pair{unescape(f[1]), unescape(f[2])})
	case "statement":
		p.Statements = append(p.Statements, parseStatement(f[2], f[3], f[4]))
	case "text":
		p.Texts = append(p.Texts, unescape(f[2]))
	default:
		panic(fmt.Errorf("`%s` is a line of plans over HTTP, which databases know nothing of", crop(f[0])))
	}
}

func (p *Plan) step(t *Transaction, f []string) Step {
	switch f[0] {
	case "hold":
		return Step{Kind: StepHold, NS: number(f[1])}
	case "pause":
		return Step{Kind: StepPause, NS: number(f[1])}
	case "connect":
		return Step{Kind: StepConnect}
	case "sql":
	default:
		panic(fmt.Errorf("`%s` sends HTTP requests, which only the driver http does", t.Name))
	}
	low, high, _ := strings.Cut(f[2], "..")
	s := Step{Kind: StepSQL, Statement: int(number(f[1])), RowsMin: uint32(number(low)), RowsMax: AnyRows, Repeat: int(number(f[3]))}
	if high != "*" {
		s.RowsMax = uint32(number(high))
	}
	for _, item := range items(f[4]) {
		n := strings.Split(item, ":")
		s.Keep = append(s.Keep, Keep{int(number(n[0])), int(number(n[1])), int(number(n[2]))})
	}
	for _, field := range f[5:] {
		s.Args = append(s.Args, p.source(field))
	}
	return s
}

func (p *Plan) source(field string) Source {
	kinds := map[byte]SourceKind{'p': SourceArgument, 'k': SourceKept, 'K': SourceKeptRow, 'u': SourceUnique, 'c': SourceNow}
	kind, ok := kinds[field[0]]
	if !ok {
		return Source{Value: p.value(field)}
	}
	a, b, pair := strings.Cut(field[1:], "+")
	if !pair {
		a, b = "0", a
	}
	second, err := strconv.ParseInt(b, 10, 64)
	if err != nil {
		panic(err)
	}
	return Source{Kind: kind, A: int(number(a)), B: second}
}

// value parses a value; references to the table of texts are replaced at once.
func (p *Plan) value(field string) any {
	value, err := ParseValue(field)
	if err != nil {
		panic(err)
	}
	if ref, ok := value.(TextRef); ok {
		return p.Texts[ref]
	}
	return value
}

func (p *Plan) retry(f []string) {
	p.Tries = uint16(number(f[1]))
	for _, item := range items(f[2]) {
		p.BackoffNS = append(p.BackoffNS, number(item))
	}
	for _, item := range items(f[3]) {
		p.JitterPermille = append(p.JitterPermille, uint16(number(item)))
	}
	for _, item := range items(f[4]) {
		word, code, _ := strings.Cut(item, ":")
		p.RetryCodes[Code{byte(spaceOf(word)), uint32(number(code))}] = true
	}
}

func (p *Plan) operation(f []string) {
	op := Operation{TimeNS: number(f[1]), Transaction: int(number(f[2]))}
	if len(f) > 3 {
		op.Args = make([]any, len(f)-3)
		for i, field := range f[3:] {
			op.Args[i] = p.value(field)
		}
	}
	c := &p.Clients[len(p.Clients)-1]
	c.Operations = append(c.Operations, op)
}

func number(field string) uint64 {
	n, err := strconv.ParseUint(field, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func unescape(field string) string {
	text, err := Unescape(field)
	if err != nil {
		panic(err)
	}
	return text
}

func unescaped(fields []string) []string {
	texts := make([]string, len(fields))
	for i, field := range fields {
		texts[i] = unescape(field)
	}
	return texts
}

// items returns the items of a list; `-` is the empty list.
func items(field string) []string {
	if field == "-" {
		return nil
	}
	return strings.Split(field, ",")
}
