// Package served tests the serve mode of a worker on a real database.
package served

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"contend/workers/wire"
	"contend/workers/worker"
)

const transactions = `statement	0	rows	56	SELECT id, name, price, raw, none FROM item WHERE id >= ? ORDER BY id LIMIT 2
statement	1	changes	36,39	INSERT INTO item (id, name) VALUES (?, ?)
statement	2	rows	-	SELECT count(*) AS "how ""many""" FROM item
statement	3	rows	33	SELECT name FROM item WHERE id = ?
statement	4	rows	-	SELECT 1
transaction	0	get item	read	-	0	1	2
step	sql	0	0..2	1	0:0:1	p0+0
step	sql	3	1..1	1	-	k0+0
transaction	1	put/all	write	BEGIN IMMEDIATE	3	0	3
step	sql	1	1..1	2	-	u0+2	p0+1
step	sql	2	1..1	1	-
step	sql	1	1..1	1	-	u1+0	n
transaction	2	hold	read	-	0	0	2
step	sql	4	1..1	1	-
step	hold	60000000000
transaction	3	too many	read	-	0	0	1
step	sql	2	0..0	1	-
retry	1	-	-	-
clients	0
end
`

// plan returns the plan of a model, with further lines in its head.
func plan(driver *worker.Driver, model, path, lines string) string {
	sharing := map[string]string{"thread": "client", "pool": "database"}[model]
	head := "contend-plan 3\nworker\t0\ndriver\t%s\t%s\nconnections\t%s\nwindow\t0\t0\t200000000\nnow\tclock\n"
	options, session, _ := strings.Cut(lines, "--\n")
	text := fmt.Sprintf(head, driver.Name, model, sharing) + options + "database\tfile\t" + path + "\n" + session + transactions
	return wire.Sealed(text)
}

// conn opens a connection and executes statements on it.
func conn(t *testing.T, driver *worker.Driver, path string, sql ...string) worker.Conn {
	t.Helper()
	c, err := driver.Open(wire.File(path), &worker.Setup{Options: &worker.Options{BusyTimeoutMS: -1}, Context: context.Background()})
	if err != nil {
		t.Fatal(err)
	}
	execute(t, c, sql...)
	return c
}

func execute(t *testing.T, c worker.Conn, sql ...string) {
	t.Helper()
	for _, one := range sql {
		statement := &worker.Statement{Statement: wire.Statement{SQL: one, Returns: strings.HasPrefix(one, "PRAGMA")}, Index: -1}
		if _, err := c.Run(statement, nil, nil); err != nil {
			t.Fatalf("%s: %v", one, err)
		}
	}
}

func database(t *testing.T, driver *worker.Driver) string {
	path := filepath.Join(t.TempDir(), "a.db")
	c := conn(t, driver, path, "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, raw BLOB, none)",
		"INSERT INTO item VALUES (1, 'š \"a\" \\\\ '||char(9)||char(1), 3.0, x'00ff', NULL), (9223372036854775807, '', -0.5, NULL, NULL)")
	defer c.Close()
	return path
}

func serve(t *testing.T, driver *worker.Driver, text string) *worker.Served {
	t.Helper()
	s, err := worker.ServePlan(driver, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ask sends a request over a client's connections; returns status, code and body.
func ask(client *http.Client, method, url string) (answer, error) {
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		return answer{}, err
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header.Get("contend-code"), string(body)}, err
}

type answer struct {
	status int
	code   string
	body   string
}

func (a answer) is(t *testing.T, what string, status int, code, words string) {
	t.Helper()
	if a.status != status || a.code != code || !strings.Contains(a.body, words) || !json.Valid([]byte(a.body)) {
		t.Errorf("%s: %d `%s` %s; expected %d `%s` with %s", what, a.status, a.code, a.body, status, code, words)
	}
}

// newClient returns a client with its own connections.
func newClient(t *testing.T) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func get(t *testing.T, client *http.Client, url string) answer {
	t.Helper()
	a, err := ask(client, http.MethodGet, url)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// awaitHolding waits until a request holds its connection.
func awaitHolding(t *testing.T, s *worker.Served) {
	t.Helper()
	for end := time.Now().Add(time.Minute); s.Holding() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the request does not come to its connection")
		}
	}
}

// Check tests a driver in both models.
func Check(t *testing.T, driver *worker.Driver) {
	for _, model := range []string{"thread", "pool"} {
		t.Run(model, func(t *testing.T) {
			t.Run("answers", func(t *testing.T) { answers(t, driver, model) })
			t.Run("refusals", func(t *testing.T) { refusals(t, driver, model) })
			t.Run("locked while opening", func(t *testing.T) { locked(t, driver, model) })
			t.Run("settings of later connections", func(t *testing.T) { later(t, driver, model) })
			t.Run("stop", func(t *testing.T) { stop(t, driver, model) })
		})
	}
}

func answers(t *testing.T, driver *worker.Driver, model string) {
	path := database(t, driver)
	s := serve(t, driver, plan(driver, model, path, ""))
	expected := 1 // of thread: the one that the first HTTP connection gets
	if model == "pool" {
		expected = 4
	}
	if s.Sessions != expected {
		t.Errorf("%d sessions for %d connections", s.Sessions, expected)
	}
	client := newClient(t)
	for _, c := range []struct {
		target, code, body string
		status             int
	}{
		{"/get%20item?p0=i1", "", `{"rows":[{"id":1,"name":"š \"a\" \\\\ \t\u0001","price":3.0,"raw":{"hex":"00ff"},"none":null},` +
			`{"id":9223372036854775807,"name":"","price":-0.5,"raw":null,"none":null},{"name":"š \"a\" \\\\ \t\u0001"}]}`, 200},
		{"/get%20item?p0=i2", "", `{"rows":[{"id":9223372036854775807,"name":"","price":-0.5,"raw":null,"none":null},{"name":""}]}`, 200},
		{"/put%2Fall?u0=i10&p0=n&u1=i11&p1=t%E6%BC%A2%20%26&u2=i12", "", `{"rows":[{"how \"many\"":4}]}`, 200},
		{"/get%20item?p0=i12", "", `{"rows":[{"id":12,"name":"漢 &","price":null,"raw":null,"none":null},` +
			`{"id":9223372036854775807,"name":"","price":-0.5,"raw":null,"none":null},{"name":"漢 &"}]}`, 200},
		{"/put/all?u0=i1&p0=n&p1=n&u1=i2&u2=i3", "sqlite:1555", "", 500},
		{"/put/all?u0=i20&p0=n&p1=n&u1=i21&u2=i22", "", `{"rows":[{"how \"many\"":7}]}`, 200},
		{"/too%20many", "worker:1", "number of rows", 500},
	} {
		a := get(t, client, s.URL+c.target)
		a.is(t, c.target, c.status, c.code, "")
		if c.status == 200 && a.body != c.body {
			t.Errorf("%s: %s\nexpected %s", c.target, a.body, c.body)
		}
	}
	done, err := s.Stop()
	if err != nil || !strings.HasPrefix(done, "done\trequests=7\tfailed=2\t") {
		t.Errorf("%s %v", done, err)
	}
}

func refusals(t *testing.T, driver *worker.Driver, model string) {
	s := serve(t, driver, plan(driver, model, database(t, driver), ""))
	client := newClient(t)
	for target, words := range map[string]string{
		"/get%20item":                          "p0 is missing",
		"/get%20item?p0":                       "empty field",
		"/get%20item?p0=q":                     "not a value",
		"/get%20item?p0=i1.5":                  "not an integer",
		"/get%20item?p0=T0":                    "text of a plan",
		"/get%20item?p0=t%2":                   "invalid URL escape",
		"/get%20item?p0=i1&p0=i2":              "too many",
		"/get%20item?p0=i1&p1=i1":              "too many",
		"/get%20item?p0=i1&u0=i1":              "too many",
		"/get%20item?p00=i1":                   "where number 0",
		"/put/all?p1=n&p0=n&u0=i1&u1=i2&u2=i3": "`p1` where number 0",
		"/put/all?p0=n&p1=n&u1=i2&u0=i1&u2=i3": "`u1` where number 0",
		"/get%20item?p0=i1&p-1=i1":             "too many",
		"/get%20item?=":                        "too many",
		"/put/all?p0=n&p1=n&u0=i1":             "u1 is missing",
		"/put/all?p0=n&p1=n&u0=tone":           "not an integer",
		"/put/all?p0=n&p1=n&u0=i1&u1=i3&u2=i2": "must follow one another",
	} {
		get(t, client, s.URL+target).is(t, target, 400, "", words)
	}
	get(t, client, s.URL+"/nothing?p0=i1").is(t, "nothing", 404, "", "no transaction `nothing`")
	get(t, client, s.URL+"/").is(t, "no name", 404, "", "no transaction")
	post, err := ask(client, http.MethodPost, s.URL+"/get%20item?p0=i1")
	if err != nil {
		t.Fatal(err)
	}
	post.is(t, "POST", 405, "", "GET")
	get(t, client, s.URL+"/get%20item?p0=i1").is(t, "after them all", 200, "", `"id":1`)
	if done, err := s.Stop(); err != nil || !strings.Contains(done, "requests=21\tfailed=20") {
		t.Errorf("%s %v", done, err)
	}
	for lines, words := range map[string]string{
		"--\ndatabase\tfile\t/two\n": "names 2",
		"--\nsession\t-\tSELEC\n":    "SELEC",
		"option\tbuzy\t1\n":          "buzy",
	} {
		_, err := worker.ServePlan(driver, plan(driver, model, database(t, driver), lines))
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", lines, err)
		}
	}
}

// locked: a connection opened late finds the database locked, which fails the request with its code.
func locked(t *testing.T, driver *worker.Driver, model string) {
	lines := "option\tbusy_timeout_ms\t0\n--\nsession\trows\tPRAGMA user_version = 7\n"
	if model == "pool" {
		if driver.PoolFixed {
			t.Skip("its pool opens all connections in advance")
		}
		lines = "option\tpool_size\t2\noption\tpool_open\tlazy\n" + lines
	}
	path := database(t, driver)
	s := serve(t, driver, plan(driver, model, path, lines))
	first, second := newClient(t), newClient(t)
	held := make(chan answer, 1)
	go func() {
		a, _ := ask(first, http.MethodGet, s.URL+"/hold")
		held <- a
	}()
	awaitHolding(t, s)
	locker := conn(t, driver, path, "BEGIN EXCLUSIVE")
	get(t, second, s.URL+"/get%20item?p0=i1").is(t, "locked", 500, "sqlite:5", "locked")
	execute(t, locker, "COMMIT")
	if err := locker.Close(); err != nil {
		t.Error(err)
	}
	get(t, second, s.URL+"/get%20item?p0=i1").is(t, "no longer locked", 200, "", `"id":1`)
	if done, err := s.Stop(); err != nil || !strings.Contains(done, "requests=3") {
		t.Errorf("%s %v", done, err)
	}
	(<-held).is(t, "hold", 500, "sqlite:9", "")
}

// later: a connection opened late is read back too, and differences are reported at the end.
func later(t *testing.T, driver *worker.Driver, model string) {
	lines := "--\nreadback\tuser_version\tPRAGMA user_version\n"
	if model == "pool" {
		if driver.PoolFixed {
			t.Skip("its pool opens all connections in advance")
		}
		// Each request has its own connection.
		lines = "option\tpool_size\t1\noption\tpool_idle\t0\noption\tpool_open\tlazy\n" + lines
	}
	for _, changes := range []bool{false, true} {
		path := database(t, driver)
		s := serve(t, driver, plan(driver, model, path, lines))
		if changes {
			other := conn(t, driver, path, "PRAGMA user_version = 9")
			defer other.Close()
		}
		for range 3 {
			client := newClient(t)
			get(t, client, s.URL+"/get%20item?p0=i1").is(t, "get", 200, "", `"id":1`)
		}
		done, err := s.Stop()
		read := strings.Contains(done, "connections_read_back=2") || strings.Contains(done, "connections_read_back=3")
		differs := strings.Contains(done, "settings_differ=") && strings.Contains(done, "user_version = 9 after the start, the first one 0 before")
		if err != nil || !read || differs != changes {
			t.Errorf("changed: %t: %s %v", changes, done, err)
		}
	}
}

func stop(t *testing.T, driver *worker.Driver, model string) {
	s := serve(t, driver, plan(driver, model, database(t, driver), "option\tbusy_timeout_ms\t0\n"))
	held := make(chan answer, 1)
	go func() {
		a, _ := ask(newClient(t), http.MethodGet, s.URL+"/hold")
		held <- a
	}()
	awaitHolding(t, s)
	begun := time.Now()
	done, err := s.Stop()
	if err != nil || !strings.Contains(done, "requests=1\tfailed=1") {
		t.Errorf("%s %v", done, err)
	}
	// The request holds for a minute.
	if took := time.Since(begun); took < 200*time.Millisecond || took > 30*time.Second {
		t.Errorf("the drain of 200 ms took %v", took)
	}
	(<-held).is(t, "hold", 500, "sqlite:9", "")
	if _, err := ask(newClient(t), http.MethodGet, s.URL+"/hold"); err == nil {
		t.Error("it still listens")
	}
}
