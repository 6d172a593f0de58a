"""Counts of all workers of one server, in memory that they share.

Every worker process writes only into its own slot, so nothing has to be locked.
"""

import mmap
import struct

NAMES = ("requests", "failed", "retries", "gave_up", "connections_opened")
# Workers that one server starts in its life; later ones share a slot, and counts may then be lost.
_SLOTS = 4096
_SLOT = struct.Struct(f"{len(NAMES)}Q")


class Counters:
    def __init__(self):
        self._memory = mmap.mmap(-1, _SLOTS * _SLOT.size)
        self._slot = 0

    def take_slot(self, number):
        """Called in a worker after the fork, with its number in the server's life."""
        self._slot = number % _SLOTS

    def add(self, name, count=1):
        offset = self._slot * _SLOT.size + NAMES.index(name) * 8
        (old,) = struct.unpack_from("Q", self._memory, offset)
        struct.pack_into("Q", self._memory, offset, old + count)

    def totals(self):
        sums = [sum(column) for column in zip(*(_SLOT.iter_unpack(self._memory)))]
        return dict(zip(NAMES, sums))
