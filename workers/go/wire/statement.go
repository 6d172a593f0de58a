package wire

import "strings"

// Statement is a statement with what the tool says of it.
type Statement struct {
	SQL              string
	Returns, Changes bool
	// Upserts is how many rows of values it has, if it replaces or changes those that are there already.
	Upserts int64
	Params  int
	// Places are the first bytes of its placeholders.
	Places []int
	// Group is the first byte of the values of a row, in a load; -1: there is none.
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

// Parts are the texts between the placeholders `?`, from this byte on: one more than there are placeholders.
func (s *Statement) Parts(from int) (parts []string) {
	for _, at := range s.Places {
		parts = append(parts, s.SQL[from:at])
		from = at + 1
	}
	return append(parts, s.SQL[from:])
}
