// Package wire reads and writes the formats that a worker shares with the tool: plan, script, handshake
// and samples. docs/formats.md of the project is the contract.
package wire

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Values are nil, int64, float64, string or []byte, as Go drivers accept them, boxed once while a plan is read.
// TextRef stands for a text of the plan's table until the plan has been read.
type TextRef int

// Unescape returns the text of an escaped field.
func Unescape(field string) (string, error) {
	at := strings.IndexByte(field, '\\')
	if at < 0 {
		return field, nil
	}
	var out strings.Builder
	out.Grow(len(field))
	for at >= 0 {
		out.WriteString(field[:at])
		if at+1 == len(field) {
			return "", fmt.Errorf("a backslash at the end")
		}
		i := strings.IndexByte(`\tnr0`, field[at+1])
		if i < 0 {
			return "", fmt.Errorf("unknown escape `\\%c`", field[at+1])
		}
		out.WriteByte("\\\t\n\r\x00"[i])
		field = field[at+2:]
		at = strings.IndexByte(field, '\\')
	}
	out.WriteString(field)
	return out.String(), nil
}

var escapes = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// Escape escapes a text for a field.
func Escape(text string) string { return escapes.Replace(text) }

// ParseValue parses a value: a letter for its type and the rest.
func ParseValue(field string) (any, error) {
	if field == "" {
		return nil, fmt.Errorf("an empty field where a value was expected")
	}
	rest := field[1:]
	switch field[0] {
	case 'n':
		if rest == "" {
			return nil, nil
		}
	case 'i':
		if i, err := strconv.ParseInt(rest, 10, 64); err == nil {
			return i, nil
		}
		return nil, fmt.Errorf("`%s` is not an integer of 64 bits", crop(field))
	case 'r':
		if r, err := strconv.ParseFloat(rest, 64); err == nil && !math.IsInf(r, 0) && !math.IsNaN(r) {
			return r, nil
		}
		return nil, fmt.Errorf("`%s` is not a finite real", crop(field))
	case 't':
		return Unescape(rest)
	case 'T':
		if n, err := strconv.ParseUint(rest, 10, 31); err == nil {
			return TextRef(n), nil
		}
	case 'x':
		bytes, err := hex.DecodeString(rest)
		if err != nil {
			return nil, fmt.Errorf("`%s` is not a blob in hexadecimal", crop(field))
		}
		return bytes, nil
	}
	return nil, fmt.Errorf("`%s` is not a value (it must start with one of n i r t T x)", crop(field))
}

// AppendValue appends the text form of a value.
func AppendValue(out []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(out, 'n'), nil
	case int64:
		return strconv.AppendInt(append(out, 'i'), v, 10), nil
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return out, fmt.Errorf("%v in the result", v)
		}
		return strconv.AppendFloat(append(out, 'r'), v, 'g', -1, 64), nil
	case string:
		return append(append(out, 't'), Escape(v)...), nil
	case []byte:
		return hex.AppendEncode(append(out, 'x'), v), nil
	}
	return out, fmt.Errorf("the driver gave a %T, which is no value", value)
}

func crop(text string) string {
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:60]) + "..."
	}
	return text
}

// checkVersion checks a first line such as `contend-plan 3`; the error names a newer version.
func checkVersion(word string, known int, line string) error {
	rest, ok := strings.CutPrefix(line, word+" ")
	if !ok {
		return fmt.Errorf("expected `%s %d` as the first line, found `%s`", word, known, crop(line))
	}
	version, err := strconv.ParseUint(rest, 10, 32)
	switch {
	case err == nil && int(version) == known:
		return nil
	case err == nil && int(version) > known:
		return fmt.Errorf("`%s %d` is newer than the %d this program reads: use tool and worker of the same contend release", word, version, known)
	}
	return fmt.Errorf("`%s %s` is not a version this program reads (it reads %d)", word, crop(rest), known)
}
