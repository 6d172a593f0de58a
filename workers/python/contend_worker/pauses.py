"""How long Python's garbage collector kept every thread from going on. It runs in whichever thread came to its threshold and
holds the interpreter's lock, so a collection is a pause of all clients."""

import gc
import time

_clock = time.monotonic_ns


class Pauses:
    """Collections from `begin` to `end`. They never overlap, so one reading of the clock is kept."""

    def __init__(self):
        self.started, self.count, self.total, self.longest = 0, 0, 0, 0
        # Each look-up of a bound method makes another object; this one can be found again in the list.
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
