package worker

import "testing"

func TestWhatAStatementIsFollowsFromItsText(t *testing.T) {
	for _, c := range []struct {
		sql              string
		returns, changes bool
		params           int
	}{
		{"SELECT a FROM t WHERE b = ? AND c IN (?, ?)", true, false, 3},
		{"select '?' || \"?\" || [?] || `?` -- ?\n /* ? */ , ?", true, false, 1},
		{"INSERT INTO t VALUES (?, 'RETURNING')", false, true, 1},
		{"INSERT INTO t VALUES (?) RETURNING id", true, true, 1},
		{"WITH x AS (SELECT replace(a, 'b', ?) FROM t) SELECT * FROM x", true, false, 1},
		{"WITH x(a) AS (SELECT 1) INSERT INTO t SELECT a FROM x", false, true, 0},
		{"WITH x(a) AS (SELECT 1) UPDATE t SET a = ? RETURNING a", true, true, 1},
		{"REPLACE INTO t VALUES (?1, ?2, ?1)", false, true, 2},
		{"UPDATE t SET \"update\" = $2 WHERE a = $1", false, true, 2},
		{"  pragma journal_mode", true, false, 0},
		{"BEGIN IMMEDIATE", false, false, 0},
		{"CREATE TABLE t (returning_ INTEGER)", false, false, 0},
		{"VALUES (1), (2)", true, false, 0},
		{"", false, false, 0},
	} {
		s := newStatement(c.sql)
		if s.Returns != c.returns || s.Changes != c.changes || s.Params != c.params {
			t.Errorf("%s: returns %v, changes %v, %d placeholders", c.sql, s.Returns, s.Changes, s.Params)
		}
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
