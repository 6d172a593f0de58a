"""The window as the clients see it. All times are readings of the monotonic clock, in nanoseconds."""

import sys
import threading
import time

from .wire import MAX_U64

_clock = time.monotonic_ns
# Far below the longest wait that a lock supports.
_LONGEST_S = 100_000.0
_TOLD_MOST = 20


class Control:
    """Shared by all clients of a run and their supervisor."""

    def __init__(self, drain_ns):
        self.drain_ns = drain_ns
        self.start_ns = 0
        self.window_end = MAX_U64
        self.begun, self.window_over, self.drain_over = threading.Event(), threading.Event(), threading.Event()
        # Not empty once the drain is over: the cheapest check between statements.
        self.over = []
        self.abandoned = False
        self.told = 0

    def open(self, start_ns, length_ns):
        self.start_ns = start_ns
        self.window_end = start_ns + length_ns
        self.begun.set()

    def abandon(self):
        self.abandoned = True
        self.begun.set()

    def stop(self, now_ns):
        self.window_end = min(self.window_end, now_ns)
        self.window_over.set()

    def end_drain(self):
        if not self.over:
            self.over.append(True)
        self.drain_over.set()

    def drain_end(self):
        return self.window_end + self.drain_ns

    def until(self, due, event):
        """Waits until it is due or the event is set; returns the time."""
        while True:
            now = _clock()
            if now >= due or event.is_set():
                return now
            event.wait(min((due - now) / 1e9, _LONGEST_S))

    def wait(self, ns):
        """Waits this long; false if the drain was over first."""
        until = _clock() + ns
        return self.until(until, self.drain_over) >= until

    def tell(self, words):
        """Prints a message on standard error, a few times at most."""
        self.told += 1
        if self.told <= _TOLD_MOST:
            print(f"contend worker: {words}", file=sys.stderr, flush=True)
