package worker

import (
	"fmt"
	"runtime/debug"
	"time"
)

// pauses counts the times in which Go's garbage collector stopped every goroutine since its creation. The runtime
// records them anyway, so this adds no work to the window.
type pauses struct {
	before debug.GCStats
}

func readPauses() (p pauses) {
	debug.ReadGCStats(&p.before)
	return p
}

// facts returns facts for `done`: number of pauses, total, and the longest (of the last 256, which the runtime
// keeps).
func (p pauses) facts() string {
	var now debug.GCStats
	debug.ReadGCStats(&now)
	count := now.NumGC - p.before.NumGC
	var longest time.Duration
	for i := 0; i < len(now.Pause) && int64(i) < count; i++ {
		longest = max(longest, now.Pause[i])
	}
	total := now.PauseTotal - p.before.PauseTotal
	return fmt.Sprintf("\tgc_pauses=%d\tgc_pause_ns=%d\tgc_pause_ns_max=%d", count, total.Nanoseconds(), longest.Nanoseconds())
}
