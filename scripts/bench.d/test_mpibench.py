"""Promises of the benchmark driver. Run: python3 -m unittest discover scripts/bench.d"""

import sys
import time
import unittest

from mpibench import goals, implementations, measure, plan
from mpibench.measure import Results, Row


class Driver(unittest.TestCase):
    def test_a_time_counts_only_with_a_verified_answer(self):
        self.assertEqual(measure.reported_time("verified: all\ntime: 1.25 s\n"), 1.25)
        self.assertIsNone(measure.reported_time("time: 1.25 s\n"))
        self.assertIsNone(measure.reported_time("verified: all\nserial time: 1.25 s\n"))

    def test_the_better_peer_of_a_latency_is_the_lower_and_of_a_rate_the_higher(self):
        samples = {"ours": [2.0], "mpich": [4.0, 5.0, 100.0], "openmpi": [8.0]}
        latency, rate = Row("latency", 2, 8, "us", samples), Row("rate", 2, 8, "Mmsg/s", samples)
        self.assertEqual(goals.better_peer(latency, ["mpich", "openmpi"]), ("mpich", 5.0))
        self.assertEqual(goals.better_peer(rate, ["mpich", "openmpi"]), ("openmpi", 8.0))
        self.assertEqual(goals.ratio_to_better_peer(latency, ["mpich", "openmpi"]), 2.5)
        self.assertEqual(goals.ratio_to_better_peer(rate, ["mpich", "openmpi"]), 0.25)

    def test_there_is_no_ratio_without_a_peer_or_without_ours(self):
        self.assertIsNone(goals.ratio_to_better_peer(Row("latency", 2, 8, "us", {"ours": [1.0]}), ["mpich"]))
        self.assertIsNone(goals.ratio_to_better_peer(Row("latency", 2, 8, "us", {"mpich": [1.0]}), ["mpich"]))

    def test_there_is_no_ratio_to_a_peer_that_hides_nothing_and_the_goal_is_met(self):
        row = Row("overlap", 2, 65536, "%", {"ours": [0.0], "mpich": [0.0]})
        self.assertIsNone(goals.ratio_to_better_peer(row, ["mpich"]))
        self.assertTrue(goals.GOALS["overlap", 2, 65536].met(0.0, None))

    def test_every_goal_is_measured_by_the_default_run(self):
        plans = plan.make_plan(False, None, None), plan.make_host_plan(False, None, None)
        measured = {(c.row, c.ranks) for p in plans for c in p.cases}
        self.assertEqual({(kernel, ranks) for kernel, ranks, _ in goals.GOALS} - measured, set())

    def test_ranks_are_spread_evenly_over_hosts_whoever_launches_them(self):
        self.assertEqual(implementations.hosts_of("ours", 2, 8), ["--host", "c0,c1", "--ppn", "4"])
        self.assertEqual(implementations.hosts_of("openmpi", 2, 8)[-2:], ["--host", "c0:4,c1:4"])
        self.assertEqual(implementations.hosts_of("mpich", 2, 8)[-4:], ["-hosts", "c0,c1", "-ppn", "4"])
        for case in plan.make_host_plan(False, None, None).cases:
            self.assertEqual(case.ranks % case.hosts, 0, case.title)

    def test_only_selects_kernels(self):
        cases = plan.make_plan(True, ["latency", "barrier"], None).cases
        self.assertEqual({c.kernel for c in cases}, {"latency", "barrier"})

    def test_what_a_command_printed_before_it_was_ended_counts(self):
        hang = "import time; print('{\"kernel\": 1}', flush=True); print('{\"c', flush=True); time.sleep(9)"
        start = time.monotonic()
        done = measure.run([sys.executable, "-c", hang], {}, timeout=1)
        self.assertLess(time.monotonic() - start, 8)
        self.assertTrue(done.hung)
        self.assertIn("not done after 1 s", done.failure)
        self.assertEqual(measure.json_lines(done.output), [{"kernel": 1}])

    def test_a_failure_is_told_with_status_and_first_line(self):
        done = measure.run(
            [sys.executable, "-c", "import sys; sys.stderr.write('why\\nmore'); sys.exit(3)"], {}, 10
        )
        self.assertEqual(done.failure, "exit status 3: why")
        self.assertIn("no-such-program", measure.run(["./no-such-program"], {}, 10).failure)

    def test_an_implementation_that_hangs_without_a_word_is_given_up(self):
        results = Results()
        for _ in range(measure.GIVE_UP_AFTER - 1):
            results.heard("ours", True)
        self.assertFalse(results.given_up("ours"))
        results.heard("ours", False)
        for _ in range(measure.GIVE_UP_AFTER):
            results.heard("ours", True)
        self.assertTrue(results.given_up("ours"))


if __name__ == "__main__":
    unittest.main()
