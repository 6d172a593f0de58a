package worker

import (
	"encoding/hex"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// answer is the JSON of the rows that a transaction returns. Its memory is reused.
type answer struct {
	out       []byte
	rows      int
	conn      Conn
	statement *Statement
}

func (a *answer) begin() { a.out, a.rows = append(a.out[:0], `{"rows":[`...), 0 }

func (a *answer) end() []byte {
	a.out = append(a.out, `]}`...)
	return a.out
}

// row appends a row as an object by column name.
func (a *answer) row(values []any) error {
	keys := a.statement.keys.Load()
	if keys == nil || len(*keys) != len(values) {
		names, err := a.conn.Names()
		if err != nil {
			return err
		}
		keys = beginnings(names)
		a.statement.keys.Store(keys)
	}
	out := a.out
	if a.rows > 0 {
		out = append(out, ',')
	}
	a.rows++
	out = append(out, '{')
	for i, value := range values {
		out = append(out, (*keys)[i]...)
		var err error
		if out, err = appendJSON(out, value); err != nil {
			return err
		}
	}
	a.out = append(out, '}')
	return nil
}

// beginnings returns `"a":` for the first column and `,"b":` for the others.
func beginnings(names []string) *[]string {
	keys := make([]string, len(names))
	for i, name := range names {
		key := append(appendText(nil, name), ':')
		if i > 0 {
			key = append([]byte{','}, key...)
		}
		keys[i] = string(key)
	}
	return &keys
}

// appendJSON appends a value so that its type is visible: a real has a point or an exponent.
func appendJSON(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, "null"...), nil
	case int64:
		return strconv.AppendInt(out, v, 10), nil
	case string:
		return appendText(out, v), nil
	case float64:
		return appendReal(out, v), nil
	case []byte:
		return append(hex.AppendEncode(append(out, `{"hex":"`...), v), `"}`...), nil
	case bool:
		if v {
			return append(out, '1'), nil
		}
		return append(out, '0'), nil
	case time.Time:
		// Drivers return this type for columns declared as a time.
		return append(v.AppendFormat(append(out, '"'), time.RFC3339Nano), '"'), nil
	}
	return out, WrongValue("the driver gave %s, which is not a value of SQL", kindOf(value))
}

func appendReal(out []byte, r float64) []byte {
	switch {
	case math.IsInf(r, 1):
		return append(out, "9e999"...) // as SQLite's own JSON has it
	case math.IsInf(r, -1):
		return append(out, "-9e999"...)
	case math.IsNaN(r):
		return append(out, "null"...)
	}
	from := len(out)
	out = strconv.AppendFloat(out, r, 'g', -1, 64)
	for _, c := range out[from:] {
		if c == '.' || c == 'e' {
			return out
		}
	}
	return append(out, ".0"...)
}

const hexDigits = "0123456789abcdef"

// appendText appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				out = append(append(out, text[from:i]...), "\uFFFD"...)
				from = i + 1
			}
			i += size
			continue
		}
		out = append(out, text[from:i]...)
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, `\n`...)
		case '\r':
			out = append(out, `\r`...)
		case '\t':
			out = append(out, `\t`...)
		default:
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(out, text[from:]...), '"')
}
