"""Interrupts statements on a server. That takes a second connection, and a server that hangs must not block other
clients, so it happens in its own thread, every 100 ms at most."""

import threading
import time

_EVERY_S = 0.1
# Also the limit for opening connections, in whole seconds.
CONNECT_S = 10


class Interrupter:
    """Calls `ask` to make the server stop a connection's statement."""

    def __init__(self, ask):
        self.ask, self.last = ask, 0.0

    def interrupt(self):
        now = time.monotonic()
        if now - self.last < _EVERY_S:
            return
        self.last = now
        threading.Thread(target=self._try, daemon=True).start()

    def _try(self):
        try:
            self.ask()
        except Exception:
            pass  # it is tried again until the client has ended
