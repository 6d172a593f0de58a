package worker

import (
	"fmt"
	"sync"

	"contend/workers/wire"
)

// Newcomer is a Conn of a pool that opens connections on demand: it reports whether it was just opened.
type Newcomer interface {
	// New returns true once, for the client that takes the connection first.
	New() bool
}

// readback compares settings of connections after the start with those of the first connection before, which the tool
// has.
type readback struct {
	driver *Driver
	plan   *wire.Plan
	setup  *Setup

	lock  sync.Mutex
	first []wire.Pair
	// later counts connections that were read after the start; differs is the first difference.
	later   int64
	differs string
}

// known stores the settings reported for the first connection.
func (r *readback) known(session []wire.Pair) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.first == nil {
		r.first = session
	}
}

// opened reads a connection after the start. The tool judges the result at the end.
func (r *readback) opened(conn Conn) error {
	session, err := look(r.driver, r.plan, r.setup, conn, false, nil)
	if err != nil {
		return err
	}
	r.lock.Lock()
	defer r.lock.Unlock()
	r.later++
	for _, found := range session {
		for _, first := range r.first {
			if found.Name == first.Name && found.Text != first.Text {
				r.note(fmt.Sprintf("a connection reads back %s = %s after the start, the first one %s before", found.Name, found.Text, first.Text))
			}
		}
	}
	return nil
}

// wrong stores a difference, unless there is one already.
func (r *readback) wrong(words string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.note(words)
}

func (r *readback) note(words string) {
	if r.differs == "" {
		r.differs = words
	}
}

// facts are for the line `done`.
func (r *readback) facts() string {
	r.lock.Lock()
	defer r.lock.Unlock()
	text := fmt.Sprintf("\tconnections_read_back=%d", r.later)
	if r.differs != "" {
		text += "\tsettings_differ=" + wire.Escape(r.differs)
	}
	return text
}

// reading opens connections and reads them back at once, as a part of opening them: in a server of requests, which
// does not end by itself, any of them may be the last.
func (r *readback) reading(open func() (Conn, error)) func() (Conn, error) {
	return func() (Conn, error) {
		conn, err := open()
		if err != nil {
			return nil, err
		}
		if err := r.opened(conn); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return conn, nil
	}
}
