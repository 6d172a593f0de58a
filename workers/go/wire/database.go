package wire

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Database is the location of a database: a file with a path, or a server, through a socket or at host and port.
type Database struct {
	Path         string
	Socket, Host string
	Port         uint16
	User, Name   string
	password     string // where it is found
}

// File is a database in a file.
func File(path string) Database { return Database{Path: path} }

// DatabaseOf reads the fields of a `database` line. It panics if a field is missing or the kind is unknown.
func DatabaseOf(fields []string) Database {
	kind, fields := fields[0], unescaped(fields[1:])
	switch kind {
	case "file":
		return File(fields[0])
	case "socket":
		return Database{Socket: fields[0], User: fields[1], Name: fields[2], password: fields[3]}
	case "tcp":
		return Database{Host: fields[0], Port: uint16(number(fields[1])), User: fields[2], Name: fields[3], password: fields[4]}
	}
	panic(fmt.Errorf("database %s: this worker opens files and connects to servers", kind))
}

// Password reads the password from its place.
func (d Database) Password() (string, error) {
	kind, where, _ := strings.Cut(d.password, ":")
	switch kind {
	case "file":
		text, err := os.ReadFile(where)
		if err != nil {
			return "", fmt.Errorf("the password is expected in %s, which cannot be read: %w", where, err)
		}
		first, _, _ := strings.Cut(string(text), "\n")
		return strings.TrimSuffix(first, "\r"), nil
	case "env":
		password, ok := os.LookupEnv(where)
		if !ok {
			return "", fmt.Errorf("the password is expected in the variable %s, which is not set for the worker", where)
		}
		return password, nil
	}
	return "", nil
}

func (d Database) String() string {
	switch {
	case d.Socket != "":
		return d.User + "@" + d.Socket + "/" + d.Name
	case d.Host != "":
		return d.User + "@" + d.Host + ":" + strconv.Itoa(int(d.Port)) + "/" + d.Name
	}
	return d.Path
}
