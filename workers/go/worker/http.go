package worker

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"contend/workers/wire"
)

// handler answers `GET /TRANSACTION?p0=...&u0=...` with one attempt of that transaction.
type handler struct {
	plan         *wire.Plan
	driver       *Driver
	statements   *statements
	control      *control
	transactions map[string]int
	arguments    []int // how many each transaction takes
	connections  func() connections
	secret       string // what every request must bring

	requests, failed, inFlight atomic.Int64
	// operations is the number of requests for transactions of the plan.
	operations atomic.Int64

	lock  sync.Mutex
	peers map[net.Conn]*peer
}

// peer is the other end of an HTTP connection, with the state that its requests share.
type peer struct {
	client
	args    []any
	uniques []int64
	answer  answer
}

type peerKey struct{}

const secretHeader = "Contend-Secret"

func newHandler(driver *Driver, plan *wire.Plan, s *statements, c *control, conns func() connections) *handler {
	h := &handler{
		plan: plan, driver: driver, statements: s, control: c, connections: conns,
		transactions: map[string]int{}, peers: map[net.Conn]*peer{},
	}
	for i := range plan.Transactions {
		t := &plan.Transactions[i]
		h.transactions[t.Name] = i
		h.arguments = append(h.arguments, t.Arguments())
	}
	return h
}

// meet is called for every new HTTP connection.
func (h *handler) meet(ctx context.Context, conn net.Conn) context.Context {
	p := &peer{client: client{plan: h.plan, control: h.control, driver: h.driver, conns: h.connections()}}
	p.a = newAttempt(h.driver, h.plan, h.statements, h.control)
	p.a.use, p.a.answer = p.use, &p.answer
	h.lock.Lock()
	h.peers[conn] = p
	h.lock.Unlock()
	return context.WithValue(ctx, peerKey{}, p)
}

// part closes the state of an HTTP connection that has ended.
func (h *handler) part(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed {
		return
	}
	h.lock.Lock()
	p := h.peers[conn]
	h.lock.Unlock()
	if p == nil {
		return
	}
	p.use(nil)
	p.conns.close()
	h.lock.Lock()
	delete(h.peers, conn)
	h.lock.Unlock()
}

// interrupt stops what is executed now.
func (h *handler) interrupt() {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, p := range h.peers {
		p.interrupt()
	}
}

func (h *handler) connected() int {
	h.lock.Lock()
	defer h.lock.Unlock()
	return len(h.peers)
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.inFlight.Add(1)
	defer h.inFlight.Add(-1)
	// Any user of the machine can connect to the port; requests without the secret are not counted.
	if brought := r.Header.Get(secretHeader); subtle.ConstantTimeCompare([]byte(brought), []byte(h.secret)) == 0 {
		send(w, http.StatusForbidden, []byte(`{"error":"the header contend-secret of this run is missing"}`))
		return
	}
	h.requests.Add(1)
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		h.refuse(w, http.StatusMethodNotAllowed, r.Method+": transactions are asked for with GET")
		return
	}
	transaction, ok := h.transactions[strings.TrimPrefix(r.URL.Path, "/")]
	if !ok {
		h.refuse(w, http.StatusNotFound, fmt.Sprintf("no transaction `%s` in the plan", strings.TrimPrefix(r.URL.Path, "/")))
		return
	}
	p := r.Context().Value(peerKey{}).(*peer)
	uniques := h.plan.Transactions[transaction].Uniques
	if err := p.parse(r.URL.RawQuery, h.arguments[transaction], uniques); err != nil {
		h.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	p.a.begin(uint32(h.operations.Add(1)-1), p.args)
	p.a.uniques = p.uniques
	p.answer.begin()
	if _, _, err := p.conns.carryOut(&p.client, transaction); err != nil {
		w.Header().Set("contend-code", codeInWords(h.driver.codeOf(err)))
		h.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	send(w, http.StatusOK, p.answer.end())
}

func (h *handler) refuse(w http.ResponseWriter, status int, words string) {
	h.failed.Add(1)
	send(w, status, append(appendText([]byte(`{"error":`), words), '}'))
}

var contentType = []string{"application/json"}

// send writes an answer in one piece. The header's names are already canonical.
func send(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header["Content-Type"] = contentType
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone misses nothing
}

// codeInWords formats a code as `sqlite:5` or `sqlstate:40001`.
func codeInWords(code wire.Code) string {
	number := strconv.FormatUint(uint64(code.Number), 10)
	if code.Space == wire.SpaceSQLState {
		number = wire.SQLState(code.Number)
	}
	return wire.SpaceWord(code.Space) + ":" + number
}

// parse parses `p0=VALUE&u0=VALUE`: every argument and every unique number once, each kind in order.
func (p *peer) parse(query string, args, uniques int) error {
	p.args, p.uniques = resized(p.args, args)[:0], resized(p.uniques, uniques)[:0]
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		if err := p.argument(pair, args, uniques); err != nil {
			return err
		}
	}
	switch {
	case len(p.args) < args:
		return fmt.Errorf("argument p%d is missing", len(p.args))
	case len(p.uniques) < uniques:
		return fmt.Errorf("unique number u%d is missing", len(p.uniques))
	}
	for i, number := range p.uniques {
		if number != p.uniques[0]+int64(i) {
			return errors.New("unique numbers must follow one another")
		}
	}
	return nil
}

// argument parses one `p0=VALUE`.
func (p *peer) argument(pair string, args, uniques int) (err error) {
	key, field, _ := strings.Cut(pair, "=")
	next, all := len(p.args), args
	if strings.HasPrefix(key, "u") {
		next, all = len(p.uniques), uniques
	} else if !strings.HasPrefix(key, "p") {
		all = 0
	}
	if next >= all {
		return fmt.Errorf("`%s` is an argument too many: the transaction takes %d arguments (p0...) and %d unique numbers (u0...), each once",
			key, args, uniques)
	}
	if key[1:] != strconv.Itoa(next) {
		return fmt.Errorf("`%s` where number %d was expected", key, next)
	}
	if strings.IndexByte(field, '%') >= 0 {
		if field, err = url.PathUnescape(field); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	value, err := wire.ParseValue(field)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if _, isRef := value.(wire.TextRef); isRef {
		return fmt.Errorf("%s: `%s` refers to a text of a plan, which a request has not", key, field)
	}
	if key[0] == 'p' {
		p.args = append(p.args, value)
		return nil
	}
	number, ok := value.(int64)
	if !ok {
		return fmt.Errorf("%s: `%s` is not an integer, and unique numbers are", key, field)
	}
	p.uniques = append(p.uniques, number)
	return nil
}

func resized[T any](list []T, length int) []T {
	if cap(list) < length || list == nil {
		return make([]T, length)
	}
	return list[:length]
}
