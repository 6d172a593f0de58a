"""The data that a client stores per attempt during a run, and the samples made from it afterwards. Extending a
list is the cheapest operation, and values common to all samples are not stored."""

from array import array
from itertools import accumulate, islice

from . import wire

# Numbers stored per attempt: transaction, attempt, step, code space and flags in one, as in a sample; rows, and the
# code x 2^32; due, start and end time.
KEPT = 5
# Operations per list: extending a long list may move it, which takes longer the longer it is.
PIECE = 1 << 13
_SAMPLE = 64
_FRAME = 1 << 20


def frames(client, pieces):
    """The samples of a client, in frames."""
    operations = 0
    for piece in pieces:
        samples, operations = _samples(client, operations, piece)
        for at in range(0, len(samples), _FRAME):
            yield memoryview(samples)[at:at + _FRAME]


def _samples(client, before, piece):
    """The samples of a piece with `before` operations before it, and the number at its end. Column by column, as a loop over
    samples would take longer than some runs do."""
    kinds, rows, *times = (array("Q", piece[i::KEPT]) for i in range(KEPT))
    count = len(kinds)
    begins = [attempt == 0 for attempt in _parts(kinds, "H")[1::4]]
    samples = bytearray(count * _SAMPLE)
    halves, words = memoryview(samples).cast("I"), memoryview(samples).cast("Q")
    halves[0::16] = array("I", [client]) * count
    halves[1::16] = array("I", islice(accumulate(begins, initial=before - 1), 1, None))
    words[1::8] = kinds
    halves[4::16] = _parts(rows, "I")[1::2]
    halves[5::16] = _parts(rows, "I")[0::2]
    for i, column in enumerate(times):
        words[3 + i::8] = column
    words[6::8] = array("Q", [wire.MAX_U64]) * count
    return samples, before + sum(begins)


def _parts(column, kind):
    return memoryview(column).cast("B").cast(kind)
