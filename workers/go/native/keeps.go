package native

import (
	"errors"
	"fmt"
)

// manyStatements is more than any program has.
const manyStatements = 500

// keeps returns how many of very many statements a connection keeps by default: all, or their number.
func (l *Library[C, S]) keeps() (kept string, err error) {
	conn, err := l.Open(":memory:", false)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	first, err := conn.Prepare(numbered(0))
	for i := 1; i < manyStatements && err == nil; i++ {
		_, err = conn.Prepare(numbered(i))
	}
	if err != nil {
		return "", err
	}
	again, err := conn.Prepare(numbered(0))
	if err == nil && again != first {
		return "", fmt.Errorf("it keeps fewer than %d statements, which this worker does not support", manyStatements)
	}
	return "unlimited", err
}

func numbered(i int) string { return fmt.Sprintf("SELECT %d", i) }
