"""Promises of the benchmark driver. Run: python3 -m unittest discover scripts/bench.d"""

import sys
import time
import unittest
from pathlib import Path

from mpibench import goals, implementations, measure, picture, plan, report
from mpibench.__main__ import sizes
from mpibench.implementations import PEERS, Implementation
from mpibench.measure import Results, Row


def implementation(name: str, label: str, program: str = "") -> Implementation:
    """One whose launcher is Python with this program."""
    return Implementation(
        name, label, Path("mpicc"), [sys.executable, "-c", program], programs={"microbench": Path("x")}
    )


def collectives_plan(**options: list) -> plan.Plan:
    wanted = {"only": None, "ranks": None, "sizes": None, **options}
    return plan.make_collectives_plan(False, rounds=None, cache_bytes=32 << 20, **wanted)


def argument_after(case: plan.Case, option: str) -> str:
    return case.arguments[case.arguments.index(option) + 1]


class Driver(unittest.TestCase):
    def test_a_time_counts_only_with_a_verified_answer(self):
        self.assertEqual(measure.reported_time("verified: all\ntime: 1.25 s\n"), 1.25)
        self.assertIsNone(measure.reported_time("time: 1.25 s\n"))
        self.assertIsNone(measure.reported_time("verified: all\nserial time: 1.25 s\n"))

    def test_the_best_peer_of_a_latency_is_the_lower_and_of_a_rate_the_higher(self):
        samples = {"ours": [2.0], "mpich": [4.0, 5.0, 100.0], "openmpi": [8.0]}
        latency, rate = Row("latency", 2, 8, "us", samples), Row("rate", 2, 8, "Mmsg/s", samples)
        self.assertEqual(goals.best_peer(latency, ["mpich", "openmpi"]), ("mpich", 5.0))
        self.assertEqual(goals.best_peer(rate, ["mpich", "openmpi"]), ("openmpi", 8.0))
        self.assertEqual(goals.ratio_to_best_peer(latency, ["mpich", "openmpi"]), 2.5)
        self.assertEqual(goals.ratio_to_best_peer(rate, ["mpich", "openmpi"]), 0.25)

    def test_there_is_no_ratio_without_a_peer_or_without_ours(self):
        self.assertIsNone(goals.ratio_to_best_peer(Row("latency", 2, 8, "us", {"ours": [1.0]}), ["mpich"]))
        self.assertIsNone(goals.ratio_to_best_peer(Row("latency", 2, 8, "us", {"mpich": [1.0]}), ["mpich"]))

    def test_there_is_no_ratio_to_a_peer_that_hides_nothing_and_the_goal_is_met(self):
        row = Row("overlap", 2, 65536, "%", {"ours": [0.0], "mpich": [0.0]})
        self.assertIsNone(goals.ratio_to_best_peer(row, ["mpich"]))
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

    def test_every_peer_spreads_over_hosts_and_has_a_colour_in_the_picture(self):
        for name in PEERS:
            self.assertNotEqual(implementations.hosts_of(name, 2, 4), implementations.hosts_of("ours", 2, 4))
            self.assertIn(name, picture.COLOURS)
            self.assertIn(name, picture.MARKERS)
        intel = implementations.hosts_of("intelmpi", 2, 8)
        self.assertEqual(intel[:3], ["-bootstrap", "ssh", "-bootstrap-exec"])
        self.assertEqual(intel[-4:], ["-hosts", "c0,c1", "-ppn", "4"])
        self.assertIn("FI_PROVIDER", intel)

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


class Collectives(unittest.TestCase):
    def test_every_collective_is_measured_at_every_size_with_all_numbers_of_ranks(self):
        for ranks in plan.COLLECTIVE_RANKS:
            cases = [case for case in collectives_plan().cases if case.ranks == ranks]
            kernels = [kernel for case in cases for kernel in case.kernel.split(",")]
            self.assertEqual(kernels, [name for name in plan.COLLECTIVES if name != "reduce"])
            for case in cases:
                self.assertEqual(sizes(argument_after(case, "--sizes")), list(plan.COLLECTIVE_SIZES))
                self.assertEqual(argument_after(case, "--buffers"), "both")

    def test_options_select_collectives_ranks_and_sizes(self):
        cases = collectives_plan(only=["reduce", "barrier"], ranks=[3], sizes=[8, 4096]).cases
        self.assertEqual([(c.kernel, c.ranks) for c in cases], [("barrier,reduce", 3)])
        self.assertEqual(argument_after(cases[0], "--sizes"), "8,4096")
        self.assertNotIn("--sizes", collectives_plan(only=["barrier"]).cases[0].arguments)
        self.assertEqual(sizes("0,8,1K,2M"), [0, 8, 1024, 2 << 20])

    def test_the_program_has_a_kernel_for_every_collective(self):
        source = (Path(__file__).parent / "microbench/collectives.c").read_text()
        for name in plan.COLLECTIVES:
            self.assertIn(f'"{name}", "MPI_', source)

    def test_the_rings_of_all_ranks_are_larger_than_the_largest_cache(self):
        for ranks in (2, 8, 16):
            self.assertGreater(plan.ring_bytes(ranks, 480 << 20) * ranks, 480 << 20)
            self.assertGreaterEqual(plan.ring_bytes(ranks, 0) * ranks, 64 << 20)

    def test_a_command_gives_rows_by_the_kernels_and_buffers_that_it_prints(self):
        def prints(*values: float) -> str:
            lines = [
                {"kernel": "bcast0", "buffers": buffers, "bytes": 8, "unit": "us", "value": value}
                for buffers, value in zip(("same", "ring"), values, strict=True)
            ]
            return f"import json\nfor line in {lines}: print(json.dumps(line))"

        found = [implementation("ours", "A", prints(2, 6)), implementation("mpich", "B 5", prints(4, 3))]
        case, results = plan.Case("bcast0,scan", 2, "microbench", (), timeout=10), Results()
        measure.measure(plan.Plan(2, [case], 0), found, Path(), time.monotonic() + 60, results)
        self.assertEqual(results.failures, [])
        self.assertEqual(results.rounds, 2)
        self.assertEqual(
            {key: row.samples for key, row in results.rows.items()},
            {
                ("bcast0", 2, 8): {"ours": [2, 2], "mpich": [4, 4]},
                ("bcast0, ring", 2, 8): {"ours": [6, 6], "mpich": [3, 3]},
            },
        )

    def test_the_table_names_the_best_peer_and_says_how_fast_ours_is_beside_it(self):
        found = [implementation(*names) for names in (("ours", "BCS-MPI"), ("mpich", "MPICH 5"))]
        found.append(implementation("openmpi", "Open MPI 5"))
        results = Results()
        for kernel, size, *values in (
            ("barrier", 0, 1, 2, 3),
            ("alltoall", 8192, 4, 3, 2),
            ("alltoall, ring", 8192, 4, 8, 9),
        ):
            for name, value in zip(("ours", "mpich", "openmpi"), values, strict=True):
                results.add(kernel, 2, size, "us", name, value)
        self.assertEqual(
            report.collectives_table(results, found)[1:],
            [
                ["barrier", "2", "0 B", "1", "2", "MPICH", "2.00x", "", "", "", ""],
                ["alltoall", "2", "8 KB", "4", "2", "Open MPI", "0.50x", "4", "8", "MPICH", "2.00x"],
            ],
        )
        same = report.standing(results, ["mpich", "openmpi"], 2, ring=False)
        self.assertIn("in 1 of 2, geometric mean of the speeds 1.00x, least 0.50x", same)
        self.assertIn("in 1 of 1", report.standing(results, ["mpich", "openmpi"], 2, ring=True))
        self.assertIsNone(report.standing(results, ["mpich"], 8, ring=False))


if __name__ == "__main__":
    unittest.main()
