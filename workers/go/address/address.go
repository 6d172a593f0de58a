// Package address reads where a database server is, and interrupts connections to it.
package address

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// ConnectTime is the longest a server may take to accept a connection.
const ConnectTime = 10 * time.Second

// Address is a database on a server.
type Address struct {
	User, Password string
	Host           string
	Port           uint16
	Socket         string // path of the Unix socket; if there is one, host and port are none
	Database       string
}

// Parse reads an address such as `postgres://USER@/DATABASE?socket=PATH`. It never carries a password, only where one
// is found, and no error repeats it.
func Parse(text, scheme string, port uint16) (a Address, err error) {
	rest, ok := strings.CutPrefix(text, scheme+"://")
	if !ok {
		return a, fmt.Errorf("the address of a server of this driver begins with %s://", scheme)
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, database, _ := strings.Cut(rest, "/")
	user, place, ok := cutLast(authority, "@")
	if !ok || user == "" {
		return a, errors.New("the address of a server names the user: SCHEME://USER@HOST/DATABASE")
	}
	if strings.Contains(user, ":") {
		return a, errors.New("the address of a server must not carry a password; name a file or variable that has it (password_file=PATH, password_env=NAME)")
	}
	if a.User, err = decode(user); err != nil {
		return a, err
	}
	if a.Database, err = decode(database); err != nil {
		return a, err
	}
	for _, pair := range strings.Split(query, "&") {
		if pair == "" {
			continue
		}
		if err := a.parameter(pair); err != nil {
			return a, err
		}
	}
	if a.Socket == "" {
		return a, a.place(place, port)
	}
	return a, nil
}

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return "", text, false
	}
	return text[:at], text[at+len(separator):], true
}

func decode(text string) (string, error) {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return "", errors.New("a `%` in the address of a server without two hexadecimal digits after it")
	}
	if !utf8.ValidString(plain) {
		return "", errors.New("the address of a server is not UTF-8")
	}
	return plain, nil
}

func (a *Address) parameter(pair string) error {
	key, value, _ := strings.Cut(pair, "=")
	value, err := decode(value)
	if err != nil {
		return err
	}
	switch key {
	case "socket":
		if a.Socket = value; value == "" {
			return errors.New("socket= names no path")
		}
	case "password_file":
		text, err := os.ReadFile(value)
		if err != nil {
			return fmt.Errorf("the password is to be in %s, which cannot be read: %w", value, err)
		}
		a.Password, _, _ = strings.Cut(string(text), "\n")
		a.Password = strings.TrimSuffix(a.Password, "\r")
	case "password_env":
		password, ok := os.LookupEnv(value)
		if !ok {
			return fmt.Errorf("the password is to be in the variable %s, which is not set for the worker", value)
		}
		a.Password = password
	default:
		return fmt.Errorf("`%s` is no part of a server's address; parts are socket, password_file and password_env", key)
	}
	return nil
}

// place reads `HOST`, `HOST:PORT` or `[IPV6]:PORT`.
func (a *Address) place(text string, port uint16) (err error) {
	host, number, numbered := text, "", false
	if strings.Contains(text, "]:") || strings.Count(text, ":") == 1 {
		if host, number, err = net.SplitHostPort(text); err != nil {
			return errors.New("the address of a server is not of the form SCHEME://USER@HOST:PORT/DATABASE")
		}
		numbered = true
	}
	if a.Host, err = decode(strings.Trim(host, "[]")); err != nil {
		return err
	}
	if a.Host == "" {
		return errors.New("the address of a server names a host or a socket")
	}
	if a.Port = port; numbered {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || n == 0 {
			return errors.New("the port of the server is no number from 1 to 65535")
		}
		a.Port = uint16(n)
	}
	return nil
}

const interruptEvery = 100 * time.Millisecond

// Interrupter carries out the interruption of a connection apart from the client that asks for it: it takes a second connection, and a
// server that hangs must not hold up other clients. It does so every 100 ms at most.
func Interrupter(interrupt func()) func() {
	var last atomic.Int64
	begun := time.Now()
	return func() {
		now, before := int64(time.Since(begun)+interruptEvery), last.Load()
		if now-before >= int64(interruptEvery) && last.CompareAndSwap(before, now) {
			go interrupt()
		}
	}
}
