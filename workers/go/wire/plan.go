package wire

import "math"

const (
	planVersion = 3
	// AnyRows is an upper bound that means "no limit".
	AnyRows = math.MaxUint32
	// UniqueStride is the distance between the unique numbers of two clients.
	UniqueStride = int64(1) << 40
)

// Plan is everything that one worker needs. Durations and times are in nanoseconds.
type Plan struct {
	Worker               uint32
	Driver, Model        string
	Shared               bool // the clients of one database share connections
	RunIn, Length, Drain uint64
	NowFixed             bool
	NowBase, NowStep     uint64
	Options              []Pair
	Databases            []Database
	Session              []string
	Readbacks            []Pair
	Statements           []Statement
	Texts                []string
	Transactions         []Transaction
	Tries                uint16
	BackoffNS            []uint64
	JitterPermille       []uint16
	RetryCodes           map[Code]bool
	Clients              []Client
}

// Pair is a name with a text.
type Pair struct{ Name, Text string }

// Code is an engine's code with its code space.
type Code struct {
	Space  byte
	Number uint32
}

// Transaction is a named sequence of steps; Begin is empty if every statement commits by itself.
type Transaction struct {
	Name           string
	Writes         bool
	Begin          string
	Uniques, Slots int
	Steps          []Step
}

// StepKind is the kind of a step.
type StepKind byte

// The kinds of steps.
const (
	StepSQL StepKind = iota
	StepHold
	StepPause
	StepConnect
)

// Step is one step; the fields from Statement on are of StepSQL.
type Step struct {
	Kind             StepKind
	NS               uint64
	Statement        int
	RowsMin, RowsMax uint32
	Repeat           int
	Keep             []Keep
	Args             []Source
}

// Keep: the first Rows rows of a column are stored in a slot.
type Keep struct{ Slot, Column, Rows int }

// SourceKind is the kind of source of a placeholder's value.
type SourceKind byte

// The sources: a literal, argument A+B*repetition, slot A plus B, row B of slot A, unique number
// A+B*repetition, the time in units of B ns.
const (
	SourceLiteral SourceKind = iota
	SourceArgument
	SourceKept
	SourceKeptRow
	SourceUnique
	SourceNow
)

// Source is the source of a placeholder's value.
type Source struct {
	Kind  SourceKind
	Value any
	A     int
	B     int64
}

// Client is one client and its operations.
type Client struct {
	ID           uint32
	Database     int
	Open, Cyclic bool
	Limit        uint32
	StartNS      uint64
	Operations   []Operation
}

// Operation is one drawn instance of a transaction.
type Operation struct {
	TimeNS      uint64
	Transaction int
	Args        []any
}

// EndNS is the offset from the start after which no operation begins.
func (p *Plan) EndNS() uint64 {
	if p.Length == 0 {
		return math.MaxUint64
	}
	return saturatingAdd(p.RunIn, p.Length)
}

func saturatingAdd(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// Arguments is the number of arguments of the transaction's operations.
func (t *Transaction) Arguments() int {
	needed := 0
	for _, step := range t.Steps {
		for _, source := range step.Args {
			if source.Kind == SourceArgument {
				needed = max(needed, source.A+int(source.B)*(step.Repeat-1)+1)
			}
		}
	}
	return needed
}
