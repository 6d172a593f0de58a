package wire

import (
	"reflect"
	"strings"
	"testing"
)

func TestAStatementIsWhatIsSaidOfIt(t *testing.T) {
	for _, of := range []struct {
		effect, placeholders, sql string
		said                      Statement
		parts                     []string
	}{
		{"-", "-", "BEGIN", Statement{}, []string{"BEGIN"}},
		{"rows", "11,16", "SELECT é, ? + ?", Statement{Returns: true, Params: 2}, nil},
		{"rows,changes", "7:2,11:1,15:2", "SELECT $2, $1, $2", Statement{Returns: true, Changes: true, Params: 2}, nil},
		{"changes,upserts=2", "23,28", "REPLACE INTO t VALUES (?), (?)", Statement{Changes: true, Upserts: 2, Params: 2},
			[]string{"REPLACE INTO t VALUES (", "), (", ")"}},
	} {
		s := parseStatement(of.effect, of.placeholders, of.sql)
		found := Statement{Returns: s.Returns, Changes: s.Changes, Upserts: s.Upserts, Params: s.Params}
		if !reflect.DeepEqual(found, of.said) || s.Group != -1 {
			t.Errorf("%s: %+v", of.sql, s)
		}
		if of.parts != nil && !reflect.DeepEqual(s.Parts(0), of.parts) {
			t.Errorf("%s: %q", of.sql, s.Parts(0))
		}
	}
	load := parseLoad("21", "22,25", "INSERT INTO t VALUES (?, ?)")
	if parts := load.Parts(load.Group); !reflect.DeepEqual(parts, []string{"(", ", ", ")"}) {
		t.Errorf("%q", parts)
	}
}

func TestADatabaseHasItsAddressInFields(t *testing.T) {
	at := DatabaseOf([]string{"tcp", "::1", "5433", "me", `d\t`, "-"})
	if password, err := at.Password(); at.Host != "::1" || at.Port != 5433 || at.User != "me" || at.Name != "d\t" || password != "" || err != nil {
		t.Errorf("%+v %v", at, err)
	}
	for _, found := range []string{"env:CONTEND_NOT_SET", "file:/no/pw"} {
		_, where, _ := strings.Cut(found, ":")
		if _, err := DatabaseOf([]string{"socket", "/s", "me", "d", found}).Password(); err == nil || !strings.Contains(err.Error(), where) {
			t.Errorf("%s: %v", found, err)
		}
	}
}

func TestWhatIsCutOrChangedIsRefused(t *testing.T) {
	whole := Sealed("contend-plan 3\nworker\t0\nend\n")
	if body, err := opened("plan", whole); body != "contend-plan 3\nworker\t0\n" || err != nil {
		t.Errorf("%q %v", body, err)
	}
	for text, words := range map[string]string{
		whole[:len(whole)-1]:                    "cut off",
		"contend-plan 3\nend\n":                 "cut off",
		whole + "x\n":                           "cut off",
		strings.Replace(whole, "\t0", "\t1", 1): "changed after",
	} {
		if _, err := ParsePlan(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
