"""Promises of the runs of loops: every pair of values is in one of them, and they are few."""

from __future__ import annotations

import unittest

import drift


class Covering(unittest.TestCase):
    def test_every_pair_that_a_run_can_show_is_in_one(self) -> None:
        shown = set().union(*(drift.pairs(run) for run in drift.covering()))
        self.assertEqual(shown, drift.all_pairs())

    def test_a_pair_of_what_does_not_matter_is_in_none(self) -> None:
        self.assertNotIn(frozenset([("loop", "barrier"), ("bytes", "25")]), drift.all_pairs())
        self.assertIn(frozenset([("loop", "scan"), ("bytes", "25")]), drift.all_pairs())

    def test_runs_are_the_same_each_time_and_hardly_more_than_the_two_largest_factors_want(self) -> None:
        runs = drift.covering()
        self.assertEqual(runs, drift.covering())
        sized = sum(drift.matters(loop, "bytes") for loop in drift.FACTORS["loop"])
        self.assertLess(len(runs), 1.5 * sized * len(drift.FACTORS["bytes"]))


if __name__ == "__main__":
    unittest.main()
