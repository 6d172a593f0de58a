"""Interruption of a statement on a server. It takes a second connection, and a server that hangs must not hold up other clients,
so it happens in a thread of its own, every 100 ms at most."""

import threading
import time

_EVERY_S = 0.1
# For opening connections as well, in whole seconds.
CONNECT_S = 10


class Interrupter:
    """Asks the server, by `ask`, to stop what a connection executes."""

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
