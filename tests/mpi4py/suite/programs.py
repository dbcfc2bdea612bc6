"""What mpi4py brings along as programs: its benchmarks, and pools of workers on the ranks of a job."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .outcome import LINE, Outcome, Rank

OWN = Path(__file__).resolve().parents[1] / "pools.py"
"""A program of ours that asks both executors, in the mode in which the ranks are the workers."""


@dataclass(frozen=True)
class Program:
    name: str
    command: tuple[str, ...]
    """For the interpreter, from its first argument on."""
    least: int
    """Ranks that it needs."""
    problems: Callable[[list[str], int], list[str]]
    """What is wrong with the lines that a job of so many ranks has printed."""


def greeted(lines: list[str], size: int) -> list[str]:
    wanted = {f"Hello, World! I am process {rank} of {size} on " for rank in range(size)}
    return [f"no line '{text}…'" for text in sorted(wanted) if not any(line.startswith(text) for line in lines)]


def measured(sizes: Iterable[int]) -> Callable[[list[str], int], list[str]]:
    """A line of figures for each of these sizes of messages."""

    def problems(lines: list[str], size: int) -> list[str]:
        said = {int(match[1]) for match in map(re.compile(r"\s*(\d+)\s+[\d.]+( \||$)").match, lines) if match}
        return [f"no figures for messages of {bytes} bytes" for bytes in sizes if bytes not in said]

    return problems


def says(pattern: str) -> Callable[[list[str], int], list[str]]:
    def problems(lines: list[str], size: int) -> list[str]:
        wanted = pattern.format(size=size, workers=max(size - 1, 1))
        return [] if any(re.fullmatch(wanted, line) for line in lines) else [f"no line like: {wanted}"]

    return problems


RACES = "test_submit_shutdown_cancel"
"""A test of pools whose two threads race: one takes the tasks that are left in order to cancel them, the other may take the very
last one in that moment and run it. With MPICH, too, some one of ten thousand such pools has lost."""


def but(name: str) -> list[str]:
    """Options for `unittest` by which every test runs whose name does not end in `name`: it differs at some place from the end."""
    return [word for i in range(len(name)) for word in ("-k", f"*[!{name[i]}]{name[i + 1 :]}")]


def programs(sources: Path) -> list[Program]:
    powers = [1 << i for i in range(17)]
    return [
        Program("mpi4py.bench helloworld", ("-m", "mpi4py.bench", "helloworld"), 1, greeted),
        Program(
            "mpi4py.bench ringtest",
            ("-m", "mpi4py.bench", "ringtest", "-l", "20", "-n", "5000"),
            1,
            says(r"time for 20 loops = [\d.e-]+ seconds \({size} processes, 5000 bytes\)"),
        ),
        Program(
            "mpi4py.bench pingpong",
            ("-m", "mpi4py.bench", "pingpong", "-n", "65536", "-l", "100"),
            2,
            measured(powers),
        ),
        Program(
            "mpi4py.bench pingpong --pickle",
            ("-m", "mpi4py.bench", "pingpong", "-n", "65536", "-l", "100", "--pickle"),
            2,
            measured(powers),
        ),
        Program(
            "mpi4py.bench futures",
            ("-m", "mpi4py.futures", "-m", "mpi4py.bench", "futures", "-n", "4096", "-t", "5", "-l", "2"),
            2,
            measured(powers[:13]),
        ),
        Program(
            "mpi4py.futures",
            ("-m", "mpi4py.futures", str(OWN)),
            1,
            says(r"pools of {workers} workers did all tasks"),
        ),
        Program(
            "mpi4py.futures, its tests",
            ("-m", "mpi4py.futures", str(sources / "demo/futures/test_futures.py"), *but(RACES)),
            2,
            says(r"OK( \(skipped=\d+\))?"),
        ),
    ]


def read(program: Program, output: str, size: int, status: int, seconds: float) -> Outcome:
    """Reads the output of `mpiexec --label` with `size` ranks: one test, which fails when anything is wrong."""
    lines = [match[2] for match in map(LINE.match, output.splitlines()) if match]
    bad = program.problems(lines, size) + [line for line in lines if re.match("(FAIL|ERROR): ", line)]
    if status != 0:
        bad.append(f"the launcher ended with status {status}")
    counts = {"failures": 1} if bad else {}
    return Outcome([Rank(1, "FAILED" if bad else "OK", counts, bad)], status, seconds)
