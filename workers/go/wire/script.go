package wire

import (
	"fmt"
	"strings"
)

const scriptVersion = 2

// Script is parsed line by line: its opening at once, rows as they are needed.
type Script struct {
	Driver   string
	Database Database
	Options  []Pair
	Session  []Statement
	rest     string
	number   int
}

// ScriptLine is one line: `sql` or `load` with their statement, or the values of a `row`.
type ScriptLine struct {
	Number    int
	Kind      string
	Statement Statement
	Row       []any
}

// ParseScript reads the opening of a script.
func ParseScript(text string) (s *Script, err error) {
	first, _, _ := strings.Cut(text, "\n")
	if err := checkVersion("contend-script", scriptVersion, first); err != nil {
		return nil, fmt.Errorf("script line 1: %w", err)
	}
	body, err := opened("script", text)
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(body, "\n")
	s = &Script{rest: rest, number: 1}
	defer caught(&err, "script", &s.number)
	for {
		line, after, _ := strings.Cut(s.rest, "\n")
		f := strings.Split(line, "\t")
		switch f[0] {
		case "driver":
			s.Driver = unescape(f[1])
		case "database":
			s.Database = DatabaseOf(f[1:])
		case "session":
			s.Session = append(s.Session, parseStatement(f[1], "-", f[2]))
		case "option":
			s.Options = append(s.Options, Pair{unescape(f[1]), unescape(f[2])})
		default:
			return s, nil
		}
		s.rest = after
		s.number++
	}
}

// Next returns the next line; nil after the last.
func (s *Script) Next() (l *ScriptLine, err error) {
	if s.rest == "" {
		return nil, nil
	}
	var line string
	line, s.rest, _ = strings.Cut(s.rest, "\n")
	s.number++
	defer caught(&err, "script", &s.number)
	f := strings.Split(line, "\t")
	l = &ScriptLine{Number: s.number, Kind: f[0]}
	switch f[0] {
	case "sql":
		l.Statement = parseStatement(f[1], "-", f[2])
	case "load":
		l.Statement = parseLoad(f[1], f[2], f[3])
	case "row":
		for _, field := range f[1:] {
			value, err := ParseValue(field)
			if err != nil {
				panic(err)
			}
			l.Row = append(l.Row, value)
		}
	default:
		panic(fmt.Errorf("unknown kind of line `%s`", crop(f[0])))
	}
	return l, nil
}
