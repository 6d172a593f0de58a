package wire

import (
	"fmt"
	"strings"
)

const scriptVersion = 1

// Script is read line by line: its opening at once, rows as they are needed.
type Script struct {
	Driver, Database string
	Options          []Pair
	Session          []string
	rest             string
	number           int
}

// ScriptLine is one line: `sql` or `load` with their SQL, or the values of a `row`.
type ScriptLine struct {
	Number int
	Kind   string
	SQL    string
	Row    []any
}

func scriptError(line int, form string, args ...any) error {
	return fmt.Errorf("script line %d: %s", line, fmt.Sprintf(form, args...))
}

// ParseScript reads the opening of a script.
func ParseScript(text string) (*Script, error) {
	if !strings.HasSuffix(text, "\nend\n") {
		return nil, fmt.Errorf("script: cut off: its last line is not `end`")
	}
	first, rest, _ := strings.Cut(text, "\n")
	if err := checkVersion("contend-script", scriptVersion, first); err != nil {
		return nil, scriptError(1, "%s", err)
	}
	s := &Script{rest: rest, number: 1}
	for {
		line, after, _ := strings.Cut(s.rest, "\n")
		kind, fields, _ := strings.Cut(line, "\t")
		if kind != "driver" && kind != "database" && kind != "option" && kind != "session" {
			break
		}
		s.rest = after
		s.number++
		name, text, _ := strings.Cut(fields, "\t")
		a, errA := Unescape(name)
		b, errB := Unescape(text)
		if errA != nil || errB != nil {
			return nil, scriptError(s.number, "a broken escape")
		}
		switch kind {
		case "driver":
			s.Driver = a
		case "database":
			s.Database = a
		case "session":
			s.Session = append(s.Session, a)
		default:
			s.Options = append(s.Options, Pair{a, b})
		}
	}
	if s.Driver == "" || s.Database == "" {
		return nil, fmt.Errorf("script: it names no driver or no database")
	}
	return s, nil
}

// Next is the next line; nil after the last.
func (s *Script) Next() (*ScriptLine, error) {
	line, after, _ := strings.Cut(s.rest, "\n")
	if line == "end" {
		return nil, nil
	}
	s.rest = after
	s.number++
	kind, rest, _ := strings.Cut(line, "\t")
	l := &ScriptLine{Number: s.number, Kind: kind}
	switch kind {
	case "sql", "load":
		text, err := Unescape(rest)
		if err != nil {
			return nil, scriptError(s.number, "%s", err)
		}
		l.SQL = text
	case "row":
		for _, field := range strings.Split(rest, "\t") {
			value, err := ParseValue(field)
			if err != nil {
				return nil, scriptError(s.number, "%s", err)
			}
			l.Row = append(l.Row, value)
		}
	default:
		return nil, scriptError(s.number, "unknown kind of line `%s`", crop(kind))
	}
	return l, nil
}
