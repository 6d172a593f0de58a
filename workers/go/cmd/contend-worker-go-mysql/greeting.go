package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"syscall"
)

// greeting listens to the first packet of a server, in which it tells the connection's number: to ask for it would be a round trip
// that belongs to opening the connection, and the library keeps the number to itself.
type greeting struct {
	net.Conn
	heard []byte
	over  bool
}

// longestGreeting is far more than what stands before the number.
const longestGreeting = 1 << 10

type greetingKey struct{}

// dial opens a socket and hands it to the caller that asked for it with [listening].
func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var dialer net.Dialer
	socket, err := dialer.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if tcp, ok := socket.(*net.TCPConn); ok {
		// As the library does for a socket of its own.
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

// listening is a context in which the socket that is opened is left in opened.
func listening(ctx context.Context, opened **greeting) context.Context {
	return context.WithValue(ctx, greetingKey{}, opened)
}

// SyscallConn lets the library see whether the server has closed the connection.
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

// connectionID is what the first packet says: its length and number (4 bytes), the protocol, the server's version up to a zero,
// and the connection's number.
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
