package main

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"contend/workers/wire"
	"contend/workers/worker"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// asText returns a value as the server would read it in a literal; NULL, texts and bytes are returned unchanged.
func asText(value any) (string, bool) {
	switch v := value.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), true
	}
	return "", false
}

// suited returns a value for a parameter of a type: unchanged if the library can send it in binary form, else as
// text, which the server converts like a literal.
func suited(value any, oid uint32) any {
	switch v := value.(type) {
	case int64:
		switch oid {
		case pgtype.Int8OID:
			return v
		case pgtype.Int4OID:
			if v == int64(int32(v)) {
				return int32(v)
			}
		case pgtype.Int2OID:
			if v == int64(int16(v)) {
				return int16(v)
			}
		case pgtype.Float8OID:
			return float64(v)
		case pgtype.BoolOID:
			return v != 0
		}
	case float64:
		switch oid {
		case pgtype.Float8OID:
			return v
		case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID:
			// An integer for an integer column: SQLite would store it as one too.
			if v == math.Trunc(v) && math.Abs(v) < 9e15 {
				return strconv.FormatInt(int64(v), 10)
			}
		}
	case []byte:
		if oid != pgtype.ByteaOID {
			return `\x` + hex.EncodeToString(v)
		}
		return v
	default:
		return v
	}
	text, _ := asText(value)
	return text
}

// result is the destination of rows with certain columns, as in a program that knows its tables: a variable of the
// right type for each column.
type result struct {
	targets []any
}

func newResult(fields []pgconn.FieldDescription) *result {
	r := &result{}
	for _, field := range fields {
		r.targets = append(r.targets, target(field.DataTypeOID))
	}
	return r
}

func target(oid uint32) any {
	switch oid {
	case pgtype.Int8OID, pgtype.Int4OID, pgtype.Int2OID:
		return new(pgtype.Int8)
	case pgtype.OIDOID:
		return new(pgtype.Uint32)
	case pgtype.BoolOID:
		return new(pgtype.Bool)
	case pgtype.Float8OID, pgtype.Float4OID:
		return new(pgtype.Float8)
	case pgtype.NumericOID:
		return new(pgtype.Numeric)
	case pgtype.ByteaOID:
		return new([]byte)
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.NameOID, pgtype.UnknownOID, pgtype.QCharOID, pgtype.JSONOID:
		return new(pgtype.Text)
	}
	return nil // the library skips it
}

// voidOID is the result type of a function without a result.
const voidOID = 2278

// values returns the row in SQLite's types: a boolean is 0 or 1, a decimal number an integer if it has no fraction,
// else a real. A value without a counterpart is an error only if it is used.
func (r *result) values(values []any, fields []pgconn.FieldDescription, raw [][]byte) ([]any, error) {
	for i, target := range r.targets {
		value, err := plain(target)
		switch t := target.(type) {
		case nil:
			if fields[i].DataTypeOID != voidOID && raw[i] != nil {
				value = worker.Foreign{Type: fmt.Sprintf("with number %d", fields[i].DataTypeOID)}
			}
		case *pgtype.Numeric:
			if zero(t) && hasFraction(raw[i], fields[i].Format) {
				value = 0.0
			}
		}
		if err != nil {
			return values, err
		}
		values = append(values, value)
	}
	return values, nil
}

func zero(n *pgtype.Numeric) bool { return n.Valid && n.Int != nil && n.Int.Sign() == 0 && n.Exp == 0 }

// hasFraction finds digits after the point of a decimal number as sent by the server; the library drops those of a
// zero.
func hasFraction(raw []byte, format int16) bool {
	if format == pgtype.TextFormatCode {
		return bytes.IndexByte(raw, '.') >= 0
	}
	const scaleAt = 6 // after the count of digits, the weight and the sign, two bytes each
	return len(raw) >= scaleAt+2 && binary.BigEndian.Uint16(raw[scaleAt:]) > 0
}

func plain(target any) (any, error) {
	switch t := target.(type) {
	case *pgtype.Int8:
		if t.Valid {
			return t.Int64, nil
		}
	case *pgtype.Uint32:
		if t.Valid {
			return int64(t.Uint32), nil
		}
	case *pgtype.Bool:
		if t.Valid && t.Bool {
			return int64(1), nil
		} else if t.Valid {
			return int64(0), nil
		}
	case *pgtype.Float8:
		if t.Valid {
			return t.Float64, nil
		}
	case *pgtype.Numeric:
		return number(t)
	case *[]byte:
		if *t != nil {
			return *t, nil
		}
	case *pgtype.Text:
		if t.Valid {
			return t.String, nil
		}
	}
	return nil, nil
}

func number(n *pgtype.Numeric) (any, error) {
	if !n.Valid {
		return nil, nil
	}
	if n.NaN || n.InfinityModifier != pgtype.Finite {
		return worker.Foreign{Type: "NUMERIC that is not finite"}, nil
	}
	if n.Exp >= 0 {
		if whole, err := n.Int64Value(); err == nil {
			return whole.Int64, nil
		}
	}
	real, err := n.Float64Value()
	return real.Float64, err
}

// copied is a reader that produces rows in the text format of COPY.
type copied struct {
	next  func() ([]any, error)
	text  []byte
	at    int
	ended bool
	wrong error
}

// chunk is the number of bytes produced at a time.
const chunk = 1 << 16

func (c *copied) Read(into []byte) (int, error) {
	if c.at == len(c.text) {
		c.text, c.at = c.text[:0], 0
		for len(c.text) < chunk && !c.ended {
			row, err := c.next()
			if err != nil {
				c.ended = true
			} else if c.wrong = c.row(row); c.wrong != nil {
				return 0, c.wrong
			}
		}
		if len(c.text) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(into, c.text[c.at:])
	c.at += n
	return n, nil
}

func (c *copied) row(row []any) error {
	for i, value := range row {
		if i > 0 {
			c.text = append(c.text, '\t')
		}
		switch v := value.(type) {
		case nil:
			c.text = append(c.text, `\N`...)
		case string:
			if strings.IndexByte(v, 0) >= 0 {
				return worker.WrongValue("a text with a NUL character, which PostgreSQL cannot store")
			}
			// The escapes of a script are those of COPY, except for NUL.
			c.text = append(c.text, wire.Escape(v)...)
		case []byte:
			c.text = hex.AppendEncode(append(c.text, `\\x`...), v)
		default:
			text, _ := asText(v)
			c.text = append(c.text, text...)
		}
	}
	c.text = append(c.text, '\n')
	return nil
}
