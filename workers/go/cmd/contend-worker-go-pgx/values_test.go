package main

import (
	"bytes"
	"io"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

func TestValuesSuitTheServersTypes(t *testing.T) {
	for _, c := range []struct {
		value any
		oid   uint32
		sent  any
	}{
		{int64(-2), pgtype.Int8OID, int64(-2)},
		{int64(7), pgtype.Int4OID, int32(7)},
		{int64(1 << 40), pgtype.Int4OID, "1099511627776"},
		{int64(7), pgtype.TextOID, "7"},
		{int64(2), pgtype.BoolOID, true},
		{int64(3), pgtype.Float8OID, 3.0},
		{int64(3), pgtype.NumericOID, "3"},
		{0.5, pgtype.Float8OID, 0.5},
		{3.0, pgtype.Int8OID, "3"},
		{0.5, pgtype.Int8OID, "0.5"},
		{[]byte{0, 255}, pgtype.ByteaOID, []byte{0, 255}},
		{[]byte{0, 255}, pgtype.TextOID, `\x00ff`},
		{"é", pgtype.TextOID, "é"},
		{nil, pgtype.TextOID, nil},
	} {
		if sent := suited(c.value, c.oid); !reflect.DeepEqual(sent, c.sent) {
			t.Errorf("%v for %d: %#v", c.value, c.oid, sent)
		}
	}
}

func TestDecimalNumbersBecomeIntegersOrReals(t *testing.T) {
	for _, c := range []struct {
		digits   int64
		exponent int32
		value    any
	}{{12, 4, int64(120000)}, {125, -2, 1.25}, {200, -2, 2.0}, {0, 0, int64(0)}, {-3, 0, int64(-3)}, {1, 25, 1e25}} {
		value, err := number(&pgtype.Numeric{Int: big.NewInt(c.digits), Exp: c.exponent, Valid: true})
		if err != nil || value != c.value {
			t.Errorf("%d e %d: %#v, %v", c.digits, c.exponent, value, err)
		}
	}
	if _, err := number(&pgtype.Numeric{NaN: true, Valid: true}); err == nil {
		t.Error("not a number is no value")
	}
}

func TestRowsAreCopiedAsText(t *testing.T) {
	rows := [][]any{{int64(1), nil, "a\t\\b\n"}, {0.1, []byte{0, 255}, ""}}
	next := func() ([]any, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row := rows[0]
		rows = rows[1:]
		return row, nil
	}
	var text bytes.Buffer
	if _, err := io.Copy(&text, &copied{next: next}); err != nil || text.String() != "1\t\\N\ta\\t\\\\b\\n\n0.1\t\\\\x00ff\t\n" {
		t.Errorf("%q, %v", text.String(), err)
	}
	c := &copied{next: func() ([]any, error) { return []any{"nul\x00"}, nil }}
	if _, err := io.Copy(io.Discard, c); err == nil || !strings.Contains(err.Error(), "NUL") {
		t.Errorf("%v", err)
	}
}
