"""Samples made of what clients keep, held against the format."""

import struct
import unittest

from contend_worker import samples, wire

_FORMAT = struct.Struct("<IIHHHBBII5Q")


def kept(transaction, attempt, failed, rows, *times):
    """An attempt as stored by a client; `failed`: step, space, flags and code, or None."""
    step, space, flags, code = failed or (wire.STEP_NONE, 0, 0, 0)
    return transaction | attempt << 16 | step << 32 | space << 48 | flags << 56, rows | code << 32, *times


class Samples(unittest.TestCase):
    def made(self, client, pieces):
        frames = [bytes(frame) for frame in samples.frames(client, pieces)]
        self.assertLessEqual(max(map(len, frames), default=0), 1 << 20)
        return list(_FORMAT.iter_unpack(b"".join(frames)))

    def test_all_fields_are_in_their_places(self):
        late, lost = 1 << 63, (wire.STEP_COMMIT, wire.SQLSTATE, wire.FLAG_INTERRUPTED, 0xFFFFFFFE)
        again = kept(0xFFFE, 1, None, 2, 8, 11, 12)
        first = [*kept(1, 0, None, 0xFFFFFFFF, 5, 6, late), *kept(0xFFFE, 0, lost, 3, 8, 9, 10), *again]
        second = [*kept(0, 0, (7, wire.WORKER, 0, 1), 1, 13, 14, 15), *kept(0, 1, None, 1, 13, 16, 17)]
        rest = (wire.MAX_U64, 0)
        self.assertEqual(self.made(0xFFFFFFFF, [first, [], second, []]), [
            (0xFFFFFFFF, 0, 1, 0, wire.STEP_NONE, 0, 0, 0, 0xFFFFFFFF, 5, 6, late, *rest),
            (0xFFFFFFFF, 1, 0xFFFE, 0, wire.STEP_COMMIT, wire.SQLSTATE, wire.FLAG_INTERRUPTED, 0xFFFFFFFE, 3, 8, 9, 10, *rest),
            (0xFFFFFFFF, 1, 0xFFFE, 1, wire.STEP_NONE, 0, 0, 0, 2, 8, 11, 12, *rest),
            (0xFFFFFFFF, 2, 0, 0, 7, wire.WORKER, 0, 1, 1, 13, 14, 15, *rest),
            (0xFFFFFFFF, 2, 0, 1, wire.STEP_NONE, 0, 0, 0, 1, 13, 16, 17, *rest),
        ])

    def test_frames_are_of_a_mebibyte_at_most(self):
        count = 3 * (1 << 14) + 1
        found = self.made(1, [list(kept(0, 0, None, 1, 2, 3, 4)) * count])
        self.assertEqual([sample[1] for sample in found], list(range(count)))

    def test_nothing_is_no_frame(self):
        self.assertEqual(self.made(1, [[], []]), [])


if __name__ == "__main__":
    unittest.main()
