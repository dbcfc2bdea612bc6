"""Runs the cases, alternating between the implementations, and takes medians over the rounds."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from .implementations import Implementation
from .plan import Case, Plan

GIVE_UP_AFTER = 3
"""An implementation that hangs in this many commands on end, without a word, is measured no further."""


@dataclass
class Run:
    """How one command went."""

    seconds: float
    output: str
    failure: str | None
    """None when it ended well; else what happened, in a few words."""
    hung: bool = False


@dataclass
class Row:
    """One figure of the table: a kernel at a size and a number of ranks."""

    kernel: str
    ranks: int
    bytes: int
    unit: str
    samples: dict[str, list[float]] = field(default_factory=dict)

    def median(self, name: str) -> float | None:
        values = self.samples.get(name)
        return statistics.median(values) if values else None


@dataclass
class Failure:
    case: str
    implementation: str
    what: str


@dataclass
class Results:
    rows: dict[tuple[str, int, int], Row] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    rounds: int = 0
    """Whole rounds."""
    silent: dict[str, int] = field(default_factory=dict)
    """Commands on end in which an implementation hung without a word."""

    def heard(self, name: str, hung_silently: bool) -> None:
        self.silent[name] = self.silent.get(name, 0) + 1 if hung_silently else 0

    def given_up(self, name: str) -> bool:
        return self.silent.get(name, 0) >= GIVE_UP_AFTER

    def add(self, kernel: str, ranks: int, size: int, unit: str, name: str, value: float) -> None:
        row = self.rows.setdefault((kernel, ranks, size), Row(kernel, ranks, size, unit))
        row.samples.setdefault(name, []).append(value)

    def fail(self, case: str, name: str, what: str) -> None:
        failure = Failure(case, name, what)
        if failure not in self.failures:
            self.failures.append(failure)
            print(f"bench: {name}: {case}: {what}", file=sys.stderr)


def _end(process: subprocess.Popen[str]) -> None:
    """Ends a launcher and what it started: politely, so that it can clean up, then for good."""
    for sign, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        try:
            process.wait(patience)
            return
        except subprocess.TimeoutExpired:
            continue


def run(command: list[str], environment: dict[str, str], timeout: float) -> Run:
    start = time.perf_counter()
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, **environment},
            start_new_session=True,
        )
    except OSError as error:
        return Run(0, "", str(error))
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        _end(process)
        # What was printed before counts; the pipes are closed now, unless a stray process holds them.
        try:
            output, errors = process.communicate(timeout=2)
        except subprocess.TimeoutExpired as left:
            output = left.stdout or b""
            output = output.decode(errors="replace") if isinstance(output, bytes) else output
        return Run(time.perf_counter() - start, output, f"not done after {timeout:g} s", hung=True)
    except BaseException:  # interrupted or terminated: leave nothing behind
        _end(process)
        raise
    seconds = time.perf_counter() - start
    if process.returncode == 0:
        return Run(seconds, output, None)
    lines = errors.strip().splitlines()
    return Run(seconds, output, f"exit status {process.returncode}" + (f": {lines[0]}" if lines else ""))


def reported_time(output: str) -> float | None:
    """The seconds that a code reports, if it has verified its answer."""
    found = re.search(r"^time: ([0-9.]+) s$", output, re.MULTILINE)
    return float(found.group(1)) if found and re.search(r"^verified: ", output, re.MULTILINE) else None


def json_lines(output: str) -> list[dict]:
    lines = []
    for line in output.splitlines():
        if line.startswith("{"):
            try:
                lines.append(json.loads(line))
            except json.JSONDecodeError:
                continue  # the last line of a command that was ended
    return lines


def _measure(case: Case, implementation: Implementation, decks: Path, results: Results) -> float:
    """One round of one case; returns the seconds it took."""
    spent = 0.0
    for _ in range(case.repeat):
        arguments = [str(decks / a) if a.endswith(".deck") else a for a in case.arguments]
        done = run(
            implementation.command(case.ranks, case.program, arguments, hosts=case.hosts),
            implementation.environment,
            case.timeout,
        )
        spent += done.seconds
        results.heard(implementation.name, done.hung and not done.output.strip())
        if results.given_up(implementation.name):
            results.fail("everything from here on", implementation.name, "hangs; not measured further")
        if done.failure:
            results.fail(case.title, implementation.name, done.failure)
        if case.kernel == "empty" and not done.failure:
            results.add(case.row, case.ranks, 0, "ms", implementation.name, done.seconds * 1e3)
        elif case.program == "microbench":
            for line in json_lines(done.output):
                row = case.row_of(line["kernel"], line["buffers"])
                results.add(row, case.ranks, line["bytes"], line["unit"], implementation.name, line["value"])
        elif not done.failure:
            seconds = reported_time(done.output)
            if seconds is None:
                results.fail(case.title, implementation.name, "printed no verified answer and time")
            else:
                results.add(case.row, case.ranks, 0, "s", implementation.name, seconds)
        if done.failure:
            break
    return spent


def measure(
    plan: Plan, implementations: list[Implementation], decks: Path, deadline: float, results: Results
) -> None:
    """All rounds, or as many cases as start before `deadline` (on time.monotonic); the first is always whole.

    Within a round every case is run by all implementations in turn, and each round begins with another one.
    Adds to `results`, which holds what there is when this is interrupted.
    """
    slow: set[tuple[Case, str]] = set()
    for number in range(plan.rounds):
        first = number % len(implementations)
        order = implementations[first:] + implementations[:first]
        for position, case in enumerate(plan.cases):
            if number > 0 and time.monotonic() > deadline:
                return
            _progress(
                f"round {number + 1} of {plan.rounds}, {position + 1} of {len(plan.cases)}: {case.title}"
            )
            for implementation in order:
                if (case, implementation.name) in slow or results.given_up(implementation.name):
                    continue
                if _measure(case, implementation, decks, results) > case.slow:
                    slow.add((case, implementation.name))
        results.rounds = number + 1


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
