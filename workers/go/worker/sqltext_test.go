package worker

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"contend/workers/wire"
)

// The table is that of all workers which look into the text of a statement.
func TestWhatAStatementIsFollowsFromItsText(t *testing.T) {
	table, err := os.ReadFile("../../../conformance/statements.tsv")
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for line := range strings.Lines(string(table)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 6 {
			continue
		}
		sql, err := wire.Unescape(fields[5])
		if err != nil {
			t.Fatal(err)
		}
		for dialect, server := range map[string]bool{"sqlite": false, "server": true} {
			if fields[0] != "any" && fields[0] != dialect {
				continue
			}
			s := (&Driver{Server: server}).statement(sql)
			bit := map[bool]int{true: 1}
			found := fmt.Sprintf("%d\t%d\t%d\t%d", s.Params, bit[s.Returns], bit[s.Changes], s.Upserts)
			if expected := strings.Join(fields[1:5], "\t"); found != expected {
				t.Errorf("%s: %s: found %s, expected %s", dialect, sql, found, expected)
			}
			tested++
		}
	}
	if tested < 40 {
		t.Errorf("only %d lines were found", tested)
	}
	if s := (&Driver{}).statement(""); s.Returns || s.Changes || s.Params > 0 {
		t.Error("an empty text does nothing")
	}
}

func TestNumbersAreAddedWithinTheirType(t *testing.T) {
	const most = 1<<63 - 1
	for _, c := range []struct {
		value any
		plus  int64
		sum   any
		fails bool
	}{
		{int64(most), 1, nil, true},
		{int64(most), -1, int64(most - 1), false},
		{int64(-most - 1), -1, nil, true},
		{nil, 5, nil, false},
		{0.5, 2, 2.5, false},
		{"text", 0, "text", false},
		{"text", 1, nil, true},
	} {
		sum, err := add(c.value, c.plus)
		if (err != nil) != c.fails || sum != c.sum {
			t.Errorf("%v + %d: %v, %v", c.value, c.plus, sum, err)
		}
	}
}
