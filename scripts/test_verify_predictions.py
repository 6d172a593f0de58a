"""Tests of verify-predictions.py: `python3 -m unittest` in this folder."""

import importlib.util
import pathlib
import unittest

SPEC = importlib.util.spec_from_file_location("predictions", pathlib.Path(__file__).with_name("verify-predictions.py"))
predictions = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(predictions)


class Predictions(unittest.TestCase):
    def test_a_prediction_holds_near_the_measured_ratio_or_in_its_interval(self):
        measured = {"ratio": 2.0, "low": 1.9, "high": 2.6}
        # The last interval overlaps the measured one, and the ratio is outside of it.
        for ratio, low, high, expected in [(2.2, 2.2, 2.2, True), (2.5, 2.4, 2.6, True), (2.7, 2.5, 2.9, False)]:
            self.assertEqual(predictions.holds(measured, {"ratio": ratio, "low": low, "high": high}), expected)

    def test_the_whole_table_is_written_or_nothing(self):
        for arguments in (["--write", "bank"], ["--hash", "--write"]):
            with self.assertRaisesRegex(SystemExit, "whole table"):
                predictions.main(arguments)


if __name__ == "__main__":
    unittest.main()
