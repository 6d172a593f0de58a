package worker

import "strings"

// statement learns from its text what a statement is: most drivers do not tell before they execute it.
func (d *Driver) statement(sql string) *Statement {
	s := &Statement{SQL: sql, Index: -1}
	var words []string
	depth, groups := 0, int64(0)
	text := scanner{brackets: !d.Server}
	ended := false // the rows of values are
	text.word = func(word string) {
		words = append(words, word)
		ended = ended || depth == 0 && word == "ON"
	}
	text.placeholder = func(number int) {
		if number == 0 {
			s.Params++
		} else {
			s.Params = max(s.Params, number)
		}
	}
	text.parenthesis = func(opens int) {
		last := len(words) - 1
		if opens > 0 && depth == 0 && !ended && last >= 0 && (words[last] == "VALUES" || groups > 0) {
			groups++
		}
		depth += opens
	}
	text.scan(sql)
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
	upserts := first == "REPLACE"
	for i := range words {
		upserts = upserts || words[i] == "DUPLICATE" && i > 0 && words[i-1] == "ON"
	}
	if upserts {
		s.Upserts = groups
	}
	return s
}

// scanner finds words, in upper case, and placeholders of a statement, outside of quotes and comments: 0 for a
// plain `?`, N for `?N` and `$N`.
type scanner struct {
	brackets    bool // quote names, as in SQLite
	word        func(string)
	placeholder func(int)
	parenthesis func(opens int) // 1, or -1 for one that closes
}

func (s scanner) scan(sql string) {
	for i := 0; i < len(sql); {
		c := sql[i]
		rest := sql[i:]
		switch {
		case c == '\'' || c == '"' || c == '`':
			i += skipTo(rest[1:], string(c)) + 1
		case c == '[' && s.brackets:
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
				s.placeholder(number)
			}
			i += n
		case isWord(c):
			n := 1
			for n < len(rest) && isWord(rest[n]) {
				n++
			}
			s.word(strings.ToUpper(rest[:n]))
			i += n
		case c == '(' || c == ')':
			s.parenthesis(map[byte]int{'(': 1, ')': -1}[c])
			i++
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
