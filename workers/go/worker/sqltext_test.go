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
		s := (&Driver{}).statement(c.sql)
		if s.Returns != c.returns || s.Changes != c.changes || s.Params != c.params {
			t.Errorf("%s: returns %v, changes %v, %d placeholders", c.sql, s.Returns, s.Changes, s.Params)
		}
	}
}

func TestRowsOfAnUpsertAreCounted(t *testing.T) {
	for sql, rows := range map[string]int64{
		"INSERT INTO t (a, b) VALUES (?, f(?)) ON DUPLICATE KEY UPDATE b = VALUES(b)":  1,
		"INSERT INTO t VALUES (1, (2)), (3, 4),(5, 6) ON DUPLICATE KEY UPDATE a = (7)": 3,
		"REPLACE INTO t (a) VALUES (?)":                                                1,
		"INSERT INTO t (a) VALUES (?), (?)":                                            0,
		"INSERT INTO t SELECT (a) FROM u ON DUPLICATE KEY UPDATE a = 1":                0,
	} {
		if s := (&Driver{Server: true}).statement(sql); s.Upserts != rows {
			t.Errorf("%s: %d rows", sql, s.Upserts)
		}
	}
	if s := (&Driver{Server: true}).statement("SELECT a[$1] FROM t WHERE b = $2"); s.Params != 2 {
		t.Errorf("%d placeholders around brackets", s.Params)
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
