package main

import (
	"io"
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
	open, group, ok := groupOf("INSERT INTO t (a, b, c) VALUES (?, ?, upper(?))")
	sent := ""
	l := &loading{open: open, group: group, run: func(sql string) error {
		sent += sql
		return nil
	}}
	count, err := l.all(next)
	expected := "INSERT INTO t (a, b, c) VALUES (-1, NULL, upper(_utf8mb4 X'69742773205c')),(1e-01, X'00ff', upper(_utf8mb4 X''))"
	if !ok || count != 2 || err != nil || sent != expected {
		t.Errorf("%d %v %s", count, err, sent)
	}
	if err := l.row([]any{int64(1)}); err == nil {
		t.Error("a row with too few values")
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
