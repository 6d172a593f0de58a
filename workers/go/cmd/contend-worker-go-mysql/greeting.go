package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"syscall"
)

// greeting reads a server's first packet, which contains the connection's number. Querying it would be an extra round
// trip of opening a connection, and the library does not export it.
type greeting struct {
	net.Conn
	heard []byte
	over  bool
}

// longestGreeting is far more than what precedes the number.
const longestGreeting = 1 << 10

type greetingKey struct{}

// dial opens a socket and passes it to the caller that requested it with [listening].
func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := socket.(*net.TCPConn); ok {
		// As the library does for sockets that it opens itself.
		if err := tcp.SetKeepAlive(true); err != nil {
			_ = socket.Close()
			return nil, err
		}
	}
	g := &greeting{Conn: socket}
	if opened, ok := ctx.Value(greetingKey{}).(**greeting); ok {
		*opened = g
	}
	return g, nil
}

// listening returns a context under which the opened socket is stored in opened.
func listening(ctx context.Context, opened **greeting) context.Context {
	return context.WithValue(ctx, greetingKey{}, opened)
}

// SyscallConn lets the library check whether the server has closed the connection.
func (g *greeting) SyscallConn() (syscall.RawConn, error) {
	return g.Conn.(syscall.Conn).SyscallConn()
}

func (g *greeting) Read(into []byte) (int, error) {
	n, err := g.Conn.Read(into)
	if !g.over {
		g.heard = append(g.heard, into[:n]...)
		_, known := connectionID(g.heard)
		g.over = known || len(g.heard) > longestGreeting
	}
	return n, err
}

// connectionID parses the first packet: length and number (4 bytes), protocol, server version up to a zero,
// connection number.
func connectionID(packet []byte) (uint32, bool) {
	const header, protocol = 4, 10
	if len(packet) <= header || packet[header] != protocol {
		return 0, false
	}
	_, after, found := bytes.Cut(packet[header+1:], []byte{0})
	if !found || len(after) < 4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(after), true
}
