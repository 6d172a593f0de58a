package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"contend/workers/worker"

	"github.com/jackc/pgx/v5/pgconn"
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
	if value, _ := number(&pgtype.Numeric{NaN: true, Valid: true}); !isForeign(value) {
		t.Error("not a number is no value")
	}
}

func isForeign(value any) bool {
	_, is := value.(worker.Foreign)
	return is
}

func TestAZeroKeepsItsDigitsBehindThePoint(t *testing.T) {
	numbers := pgtype.NewMap()
	for text, expected := range map[string]any{"0": int64(0), "0.00": 0.0, "0.0": 0.0, "100": int64(100), "1.0": 1.0} {
		for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
			raw := []byte(text)
			if format == pgtype.BinaryFormatCode {
				raw = inBinary(t, text)
			}
			field := []pgconn.FieldDescription{{DataTypeOID: pgtype.NumericOID, Format: format}}
			r := newResult(field)
			if err := numbers.Scan(pgtype.NumericOID, format, raw, r.targets[0]); err != nil {
				t.Fatal(err)
			}
			if values, err := r.values(nil, field, [][]byte{raw}); err != nil || values[0] != expected {
				t.Errorf("%s in format %d: %#v, %v", text, format, values, err)
			}
		}
	}
}

// inBinary is a number as sent by the server: the library itself would send a zero without digits after the point.
func inBinary(t *testing.T, text string) []byte {
	t.Helper()
	whole, fraction, _ := strings.Cut(text, ".")
	number, err := strconv.ParseUint(whole, 10, 16)
	if err != nil || strings.Trim(fraction, "0") != "" {
		t.Fatalf("%s is not one of the numbers this makes", text)
	}
	words := []uint16{0, 0, 0, uint16(len(fraction))}
	if number > 0 {
		words = append(words, uint16(number))
		words[0] = 1
	}
	var raw []byte
	for _, word := range words {
		raw = binary.BigEndian.AppendUint16(raw, word)
	}
	return raw
}

func TestAValueWithoutACounterpartMattersOnlyToWhoeverWantsIt(t *testing.T) {
	fields := []pgconn.FieldDescription{{DataTypeOID: pgtype.TimestamptzOID}, {DataTypeOID: pgtype.Int8OID}, {DataTypeOID: voidOID}}
	r := newResult(fields)
	r.targets[1].(*pgtype.Int8).Valid = true
	values, err := r.values(nil, fields, [][]byte{{1}, {2}, {}})
	if err != nil || !isForeign(values[0]) || values[1] != int64(0) || values[2] != nil {
		t.Errorf("%#v, %v", values, err)
	}
	if values, _ := r.values(nil, fields, [][]byte{nil, {2}, {}}); values[0] != nil {
		t.Errorf("NULL has no type: %#v", values)
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
