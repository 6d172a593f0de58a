package main

import (
	"database/sql/driver"
	"encoding/hex"
	"io"
	"math"
	"strconv"
	"strings"

	"contend/workers/wire"
	"contend/workers/worker"
)

// rows converts values to SQLite's types: texts are distinguished from bytes, and a decimal number is an integer if
// it has no fraction, else a real.
type rows struct {
	driver.Rows
	kinds []kind
}

type kind byte

const (
	unknown kind = iota
	isText
	isBytes
	isNumber
)

func (r *rows) kind(column int) kind {
	if r.kinds == nil {
		r.kinds = make([]kind, len(r.Columns()))
	}
	if r.kinds[column] == unknown {
		r.kinds[column] = kindOf(r.Rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(column))
	}
	return r.kinds[column]
}

func kindOf(name string) kind {
	switch {
	case name == "DECIMAL":
		return isNumber
	case strings.HasSuffix(name, "BLOB") || strings.HasSuffix(name, "BINARY") || name == "BIT" || name == "GEOMETRY":
		return isBytes
	}
	return isText
}

// Next reads a row.
func (r *rows) Next(values []driver.Value) error {
	if err := r.Rows.Next(values); err != nil {
		return err
	}
	for i, value := range values {
		switch v := value.(type) {
		case []byte:
			switch r.kind(i) {
			case isText:
				values[i] = string(v)
			case isNumber:
				number, err := number(string(v))
				if err != nil {
					return err
				}
				values[i] = number
			}
		case string:
			// Decimal numbers arrive as text if statements are not prepared.
			if r.kind(i) == isNumber {
				number, err := number(v)
				if err != nil {
					return err
				}
				values[i] = number
			}
		case uint64:
			if values[i] = float64(v); v <= math.MaxInt64 {
				values[i] = int64(v)
			}
		case float32:
			values[i] = float64(v)
		}
	}
	return nil
}

// number parses a DECIMAL, which has all digits after the point: without a fraction it is an integer.
func number(text string) (driver.Value, error) {
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
		return whole, nil
	}
	return strconv.ParseFloat(text, 64)
}

// chunk is the approximate size of one INSERT, far below the smallest packet limit in use (16 MiB).
const chunk = 1 << 20

// load inserts the rows of a script in one transaction, many per statement.
func load(conn worker.Conn, statement wire.Statement, next func() ([]any, error)) (count int, err error) {
	if statement.Group < 0 {
		return 0, worker.WrongValue("a `load` is an INSERT ... VALUES (?, ...)")
	}
	run := func(sql string) error {
		_, err := conn.Run(&worker.Statement{Statement: wire.Statement{SQL: sql}, Index: -1}, nil, nil)
		return err
	}
	if err := run("BEGIN"); err != nil {
		return 0, err
	}
	l := &loading{open: statement.SQL[:statement.Group], group: statement.Parts(statement.Group), run: run}
	if count, err = l.all(next); err != nil {
		_ = run("ROLLBACK")
		return 0, err
	}
	return count, run("COMMIT")
}

type loading struct {
	open  string
	group []string
	run   func(string) error
	text  []byte
}

func (l *loading) all(next func() ([]any, error)) (count int, err error) {
	for {
		row, err := next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return count, err
		}
		if err := l.row(row); err != nil {
			return count, err
		}
		count++
		if len(l.text) >= chunk {
			if err := l.flush(); err != nil {
				return count, err
			}
		}
	}
	return count, l.flush()
}

func (l *loading) flush() error {
	if len(l.text) == 0 {
		return nil
	}
	err := l.run(string(l.text))
	l.text = l.text[:0]
	return err
}

func (l *loading) row(row []any) error {
	if len(row) != len(l.group)-1 {
		return worker.WrongValue("%d values for the %d placeholders of `load`", len(row), len(l.group)-1)
	}
	if len(l.text) == 0 {
		l.text = append(l.text, l.open...)
	} else {
		l.text = append(l.text, ',')
	}
	l.text = append(l.text, l.group[0]...)
	for i, value := range row {
		l.text = append(appendLiteral(l.text, value), l.group[i+1]...)
	}
	return nil
}

// appendLiteral writes a value that does not depend on the session's settings for quotes and backslashes: texts and
// bytes in hexadecimal. A real has an exponent; without one it would be a decimal number.
func appendLiteral(out []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(out, "NULL"...)
	case int64:
		return strconv.AppendInt(out, v, 10)
	case float64:
		return strconv.AppendFloat(out, v, 'e', -1, 64)
	case string:
		return append(hex.AppendEncode(append(out, "_utf8mb4 X'"...), []byte(v)), '\'')
	case []byte:
		return append(hex.AppendEncode(append(out, "X'"...), v), '\'')
	}
	return out
}
