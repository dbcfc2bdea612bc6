"""The command line of scripts/differential."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import campaign, exceptions
from .generator import program_of
from .model import described
from .runner import WAYS, Runner, SetupError
from .writer import c_of

ROOT = Path(__file__).resolve().parents[3]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/differential",
        description="Random MPI programs of the standard ABI: the same binary under MPICH and under BCS-MPI gives the same.",
    )
    parser.add_argument("--seeds", default="1..300", metavar="A..B", help="seeds, both ends included [1..300]")
    parser.add_argument("--ranks", default="2,3,5,8", metavar="N,...", help="numbers of ranks; each seed runs with one of them in turn")
    parser.add_argument("--all-ranks", action="store_true", help="each seed with each number of ranks")
    parser.add_argument("--ways", default=",".join(WAYS), help=f"how ours runs them: {', '.join(WAYS)} (several nodes, all this machine)")
    parser.add_argument("--batch", type=int, default=25, metavar="N", help="seeds in one program [25]")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="programs at a time [2]")
    parser.add_argument("--no-shrink", action="store_true", help="name the seeds that differ, and no more")
    parser.add_argument("--shrink-seconds", type=float, default=120, metavar="S", help="for each difference [120]")
    parser.add_argument("--attempts", type=int, default=2, metavar="N", help="runs before a smaller program counts as good [2]")
    parser.add_argument("--findings", type=int, default=10, metavar="N", help="differences that are tracked down at most [10]")
    parser.add_argument("--patience", type=float, default=1.0, metavar="F", help="all time limits times this [1]")
    parser.add_argument("--all", action="store_true", help="leave nothing out that is on the list of exceptions")
    parser.add_argument("--only", metavar="NAME", help="of the list of exceptions leave out all but this: shows whether it still holds")
    parser.add_argument("--show", type=int, metavar="SEED", help="print what the seed gives, and the C program, and run nothing")
    parser.add_argument("--mpich", type=Path, default=Path(os.environ.get("BCS_MPICH_PREFIX", ROOT / "target/peers/mpich")))
    parser.add_argument("--prefix", type=Path, default=Path(os.environ.get("BCS_PREFIX", ROOT / "target/stage")))
    parser.add_argument(
        "--launch", type=Path, default=ROOT / "target/debug/launch", help="the launcher of several nodes in one process"
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    entries = exceptions.read()
    if options.show is not None:
        program = program_of(options.show)
        print(described(program))
        print(c_of([program]))
        return 0
    if options.only:
        if options.only not in {entry.name for entry in entries}:
            print(f"differential: there is no exception '{options.only}'", file=sys.stderr)
            return 2
        entries = [entry for entry in entries if entry.name != options.only]
    if options.all:
        entries = []
    first, last = (int(end) for end in options.seeds.split(".."))
    ranks = [int(one) for one in options.ranks.split(",")]
    ways = options.ways.split(",")
    if unknown := [way for way in ways if way not in WAYS]:
        print(f"differential: there is no way '{unknown[0]}': {', '.join(WAYS)}", file=sys.stderr)
        return 2
    work = ROOT / "target/differential"
    try:
        if "nodes" in ways and not os.access(options.launch, os.X_OK):
            raise SetupError(f"{options.launch} is not there: cargo build --workspace --bins")
        runner = Runner(options.mpich, options.prefix, options.launch, work, options.patience)
    except SetupError as error:
        print(f"differential: {error}", file=sys.stderr)
        return 2
    with contextlib.closing(runner):
        return run(runner, list(range(first, last + 1)), ranks, ways, entries, options)


def run(
    runner: Runner, seeds: list[int], ranks: list[int], ways: list[str], entries: list[exceptions.Exception_], options: argparse.Namespace
) -> int:
    begun = time.monotonic()
    spread = {n: seeds if options.all_ranks else seeds[i :: len(ranks)] for i, n in enumerate(ranks)}
    batches = [(n, chosen[i : i + options.batch]) for n, chosen in spread.items() for i in range(0, len(chosen), options.batch)]
    findings: list[campaign.Finding] = []
    lock = threading.Lock()

    def one(batch: tuple[int, list[int]]) -> None:
        n, chosen = batch
        found = campaign.check(runner, campaign.programs_of(chosen, entries), n, ways)
        with lock:
            findings.extend(found)
            for finding in found:
                print(f"DIFFERS seed {finding.case.programs[-1].seed} with {n} ranks, {finding.way}: {finding.what}", flush=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        for _ in pool.map(one, batches):
            pass
    took = time.monotonic() - begun
    print(f"{len(seeds)} seeds, {len(batches)} programs, {took:.0f} s: {len(findings)} differences", flush=True)
    if findings and not options.no_shrink:
        for finding in findings[: options.findings]:
            small = campaign.track_down(runner, finding, entries, options.shrink_seconds, options.attempts, print)
            print(
                f"\nseed {finding.case.programs[-1].seed}: {campaign.report(runner, small, runner.directory.parent / 'found')}", flush=True
            )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
