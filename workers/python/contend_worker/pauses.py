"""Pauses by Python's garbage collector. It runs in the thread that reaches its threshold and holds the
interpreter's lock, so a collection pauses all clients."""

import gc
import time

_clock = time.monotonic_ns


class Pauses:
    """Collections from `begin` to `end`. They never overlap, so one clock reading is stored."""

    def __init__(self):
        self.started, self.count, self.total, self.longest = 0, 0, 0, 0
        # Each access to a bound method creates another object; this one can be found in the list again.
        self.callback = self._collected

    def begin(self):
        gc.callbacks.append(self.callback)

    def end(self):
        gc.callbacks.remove(self.callback)

    def _collected(self, phase, _):
        if phase == "start":
            self.started = _clock()
            return
        took = _clock() - self.started
        self.count += 1
        self.total += took
        self.longest = max(self.longest, took)

    def facts(self):
        return {"gc_pauses": self.count, "gc_pause_ns": self.total, "gc_pause_ns_max": self.longest}
