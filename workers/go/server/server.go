// Package server has code that the drivers of database servers share.
package server

import (
	"sync/atomic"
	"time"
)

// ConnectTime is the longest time for a server to accept a connection.
const ConnectTime = 10 * time.Second

const interruptEvery = 100 * time.Millisecond

// Interrupter runs the interruption of a connection in its own goroutine: it needs a second connection, and a server
// that hangs must not block other clients. It runs at most every 100 ms.
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
