package wire

import "strings"

// Statement is a statement with its description by the tool.
type Statement struct {
	SQL              string
	Returns, Changes bool
	// Upserts is the number of rows of values, if it replaces or updates existing rows.
	Upserts int64
	Params  int
	// Places are the byte offsets of its placeholders.
	Places []int
	// Group is the byte offset of a row's values in a load; -1: none.
	Group int
}

func parseStatement(effect, placeholders, sql string) Statement {
	s := Statement{SQL: unescape(sql), Group: -1}
	for _, word := range items(effect) {
		switch kind, rows, _ := strings.Cut(word, "="); kind {
		case "rows":
			s.Returns = true
		case "changes":
			s.Changes = true
		case "upserts":
			s.Upserts = int64(number(rows))
		}
	}
	for _, item := range items(placeholders) {
		at, numbered, ok := strings.Cut(item, ":")
		s.Places = append(s.Places, int(number(at)))
		if ok {
			s.Params = max(s.Params, int(number(numbered)))
		} else {
			s.Params++
		}
	}
	return s
}

func parseLoad(group, placeholders, sql string) Statement {
	s := parseStatement("changes", placeholders, sql)
	if group != "-" {
		s.Group = int(number(group))
	}
	return s
}

// Parts returns the texts between the placeholders `?`, from this byte on: one more than there are placeholders.
func (s *Statement) Parts(from int) (parts []string) {
	for _, at := range s.Places {
		parts = append(parts, s.SQL[from:at])
		from = at + 1
	}
	return append(parts, s.SQL[from:])
}
