package worker

import "strings"

// newStatement learns from its text what a statement is: drivers do not tell before they execute it.
func newStatement(sql string) *Statement {
	s := &Statement{SQL: sql, Index: -1}
	var words []string
	scan(sql, func(word string) { words = append(words, word) }, func(number int) {
		if number == 0 {
			s.Params++
		} else {
			s.Params = max(s.Params, number)
		}
	})
	if len(words) == 0 {
		return s
	}
	changing := func(word string) bool {
		return word == "INSERT" || word == "UPDATE" || word == "DELETE" || word == "REPLACE"
	}
	first := words[0]
	s.Changes = changing(first)
	if first == "WITH" {
		for _, word := range words {
			s.Changes = s.Changes || changing(word) && word != "REPLACE"
		}
	}
	switch {
	case s.Changes:
		for _, word := range words {
			s.Returns = s.Returns || word == "RETURNING"
		}
	default:
		s.Returns = strings.Contains(" SELECT VALUES WITH PRAGMA EXPLAIN SHOW TABLE CALL ", " "+first+" ")
	}
	return s
}

// scan finds words, in upper case, and placeholders of a statement, outside of quotes and comments: 0 for a
// plain `?`, N for `?N` and `$N`.
func scan(sql string, word func(string), placeholder func(int)) {
	for i := 0; i < len(sql); {
		c := sql[i]
		rest := sql[i:]
		switch {
		case c == '\'' || c == '"' || c == '`':
			i += skipTo(rest[1:], string(c)) + 1
		case c == '[':
			i += skipTo(rest, "]")
		case strings.HasPrefix(rest, "--"):
			i += skipTo(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			i += skipTo(rest[2:], "*/") + 2
		case c == '?' || c == '$':
			number, n := 0, 1
			for ; n < len(rest) && rest[n] >= '0' && rest[n] <= '9'; n++ {
				number = number*10 + int(rest[n]-'0')
			}
			if c == '?' || number > 0 {
				placeholder(number)
			}
			i += n
		case isWord(c):
			n := 1
			for n < len(rest) && isWord(rest[n]) {
				n++
			}
			word(strings.ToUpper(rest[:n]))
			i += n
		default:
			i++
		}
	}
}

func skipTo(text, end string) int {
	if at := strings.Index(text, end); at >= 0 {
		return at + len(end)
	}
	return len(text)
}

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}
