package worker

import (
	"math"
	"sync/atomic"
)

// control is the window as the clients see it. Times are readings of the monotonic clock.
type control struct {
	windowEnd atomic.Uint64
	drain     uint64
	// windowOver is closed when no more operations may begin, drainOver when those in flight must end.
	windowOver, drainOver     chan struct{}
	windowIsOver, drainIsOver atomic.Bool
	start                     chan struct{} // closed at the start
	startNS                   uint64
	abandoned                 bool
}

func newControl(drain uint64) *control {
	c := &control{
		drain: drain, windowOver: make(chan struct{}), drainOver: make(chan struct{}), start: make(chan struct{}),
	}
	c.windowEnd.Store(math.MaxUint64)
	return c
}

// open lets the clients begin.
func (c *control) open(startNS, length uint64) {
	c.startNS = startNS
	c.windowEnd.Store(saturatingAdd(startNS, length))
	close(c.start)
}

// abandon ends the clients without a run.
func (c *control) abandon() {
	c.abandoned = true
	close(c.start)
}

// stop ends the window now, unless it is over already.
func (c *control) stop(nowNS uint64) {
	if nowNS < c.windowEnd.Load() {
		c.windowEnd.Store(nowNS)
	}
	if !c.windowIsOver.Swap(true) {
		close(c.windowOver)
	}
}

func (c *control) endDrain() {
	if !c.drainIsOver.Swap(true) {
		close(c.drainOver)
	}
}

func (c *control) drainEnd() uint64 { return saturatingAdd(c.windowEnd.Load(), c.drain) }

func saturatingAdd(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}
