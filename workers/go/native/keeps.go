package native

import (
	"errors"
	"fmt"
)

// manyStatements are more than any program has.
const manyStatements = 500

// keeps is how many statements a connection keeps by itself: of very many, it still has the first, or it tells how many.
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
		return "", fmt.Errorf("it keeps fewer than %d statements, which this worker does not know", manyStatements)
	}
	return "unlimited", err
}

func numbered(i int) string { return fmt.Sprintf("SELECT %d", i) }
