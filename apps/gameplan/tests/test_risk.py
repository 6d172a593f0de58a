"""The risk of parallel seeding: what must be refused is, and what must not be is not."""

import unittest

from gameplan.risk import Cell, measure, thresholds


def cell(numbers, writers, hold_ms, busy_ms):
    return measure(Cell(numbers, writers, hold_ms, busy_ms, rows=2, transactions=2))


class Risk(unittest.TestCase):
    def test_alone_and_over_one_connection_nothing_is_refused(self):
        result = cell("same", 1, 0, 0)
        self.assertEqual((result["committed"], result["locked"]), (2, 0))

    def test_inside_an_open_transaction_the_second_connection_is_refused_even_alone(self):
        result = cell("inside", 1, 0, 200)
        self.assertEqual((result["committed"], result["locked"]), (0, 2))
        self.assertGreaterEqual(result["longest_wait_ms"], 190)

    def test_without_a_wait_several_are_refused_and_with_one_they_are_not(self):
        self.assertGreater(cell("same", 3, 1000, 0)["locked"], 0)
        self.assertEqual(cell("same", 3, 50, 20_000)["locked"], 0)
        self.assertGreater(cell("before", 3, 1000, 0)["locked"], 0)

    def test_the_threshold_is_told(self):
        results = [dict(numbers="same", busy_ms=0, hold_ms=1, writers=w, locked=w // 4) for w in (1, 2, 4, 8)]
        self.assertIn("from 4 on", thresholds(results)[0])
        self.assertIn("none up to 2", thresholds(results[:2])[0])
