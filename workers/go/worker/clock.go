package worker

import (
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The runtime reads CLOCK_MONOTONIC without a system call, but exports only differences. The runtime's reading and
// the clock's are compared once.
var clockBase, clockBaseNS = compareClocks()

func compareClocks() (base time.Time, baseNS uint64) {
	closest := int64(1 << 62)
	for range 100 {
		var now unix.Timespec
		before := time.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
			panic(err)
		}
		after := time.Now()
		if took := after.Sub(before).Nanoseconds(); took < closest {
			closest = took
			base, baseNS = before.Add(after.Sub(before)/2), uint64(now.Nano())
		}
	}
	return base, baseNS
}

// monotonicNS reads CLOCK_MONOTONIC.
func monotonicNS() uint64 { return clockBaseNS + uint64(time.Since(clockBase)) }

// sleeper waits for points in time. The runtime's timers are exact to about a millisecond, so the rest is left to the
// kernel's.
type sleeper struct{ timer *time.Timer }

const timerExactNS = 1_200_000

// until waits until the clock reads ns, or wake is closed, or poked is set after a wake-up; it returns the reading.
func (s *sleeper) until(ns uint64, wake <-chan struct{}, poked *atomic.Bool) uint64 {
	now := monotonicNS()
	for now < ns && !poked.Load() {
		left := ns - now
		if left <= timerExactNS {
			rest := syscall.NsecToTimespec(int64(left))
			// A signal may interrupt it; the loop continues.
			_ = syscall.Nanosleep(&rest, nil)
		} else if !s.sleep(min(left-timerExactNS+100_000, 1<<62), wake) {
			return monotonicNS()
		}
		now = monotonicNS()
	}
	return now
}

// sleep waits this long; false: wake was closed first.
func (s *sleeper) sleep(ns uint64, wake <-chan struct{}) bool {
	if s.timer == nil {
		s.timer = time.NewTimer(time.Duration(ns))
	} else {
		s.timer.Reset(time.Duration(ns))
	}
	select {
	case <-s.timer.C:
		return true
	case <-wake:
		s.timer.Stop()
		return false
	}
}
