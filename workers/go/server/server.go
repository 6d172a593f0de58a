// Package server has what the drivers of database servers have in common.
package server

import (
	"sync/atomic"
	"time"
)

// ConnectTime is the longest a server may take to accept a connection.
const ConnectTime = 10 * time.Second

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
