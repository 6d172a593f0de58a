package worker

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"contend/workers/wire"
)

// discarded is an http.ResponseWriter that keeps nothing.
type discarded http.Header

func (d discarded) Header() http.Header       { return http.Header(d) }
func (discarded) Write(b []byte) (int, error) { return len(b), nil }
func (discarded) WriteHeader(int)             {}

// BenchmarkRequest measures a request without net/http and the driver.
func BenchmarkRequest(b *testing.B) {
	plan, err := wire.ParsePlan(wire.Sealed("contend-plan 3\nworker\t0\ndriver\tnull\tpool\nconnections\tdatabase\nwindow\t0\t0\t0\nnow\tclock\n" +
		"database\tfile\tx\nstatement\t0\trows\t29\tSELECT a FROM t WHERE id = ?\ntransaction\t0\tget\tread\t-\t1\t0\t1\nstep\tsql\t0\t0..2\t1\t-\tp0+0\n" +
		"retry\t1\t-\t-\t-\nclients\t0\nend\n"))
	if err != nil {
		b.Fatal(err)
	}
	driver := Null("null")
	pool := newNullPool(context.Background(), 8)
	h := newHandler(driver, plan, newStatements(plan), newControl(0), func() connections { return &shared{pool: pool} })
	request := httptest.NewRequest(http.MethodGet, "/get?p0=i12345&u0=i1099511627776", nil)
	request = request.WithContext(h.meet(context.Background(), nil))
	w := discarded{}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, request)
	}
	if h.failed.Load() > 0 {
		b.Fatal("requests failed")
	}
}

func TestValuesInJSON(t *testing.T) {
	for _, c := range []struct {
		value any
		json  string
	}{
		{int64(-9223372036854775808), "-9223372036854775808"},
		{3.0, "3.0"}, {1e21, "1e+21"}, {0.1, "0.1"}, {math.Inf(-1), "-9e999"},
		{"a\"\\\n\x01\xffé\u2028", `"a\"\\\n\u0001` + "\uFFFDé\u2028\""},
		{[]byte{0, 255}, `{"hex":"00ff"}`}, {nil, "null"}, {true, "1"},
	} {
		if found, err := appendJSON(nil, c.value); err != nil || string(found) != c.json {
			t.Errorf("%v: %s, %v", c.value, found, err)
		}
	}
	if _, err := appendJSON(nil, struct{}{}); err == nil {
		t.Error("a struct is no value")
	}
}

func TestCodesInWords(t *testing.T) {
	state, ok := wire.SQLStateCode("08006")
	for code, words := range map[wire.Code]string{
		{Space: wire.SpaceSQLite, Number: 517}:     "sqlite:517",
		{Space: wire.SpaceSQLState, Number: state}: "sqlstate:08006",
		{Space: wire.SpaceWorker, Number: 1}:       "worker:1",
	} {
		if found := codeInWords(code); found != words || !ok {
			t.Errorf("%v: %s", code, found)
		}
	}
}
