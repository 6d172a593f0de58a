package main

import (
	"io"
	"slices"
	"testing"
)

func TestLoadsAreInsertsWithManyRows(t *testing.T) {
	rows := [][]any{{int64(-1), nil, "it's \\"}, {0.1, []byte{0, 255}, ""}}
	next := func() ([]any, error) {
		if len(rows) == 0 {
			return nil, io.EOF
		}
		row := rows[0]
		rows = rows[1:]
		return row, nil
	}
	sent := ""
	l := &loading{open: "INSERT INTO t (a, b, c) VALUES ", group: []string{"(", ", ", ", upper(", "))"}, run: func(sql string) error {
		sent += sql
		return nil
	}}
	count, err := l.all(next)
	expected := "INSERT INTO t (a, b, c) VALUES (-1, NULL, upper(_utf8mb4 X'69742773205c')),(1e-01, X'00ff', upper(_utf8mb4 X''))"
	if count != 2 || err != nil || sent != expected {
		t.Errorf("%d %v %s", count, err, sent)
	}
	if err := l.row([]any{int64(1)}); err == nil {
		t.Error("a row with too few values")
	}
}

func TestTheGreetingTellsTheConnectionsNumber(t *testing.T) {
	packet := append([]byte("\x4a\x00\x00\x00\x0a11.4.2-MariaDB\x00"), 0x39, 0x30, 0, 0, 'a', 'b')
	if id, told := connectionID(packet); !told || id != 12345 {
		t.Errorf("%d %v", id, told)
	}
	for cut := range len(packet) - 2 {
		if id, told := connectionID(packet[:cut]); told {
			t.Errorf("%d of %d bytes", id, cut)
		}
	}
	if _, told := connectionID([]byte("\x17\x00\x00\x00\xff\x10\x04Too many connections\x00\x01\x02\x03\x04")); told {
		t.Error("a refusal has no number")
	}
}

func TestWhatIsInterruptedAtTheEndOfTheDrain(t *testing.T) {
	d := library()
	for number, cut := range map[uint32]bool{1317: true, 2013: true, 1927: true, 1205: false, 2003: false} {
		if slices.Contains(append(d.Cut, d.Interrupted), errno(number)) != cut {
			t.Errorf("%d", number)
		}
	}
}

func TestKindsOfColumns(t *testing.T) {
	for name, expected := range map[string]kind{
		"VARCHAR": isText, "LONGTEXT": isText, "ENUM": isText, "JSON": isText, "LONGBLOB": isBytes, "VARBINARY": isBytes,
		"DECIMAL": isNumber,
	} {
		if found := kindOf(name); found != expected {
			t.Errorf("%s: %d", name, found)
		}
	}
	for text, expected := range map[string]any{"3": int64(3), "-7.50": -7.5, "18446744073709551615": 18446744073709551615.0} {
		if found, err := number(text); err != nil || found != expected {
			t.Errorf("%s: %v, %v", text, found, err)
		}
	}
}
