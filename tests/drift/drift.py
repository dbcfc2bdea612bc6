"""Loops of tests/programs/mpi/drift.c, ten thousand times round: each value of what can matter meets each value of every other.

What can matter is the loop, its form, the bytes of a message, which rank is slow, where the ranks are, and the slices. All combinations
of them take days. A covering array of strength two (D. M. Cohen and others, "The AETG System", 1997) has every pair of values in some run.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import time
from collections.abc import Iterator

COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan", "gather", "scatter", "allgather", "alltoall", "reduce_scatter")
MESSAGES = ("one_way", "neighbours", "between")
OTHERS = ("window", "beside", "apart", "late")
# Ranks and nodes: on this machine as `launch` takes them, and on hosts.
HERE = ("2", "3", "5", "8", "2/2", "3/2", "5/3", "8/4")
ON_HOSTS = ("4 on hosts", "8 on hosts")
HOSTS = 4

FACTORS: dict[str, tuple[str, ...]] = {
    "loop": COLLECTIVES + MESSAGES + OTHERS,
    "form": ("blocking", "nonblocking", "persistent"),
    "bytes": ("1", "8", "24", "25", "64", "8191", "8192", "8193", "65536", "65537"),
    "slow": ("nobody", "root", "leaf"),
    "place": HERE + ON_HOSTS,
    "slices": ("elastic", "fixed"),
}
Value = tuple[str, str]
Run = dict[str, str]


def matters(loop: str, factor: str) -> bool:
    """Whether a loop is another one when this factor has another value."""
    if factor == "form":
        return loop in COLLECTIVES
    if factor == "bytes":
        return loop not in OTHERS and loop != "barrier"
    return factor != "slow" or loop not in OTHERS or loop == "window"


def pairs(run: Run) -> set[frozenset[Value]]:
    """The pairs of values that a run shows."""
    shown = [(factor, value) for factor, value in run.items() if matters(run["loop"], factor)]
    return {frozenset(pair) for pair in itertools.combinations(shown, 2)}


def all_pairs() -> set[frozenset[Value]]:
    """Every pair of values that some run can show."""
    found = set()
    for one, other in itertools.combinations(FACTORS, 2):
        for pair in itertools.product(FACTORS[one], FACTORS[other]):
            values = list(zip((one, other), pair, strict=True))
            loop = next((value for factor, value in values if factor == "loop"), None)
            if loop is None or all(matters(loop, factor) for factor, _ in values):
                found.add(frozenset(values))
    return found


def covering() -> list[Run]:
    """Runs that show all pairs, the same ones each time: a run begins with a pair that is left, and takes for each further factor the
    value with which it shows most of what is left."""
    left, runs = all_pairs(), []
    while left:
        run: Run = dict(sorted(min(left, key=sorted)))
        for factor in FACTORS:
            if factor not in run:
                run[factor] = best(factor, run, left, runs)
        left -= pairs(run)
        runs.append({factor: run[factor] for factor in FACTORS})
    return runs


def best(factor: str, run: Run, left: set[frozenset[Value]], runs: list[Run]) -> str:
    """The value of a factor whose pairs with what the run has are left most often, and which runs have had least."""

    def worth(value: str) -> tuple[int, int]:
        loop = value if factor == "loop" else run["loop"]
        if factor == "loop" and not all(matters(loop, known) for known in run):
            return -1, 0
        shown = sum(frozenset([(factor, value), known]) in left for known in run.items() if matters(loop, known[0]))
        return (shown if matters(loop, factor) else 0), -sum(earlier[factor] == value for earlier in runs)

    return max(FACTORS[factor], key=worth)


def ranks_in(place: str) -> str:
    return place.split()[0].split("/")[0]


def commands(options: argparse.Namespace) -> Iterator[tuple[int, Run, list[str]]]:
    """The chosen runs with their numbers and commands."""
    for number, run in enumerate(covering()):
        hosts = run["place"] in ON_HOSTS
        if hosts == bool(options.hosts) and (not options.run or number in options.run):
            yield number, run, command(options, run, hosts)


def command(options: argparse.Namespace, run: Run, hosts: bool) -> list[str]:
    if hosts:
        ranks = ranks_in(run["place"])
        slices = "elastic" if run["slices"] == "elastic" else "500us"
        start = [*options.hosts.split(), "-n", ranks, "--ppn", str(int(ranks) // HOSTS), "--slice", slices]
    else:
        # Nodes that are all this machine: their NIC threads come before its ranks.
        period = "500" if "/" in run["place"] else "50"
        start = [options.launch, run["place"] + ("" if run["slices"] == "elastic" else f"@{period}")]
    return [*start, options.program, str(options.times), run["loop"], run["form"], run["bytes"], run["slow"]]


def ends_well(command: list[str], ranks: str, limit: float) -> tuple[bool, str]:
    """Whether a run of so many ranks ended well within so many seconds, and what it said."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said, _ = process.communicate(timeout=limit)
        # With another library than ours each rank is alone.
        return process.returncode == 0 and f"{ranks} ranks went round\n" in said, f"{said}status {process.returncode}"
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        said, _ = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
    return False, f"{said}it did not end within {limit:.0f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description="Loops without other synchronisation: each pair of what can matter meets in one of the runs.")
    parser.add_argument("--program", required=True, help="tests/programs/mpi/drift.c, built")
    parser.add_argument("--times", type=int, default=10000, help="how often each loop goes round [10000]")
    parser.add_argument("--launch", default="target/debug/launch", help="the launcher of several nodes in one process")
    parser.add_argument("--hosts", metavar="COMMAND", help="what runs a job on the four hosts, as in 'storm run': the runs on hosts")
    parser.add_argument("--run", type=int, action="append", metavar="N", help="this run alone (may be repeated)")
    parser.add_argument("--limit", type=float, default=1800, metavar="S", help="seconds for a run [1800]")
    options = parser.parse_args()
    failed = 0
    for number, run, words in commands(options):
        begun = time.monotonic()
        well, said = ends_well(words, ranks_in(run["place"]), options.limit)
        print(f"{'ok' if well else 'FAILED'} {number:4} {time.monotonic() - begun:7.1f} s  {', '.join(run.values())}", flush=True)
        if not well:
            failed += 1
            print(f"{said}\nTo repeat: {' '.join(words)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
