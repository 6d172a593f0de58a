"""What a client keeps of its attempts while it runs, and the samples that are made of it afterwards. Nothing costs less than
to lengthen a list, and what all samples have in common need not be noted at all."""

from array import array
from itertools import accumulate, islice

from . import wire

# Numbers kept of an attempt: transaction, attempt, step, space and flags in one, as a sample has them; rows, and the code
# x 2^32; when it was due, started and ended.
KEPT = 5
# Operations after which another list begins: one that grows is moved now and then, which takes the longer the longer it is.
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
    """The samples of a piece with so many operations before it, and with how many it ends. Column by column, as a loop over
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
