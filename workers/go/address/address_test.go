package address

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestAddressesAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pw")
	if err := os.WriteFile(file, []byte("ge:heim\nmore\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CONTEND_TEST_PASSWORD", "other")
	for text, expected := range map[string]Address{
		"pg://me@h/d":                                  {User: "me", Host: "h", Port: 7, Database: "d"},
		"pg://me@h:99/":                                {User: "me", Host: "h", Port: 99},
		"pg://m%40e@[::1]:5/a%2Fb":                     {User: "m@e", Host: "::1", Port: 5, Database: "a/b"},
		"pg://me@[::1]/d":                              {User: "me", Host: "::1", Port: 7, Database: "d"},
		"pg://me@/d?socket=/tmp/a%20b":                 {User: "me", Socket: "/tmp/a b", Database: "d"},
		"pg://me@h/d?password_file=" + file:            {User: "me", Host: "h", Port: 7, Database: "d", Password: "ge:heim"},
		"pg://me@h?password_env=CONTEND_TEST_PASSWORD": {User: "me", Host: "h", Port: 7, Password: "other"},
	} {
		if found, err := Parse(text, "pg", 7); err != nil || found != expected {
			t.Errorf("%s: %+v, %v", text, found, err)
		}
	}
}

func TestWrongAddressesAreRefusedWithoutTheirPassword(t *testing.T) {
	for text, words := range map[string]string{
		"mysql://me@h/d":                   "begins with pg://",
		"pg://h/d":                         "names the user",
		"pg://me:geheim@h/d":               "must not carry a password",
		"pg://me@/d":                       "host or a socket",
		"pg://me@h:0/d":                    "1 to 65535",
		"pg://me@h/d?sslmode=geheim":       "`sslmode` is no part",
		"pg://me@h/d?socket=":              "names no path",
		"pg://me@h/%zz":                    "hexadecimal",
		"pg://me@h/d?password_env=NOT_SET": "NOT_SET, which is not set",
		"pg://me@h/d?password_file=/no/pw": "/no/pw, which cannot be read",
	} {
		_, err := Parse(text, "pg", 7)
		if err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The table is that of all workers that read addresses.
func TestAnAddressMeansTheSameInEveryLanguage(t *testing.T) {
	table, err := os.ReadFile("../../../conformance/addresses.tsv")
	if err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, line := range strings.Split(string(table), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		tested++
		fields := strings.Split(line, "\t")
		a, err := Parse(fields[0], "mysql", 3306)
		if fields[1] == "refused" {
			if err == nil || !strings.Contains(err.Error(), fields[2]) || strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: %+v, %v", fields[0], a, err)
			}
			continue
		}
		port := ""
		if a.Socket == "" {
			port = strconv.Itoa(int(a.Port))
		}
		found := []string{a.User, a.Host, port, a.Socket, a.Database}
		if err != nil || !slices.Equal(found, fields[1:]) {
			t.Errorf("%s: %q, %v", fields[0], found, err)
		}
	}
	if tested < 20 {
		t.Errorf("only %d lines were found", tested)
	}
}
