package wire

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// SampleBytes is the size of a sample.
const SampleBytes = 64

// NotMeasured marks a wait that the worker cannot measure.
const NotMeasured = math.MaxUint64

// Values of Sample.FailedStep that are not steps.
const (
	FailedNone   = 65535
	FailedBegin  = 65534
	FailedCommit = 65533
)

// Flags of a sample.
const (
	FlagLockTimeoutSpent = 1
	FlagInterrupted      = 2
)

// Code spaces.
const (
	SpaceOK = iota
	SpaceSQLite
	SpaceSQLState
	SpaceMySQL
	SpaceHTTP
	SpaceOS
	SpaceWorker
)

// Codes of the space `worker`.
const (
	CodeRows    = 1
	CodeNotKept = 2
	CodeValue   = 3
	CodeDriver  = 4
)

var spaces = []string{"ok", "sqlite", "sqlstate", "mysql", "http", "os", "worker"}

// SpaceWord returns the word for a code space.
func SpaceWord(space byte) string { return spaces[space] }

// SQLState returns the five characters of a code in that space, its digits in base 36.
func SQLState(number uint32) string {
	state := strings.ToUpper(strconv.FormatUint(uint64(number), 36))
	return strings.Repeat("0", max(5-len(state), 0)) + state
}

// SQLStateCode returns the number of five characters; false if they are not a SQLSTATE.
func SQLStateCode(state string) (uint32, bool) {
	number, err := strconv.ParseUint(state, 36, 32)
	return uint32(number), err == nil && len(state) == 5
}

func spaceOf(word string) int {
	for i, w := range spaces {
		if w == word {
			return i
		}
	}
	return -1
}

// Sample is the record of one attempt; docs/formats.md says what the fields mean.
type Sample struct {
	Client, Operation                     uint32
	Transaction, Attempt, FailedStep      uint16
	Space, Flags                          byte
	Code, Rows                            uint32
	Due, Started, Finished, Lock, Acquire uint64
}

// Append appends the 64 bytes of the sample.
func (s *Sample) Append(out []byte) []byte {
	le := binary.LittleEndian
	out = le.AppendUint32(out, s.Client)
	out = le.AppendUint32(out, s.Operation)
	out = le.AppendUint16(out, s.Transaction)
	out = le.AppendUint16(out, s.Attempt)
	out = le.AppendUint16(out, s.FailedStep)
	out = append(out, s.Space, s.Flags)
	out = le.AppendUint32(out, s.Code)
	out = le.AppendUint32(out, s.Rows)
	out = le.AppendUint64(out, s.Due)
	out = le.AppendUint64(out, s.Started)
	out = le.AppendUint64(out, s.Finished)
	out = le.AppendUint64(out, s.Lock)
	return le.AppendUint64(out, s.Acquire)
}
