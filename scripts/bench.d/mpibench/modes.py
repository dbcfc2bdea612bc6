"""Our own modes: slices of fixed length, threads, MMDS and EMDS, each on against off; ratios are by round."""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .implementations import Implementation
from .measure import Results, json_lines, reported_time, run

SLICE_MICROSECONDS = 500
TIMEOUT = 60


@dataclass
class Mode:
    """One comparison: what it is called, the median, its unit, and the goal."""

    name: str
    value: float
    unit: str
    goal: float
    samples: list[float] = field(default_factory=list)

    @property
    def met(self) -> bool:
        return self.value <= self.goal


def _seconds(
    ours: Implementation, deck: Path, options: tuple[str, ...], results: Results, name: str
) -> float | None:
    done = run(ours.command(2, "hydro", [str(deck)], options), ours.environment, TIMEOUT)
    seconds = reported_time(done.output) if not done.failure else None
    if seconds is None:
        results.fail(name, ours.name, done.failure or "printed no verified answer and time")
    return seconds


def _overheads(
    ours: Implementation, deck: Path, rounds: int, variants: dict[str, tuple[str, ...]], results: Results
) -> dict[str, list[float]]:
    """Percent that each variant's run takes longer than the plain run beside it."""
    samples: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds):
        # The plain run stands first in even rounds and last in odd ones: a drift of the machine cancels.
        names = ["", *variants] if number % 2 == 0 else [*variants, ""]
        seconds = {n: _seconds(ours, deck, variants.get(n, ()), results, n or "hydro, plain") for n in names}
        plain = seconds[""]
        if plain is None:
            break
        for name in variants:
            with_it = seconds[name]
            if with_it:
                samples[name].append((with_it / plain - 1) * 100)
    return samples


def _blocking_slices(ours: Implementation, rounds: int, results: Results) -> list[float]:
    """Mean cost of a blocking call that starts at a random moment, in slices."""
    options = ("--slice", f"{SLICE_MICROSECONDS}us")
    arguments = [
        "blocking",
        "--phase",
        str(4 * SLICE_MICROSECONDS * 1e-6),
        # Short repetitions, of which the median counts: a rank that the system stops for a while (a real-time
        # process is, for 50 ms each second, where sched_rt_runtime_us has its default) spoils one of them and
        # not the figure.
        "--repetition",
        "0.1",
        "--repetitions",
        "15",
        "--limit",
        "3",
    ]
    samples = []
    for _ in range(rounds):
        done = run(ours.command(2, "microbench", arguments, options), ours.environment, TIMEOUT)
        if done.failure:
            results.fail("blocking call, fixed slices", ours.name, done.failure)
            break
        samples += [line["value"] / SLICE_MICROSECONDS for line in json_lines(done.output)]
    return samples


def _threads_overhead(ours: Implementation, rounds: int, results: Results) -> list[float]:
    """Percent that a small message takes longer where the program asked for MPI_THREAD_MULTIPLE."""
    samples = []
    for number in range(2 * rounds):
        latency = {}
        # Each comes first as often as the other.
        for level in ("single", "multiple") if number % 2 == 0 else ("multiple", "single"):
            arguments = ["latency", "--sizes", "8", "--repetitions", "25", "--threads", level]
            done = run(ours.command(2, "microbench", arguments), ours.environment, TIMEOUT)
            if done.failure:
                results.fail(f"latency with MPI_THREAD_{level.upper()}", ours.name, done.failure)
                return samples
            latency[level] = json_lines(done.output)[0]["value"]
        samples.append((latency["multiple"] / latency["single"] - 1) * 100)
    return samples


def measure_modes(ours: Implementation, decks: Path, rounds: int, results: Results) -> list[Mode]:
    modes = []

    def add(name: str, samples: list[float], unit: str, goal: float) -> None:
        if samples:
            modes.append(Mode(name, statistics.median(samples), unit, goal, samples))

    fixed = ("--slice", f"{SLICE_MICROSECONDS}us")
    add(
        f"blocking call, {SLICE_MICROSECONDS} us slices",
        _blocking_slices(ours, min(rounds, 3), results),
        "slices",
        1.6,
    )
    add(
        "latency of 8 B, MPI_THREAD_MULTIPLE against SINGLE", _threads_overhead(ours, rounds, results), "%", 5
    )
    name = f"hydro coarse, {SLICE_MICROSECONDS} us slices against elastic"
    add(
        name,
        _overheads(ours, decks / "hydro/decks/coarse.deck", min(rounds, 3), {name: fixed}, results)[name],
        "%",
        5,
    )
    with tempfile.TemporaryDirectory(prefix="bench-mds-") as traces:
        variants = {
            "hydro, MMDS on against off": ("--mmds", "--trace-dir", traces),
            "hydro, EMDS on against off": ("--emds", "--trace-dir", traces),
        }
        samples = _overheads(ours, decks / "hydro/decks/default.deck", rounds, variants, results)
    for name, goal in zip(variants, (0.4, 1.3), strict=True):
        add(name, samples[name], "%", goal)
    return modes
