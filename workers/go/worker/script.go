package worker

import (
	"context"
	"fmt"
	"io"
	"strings"

	"contend/workers/wire"
)

// carryOut carries out a script on its own connection. Errors of the database end it and are part of the reply; an
// error is returned if the script is malformed, or its driver or options are unknown.
func carryOut(drivers []*Driver, text string) ([]byte, error) {
	script, err := wire.ParseScript(text)
	if err != nil {
		return nil, err
	}
	driver, err := find(drivers, script.Driver)
	if err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	options, err := parseOptions(driver, script.Options)
	if err != nil {
		return nil, err
	}
	if err := driver.finds(script.Database); err != nil {
		return nil, err
	}
	s := &scripted{driver: driver, script: script}
	s.conn, err = driver.Open(script.Database, &Setup{Options: options, Context: context.Background()})
	if err != nil {
		s.error(0, err)
	} else {
		defer s.conn.Close()
		if err := s.lines(); err != nil {
			return nil, err
		}
	}
	return append(s.reply, "end\n"...), nil
}

type scripted struct {
	driver *Driver
	script *wire.Script
	conn   Conn
	reply  []byte
	over   bool
	next   *wire.ScriptLine // read while looking for the end of a load
}

// error ends the script with the error of the database.
func (s *scripted) error(line int, err error) {
	code := s.driver.codeOf(err)
	s.reply = fmt.Appendf(s.reply, "error\t%d\t%s\t%d\t%s\n", line, wire.SpaceWord(code.Space), code.Number, wire.Escape(err.Error()))
	s.over = true
}

func (s *scripted) valueError(line int, form string, args ...any) {
	s.reply = fmt.Appendf(s.reply, "error\t%d\tworker\t%d\t%s\n", line, wire.CodeValue, wire.Escape(fmt.Sprintf(form, args...)))
	s.over = true
}

func (s *scripted) lines() error {
	for _, said := range s.script.Session {
		if _, err := s.conn.Run(newStatement(said), nil, nil); err != nil {
			s.error(0, err)
			return nil
		}
	}
	line, err := s.script.Next()
	for line != nil && err == nil && !s.over {
		s.next = nil
		switch line.Kind {
		case "sql":
			s.query(line)
			if !s.over {
				s.next, err = s.script.Next()
			}
		case "load":
			load := s.load
			if s.driver.Load != nil {
				load = s.loadAll
			}
			err = load(line)
		default:
			return fmt.Errorf("script line %d: a row without a `load` before it", line.Number)
		}
		line = s.next
	}
	return err
}

func (s *scripted) query(line *wire.ScriptLine) {
	var rows []byte
	count := 0
	_, err := s.conn.Run(newStatement(line.Statement), nil, func(values []any) error {
		count++
		rows = append(rows, "row"...)
		for _, value := range values {
			value, err := plain(value)
			if err != nil {
				return err
			}
			rows = append(rows, '\t')
			if rows, err = wire.AppendValue(rows, value); err != nil {
				return workerFailure(wire.CodeValue)
			}
		}
		rows = append(rows, '\n')
		return nil
	})
	if err != nil {
		s.error(line.Number, err)
		return
	}
	s.reply = append(fmt.Appendf(s.reply, "result\t%d\n", count), rows...)
}

// load inserts the rows that follow in one transaction, unless the script has begun one itself.
func (s *scripted) load(line *wire.ScriptLine) error {
	begun := true
	if _, err := s.conn.Run(simple("BEGIN"), nil, nil); err != nil {
		if !strings.Contains(err.Error(), "within a transaction") {
			s.error(line.Number, err)
			return nil
		}
		begun = false
	}
	count, err := s.insert(line)
	if err == nil && !s.over && begun {
		if _, wrong := s.conn.Run(simple("COMMIT"), nil, nil); wrong != nil {
			s.error(line.Number, wrong)
		}
	}
	if s.over && begun {
		_, _ = s.conn.Run(simple("ROLLBACK"), nil, nil)
	}
	if err == nil && !s.over {
		s.reply = fmt.Appendf(s.reply, "loaded\t%d\n", count)
	}
	return err
}

// loadAll loads the rows that follow with the driver's bulk method.
func (s *scripted) loadAll(line *wire.ScriptLine) error {
	at := line.Number
	var wrong error // with the script
	count, err := s.driver.Load(s.conn, line.Statement, func() ([]any, error) {
		s.next, wrong = s.script.Next()
		if wrong != nil || s.next == nil || s.next.Kind != "row" {
			return nil, io.EOF
		}
		at = s.next.Number
		return s.next.Row, nil
	})
	if wrong != nil {
		return wrong
	}
	if err != nil {
		s.error(at, err)
		return nil
	}
	s.reply = fmt.Appendf(s.reply, "loaded\t%d\n", count)
	return nil
}

func (s *scripted) insert(line *wire.ScriptLine) (count int, err error) {
	insert := newStatement(line.Statement)
	insert.Keep = true
	for {
		s.next, err = s.script.Next()
		if err != nil || s.next == nil || s.next.Kind != "row" {
			return count, err
		}
		row := s.next
		if len(row.Row) != insert.Params {
			s.valueError(row.Number, "%d values for the %d placeholders of `load`", len(row.Row), insert.Params)
			return count, nil
		}
		if _, err := s.conn.Run(insert, row.Row, nil); err != nil {
			s.error(row.Number, err)
			return count, nil
		}
		count++
	}
}
