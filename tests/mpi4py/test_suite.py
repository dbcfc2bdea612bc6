"""Promises of scripts/mpi4py: no bad run counts as passed, and the list of exclusions stays true."""

from __future__ import annotations

import tempfile
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

from suite import build, exclusions, outcome, programs

LIST = Path(__file__).with_name("exclusions.toml")


def said(rank: int, *lines: str) -> str:
    return "".join(f"[{rank}] {line}\n" for line in lines)


PASSED = ("testOne (test_op.TestOp.testOne) ... ok", "Ran 3 tests in 0.1s", "", "OK (skipped=1)")


class Outcomes(unittest.TestCase):
    def test_a_run_is_passed_when_every_rank_says_so(self) -> None:
        result = outcome.read(said(0, *PASSED) + said(1, *PASSED), 2, 0, 1.0)
        self.assertTrue(result.passed)
        self.assertEqual((result.run, result.skipped, result.problems()), (3, 1, []))

    def test_a_failure_on_one_rank_is_named_with_the_rank(self) -> None:
        bad = said(1, "FAIL: testOne (test_op.TestOp.testOne)", "Ran 3 tests in 0.1s", "FAILED (failures=1, errors=2)")
        result = outcome.read(said(0, *PASSED) + bad, 2, 1, 1.0)
        self.assertFalse(result.passed)
        self.assertEqual((result.failed, result.errors), (1, 2))
        self.assertEqual(result.problems(), ["FAIL: testOne (test_op.TestOp.testOne) [rank 1]"])

    def test_a_rank_that_does_not_end_is_named_with_the_test_it_was_in(self) -> None:
        result = outcome.read(said(0, *PASSED) + said(1, "testTwo (test_op.TestOp.testTwo) ... "), 2, 0, 1.0)
        self.assertFalse(result.passed)
        self.assertEqual(result.problems(), ["rank 1 did not end; it was in testTwo (test_op.TestOp.testTwo)"])

    def test_silence_failing_launchers_and_unequal_ranks_are_not_passed(self) -> None:
        self.assertFalse(outcome.read("", 1, 0, 1.0).passed)
        nothing = said(0, "Ran 0 tests in 0.0s", "OK")
        self.assertEqual(outcome.read(nothing, 1, 0, 1.0).problems(), ["no test ran"])
        failing = outcome.read(said(0, *PASSED), 1, 9, 1.0)
        self.assertFalse(failing.passed)
        self.assertEqual(failing.problems(), ["the launcher ended with status 9"])
        unequal = outcome.read(said(0, *PASSED) + said(1, "Ran 2 tests in 0.1s", "OK"), 2, 0, 1.0)
        self.assertFalse(unequal.passed)

    def test_what_a_test_prints_is_no_verdict(self) -> None:
        result = outcome.read(said(0, "OK", "testTwo (test_op.TestOp.testTwo) ... "), 1, 0, 1.0)
        self.assertEqual(result.unfinished, [0])


class Programs(unittest.TestCase):
    def setUp(self) -> None:
        self.programs = {program.name: program for program in programs.programs(Path("/nowhere"))}

    def passes(self, name: str, output: str, size: int, status: int = 0) -> bool:
        return programs.read(self.programs[name], output, size, status, 1.0).passed

    def test_a_program_is_passed_when_it_said_what_it_has_to_say(self) -> None:
        hello = "".join(said(rank, f"Hello, World! I am process {rank} of 2 on vm.") for rank in range(2))
        self.assertTrue(self.passes("mpi4py.bench helloworld", hello, 2))
        self.assertFalse(self.passes("mpi4py.bench helloworld", hello, 3))
        self.assertFalse(self.passes("mpi4py.bench helloworld", hello, 2, status=1))
        ring = said(0, "time for 20 loops = 0.0086 seconds (2 processes, 5000 bytes)")
        self.assertTrue(self.passes("mpi4py.bench ringtest", ring, 2))
        self.assertFalse(self.passes("mpi4py.bench ringtest", ring, 3))
        pools = said(0, "pools of 2 workers did all tasks")
        self.assertTrue(self.passes("mpi4py.futures", pools, 3))
        self.assertFalse(self.passes("mpi4py.futures", pools, 2))
        self.assertTrue(self.passes("mpi4py.futures, its tests", said(0, "OK (skipped=8)"), 2))
        self.assertFalse(self.passes("mpi4py.futures, its tests", said(0, "FAILED (errors=1)"), 2))

    def test_a_program_that_fails_says_in_which_of_its_tests(self) -> None:
        program = self.programs["mpi4py.futures, its tests"]
        ended = programs.read(program, said(0, "FAIL: test_map (__main__.PoolTest.test_map)", "FAILED (failures=1)"), 2, 1, 1.0)
        self.assertIn("test_map", "".join(ended.problems()))

    def test_all_tests_but_one_run(self) -> None:
        patterns = programs.but(programs.RACES)[1::2]

        def runs(name: str) -> bool:
            return any(fnmatchcase(f"__main__.PoolTest.{name}", pattern) for pattern in patterns)

        self.assertFalse(runs(programs.RACES))
        for name in (f"{programs.RACES}_wait", "test_submit_cancel", "test_map", "test_l", f"{programs.RACES[:-1]}e"):
            self.assertTrue(runs(name), name)

    def test_a_benchmark_has_figures_for_every_size(self) -> None:
        lines = [f"{1 << i:10d}         1589.49 | 1.0307723e-05 ± 7.7e-05    100" for i in range(17)]
        self.assertTrue(self.passes("mpi4py.bench pingpong", said(0, *lines), 2))
        del lines[3]
        self.assertFalse(self.passes("mpi4py.bench pingpong", said(0, *lines), 2))


class Exclusions(unittest.TestCase):
    def test_the_list_is_well_formed(self) -> None:
        self.assertTrue(exclusions.parse(LIST.read_text(encoding="utf-8")))

    def test_nothing_is_excluded_for_another_reason_or_for_none(self) -> None:
        for entry in (
            'because = "slow"\nreason = "takes long"\nmodules = ["test_op"]',
            'because = "files"\nreason = " "\nmodules = ["test_op"]',
            'because = "files"\nreason = "none there"',
            'because = "files"\nreason = "none there"\nmodule = ["test_op"]',
        ):
            with self.subTest(entry), self.assertRaises(exclusions.ExclusionError):
                exclusions.parse(f"[[exclusion]]\n{entry}\n")

    def test_a_name_that_the_suite_does_not_have_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            source = "class TestOp:\n    def testOne(self):\n        pass\n"
            Path(directory, "test_op.py").write_text(source, encoding="utf-8")

            def check(modules: tuple[str, ...], tests: tuple[str, ...]) -> None:
                exclusions.check([exclusions.Exclusion("files", "none", modules, tests)], Path(directory))

            check(("test_op",), ("test_op.TestOp.testOne", "test_op.TestOp.*"))
            for modules, tests in ((("test_io",), ()), ((), ("test_op.TestOp.testTwo",)), ((), ("test_io.TestIO.*",))):
                with self.subTest(modules=modules, tests=tests), self.assertRaises(exclusions.ExclusionError):
                    check(modules, tests)


class Builds(unittest.TestCase):
    def test_a_build_is_another_one_when_wrapper_or_header_changes(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            mpicc, header = Path(directory, "mpicc"), Path(directory, "mpi.h")
            mpicc.write_text("one")
            header.write_text("one")
            marks = [build.fingerprint(mpicc, [header])]
            self.assertEqual(marks[0], build.fingerprint(mpicc, [header]))
            for file in (mpicc, header):
                file.write_text("two")
                marks.append(build.fingerprint(mpicc, [header]))
            self.assertEqual(len(set(marks)), 3)


if __name__ == "__main__":
    unittest.main()
