"""The command line of scripts/bench."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

from .hosts import cluster
from .implementations import PEERS, Implementation, SetupError, build, ours, peer, virtual_environment
from .measure import Results, measure
from .modes import measure_modes
from .plan import (
    COLLECTIVES,
    HOST_KERNELS,
    KERNELS,
    Plan,
    make_collectives_plan,
    make_host_plan,
    make_plan,
)
from .report import as_json, commit, largest_cache_bytes, machine, print_collectives, print_table

REPOSITORY = Path(__file__).resolve().parents[3]


def names_from(allowed: tuple[str, ...]):
    def parse(text: str) -> list[str]:
        names = [name for name in text.split(",") if name]
        for name in names:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(allowed)}")
        if not names:
            raise argparse.ArgumentTypeError(f"wants one or more of {', '.join(allowed)}")
        return list(dict.fromkeys(names))

    return parse


def count(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"'{text}' is no number from 1 to 1000")
    return int(text)


def counts(text: str) -> list[int]:
    return [count(word) for word in text.split(",")]


def sizes(text: str) -> list[int]:
    found = []
    for word in text.split(","):
        number, power = (word[:-1], {"K": 10, "M": 20}[word[-1]]) if word[-1:] in ("K", "M") else (word, 0)
        size = int(number) << power if number.isdigit() else -1
        if not 0 <= size <= 1 << 30 or size % 8:
            raise argparse.ArgumentTypeError(f"'{word}' is no multiple of 8 bytes up to 1024M")
        found.append(size)
    return found


COLLECTIVES_HELP = """
kernels: {kernels}

--collectives: {collectives}
  gather0 and such have rank 0 as their root, bcast and reduce another one with every call. "bytes" is the
  call's count times the size of its datatype:
    barrier                       0: it has none
    bcast                         the message, which the root sends and every other rank receives
    reduce, allreduce, scan       the vector of each rank, which is as long as the result
    gather, allgather             what each rank contributes; a receive buffer has ranks times as much
    scatter                       what each rank receives; the root's send buffer has ranks times as much
    alltoall                      what each rank sends to each; both buffers have ranks times as much
    reduce_scatter_block          what each rank receives; a send buffer has ranks times as much
  speed: the best peer's time divided by ours. ring: each call has other buffers than the one before,
  from a ring that is larger than the caches.
"""


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures our MPI, MPICH, Open MPI and Intel MPI side by side, alternating in one run.",
        epilog=COLLECTIVES_HELP.format(kernels=", ".join(KERNELS), collectives=", ".join(COLLECTIVES)),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--hosts",
        action="store_true",
        help="measure between hosts instead: 16 of them, which scripts/cluster makes as network namespaces "
        "and removes (root)",
    )
    what.add_argument(
        "--collectives",
        action="store_true",
        help="measure a table of collectives instead: all of them by bytes, ranks and kind of buffers",
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes, ranks and rounds")
    parser.add_argument(
        "--only",
        metavar="KERNEL,...",
        type=names_from(tuple(dict.fromkeys((*KERNELS, *HOST_KERNELS, *COLLECTIVES)))),
        help="measure these kernels only",
    )
    parser.add_argument("--ranks", metavar="N,...", type=counts, help="--collectives: numbers of ranks")
    parser.add_argument("--sizes", metavar="B,...", type=sizes, help="--collectives: bytes (K, M)")
    parser.add_argument(
        "--ours",
        metavar="PREFIX",
        type=Path,
        default=REPOSITORY / "target/stage",
        help="our install prefix, with bin/mpicc and bin/mpiexec (default: target/stage)",
    )
    parser.add_argument(
        "--peers",
        metavar="NAME,...",
        type=names_from(tuple(PEERS)),
        help="peers to measure (default: mpich,openmpi,intelmpi); given by hand, ours may be absent",
    )
    parser.add_argument("--rounds", metavar="N", type=count, help="rounds (default 3; --quick: 1)")
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=count,
        default=720,
        help="start no further round after this (default 720)",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="(default target/bench/bench.json)")
    parser.add_argument(
        "--svg", metavar="FILE", type=Path, help="(default target/bench/bench.svg; none with --collectives)"
    )
    options = parser.parse_args()
    known = COLLECTIVES if options.collectives else HOST_KERNELS if options.hosts else KERNELS
    for name in options.only or []:
        if name not in known:
            parser.error(f"argument --only: '{name}' is none of {', '.join(known)}")
    if options.collectives and options.svg:
        parser.error("argument --svg: there is no picture of --collectives")
    if not options.collectives and (options.ranks or options.sizes):
        parser.error("--ranks and --sizes go with --collectives")
    name = "collectives" if options.collectives else "bench"
    options.json = options.json or REPOSITORY / f"target/bench/{name}.json"
    if not options.collectives:
        options.svg = options.svg or REPOSITORY / f"target/bench/{name}.svg"
    return options


def plan_of(options: argparse.Namespace, cache_bytes: int) -> Plan:
    if options.collectives:
        return make_collectives_plan(
            options.quick, options.only, options.rounds, options.ranks, options.sizes, cache_bytes
        )
    make = make_host_plan if options.hosts else make_plan
    return make(options.quick, options.only, options.rounds)


def participants(options: argparse.Namespace, programs: set[str]) -> list[Implementation]:
    """Who takes part, built and ready."""
    cache = REPOSITORY / "target/peers"
    mine = ours(options.ours)
    if mine is None:
        where = f"no bin/mpicc and bin/mpiexec in {options.ours}"
        if not options.peers:
            raise SetupError(
                f"{where}: install ours with scripts/install --prefix {options.ours}, name another "
                f"place with --ours PREFIX, or measure the peers alone with --peers {','.join(PEERS)}"
            )
        print(f"bench: {where}: measuring the peers alone", file=sys.stderr)
    found = [mine] if mine else []
    found += [peer(name, cache) for name in options.peers or list(PEERS)]
    for implementation in found:
        build(implementation, REPOSITORY, REPOSITORY / "target/bench" / implementation.name, programs)
    return found


def draw(json_file: Path, svg_file: Path) -> None:
    home = virtual_environment(REPOSITORY / "target/peers/plot", ["matplotlib>=3.8,<4"])
    done = subprocess.run(
        [str(home / "bin/python"), str(Path(__file__).parent / "picture.py"), str(json_file), str(svg_file)],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise SetupError(f"cannot draw {svg_file}: {done.stderr.strip().splitlines()[-1]}")


class Interrupted(KeyboardInterrupt):
    """A signal that asks us to end; carries its number."""


def _interrupt(number: int, _frame: object) -> None:
    raise Interrupted(number)


def main() -> int:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    options = read_options()
    cache = largest_cache_bytes()
    plan = plan_of(options, cache)
    about = {**machine(), "largest_cache_bytes": cache, "commit": commit(REPOSITORY)}
    for file in (options.json, options.svg):
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
    found = participants(options, plan.programs)
    if about["load_at_start"] > 0.5:
        print(
            f"bench: the machine is busy (load {about['load_at_start']}), and the figures suffer from it",
            file=sys.stderr,
        )
    results, modes, interrupted = Results(), [], 0
    decks = REPOSITORY / "examples"
    try:
        hosts = max(case.hosts for case in plan.cases)
        with cluster(found, options.ours, hosts) if options.hosts else nullcontext():
            measure(plan, found, decks, time.monotonic() + options.time_limit, results)
        if plan.mode_rounds and found[0].name == "ours" and not results.given_up("ours"):
            modes = measure_modes(found[0], decks, plan.mode_rounds, results)
    except Interrupted as signalled:
        interrupted = signalled.args[0]
        print(
            f"\nbench: ended by {signal.Signals(interrupted).name}; what was measured until then:",
            file=sys.stderr,
        )
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    print(
        f"{about['cpu']}, {about['cores']} cores, {about['kernel']}, load {about['load_at_start']}; "
        f"commit {about['commit']}; medians of {results.rounds} round{'' if results.rounds == 1 else 's'}\n"
    )
    if options.collectives:
        print_collectives(results, found)
    else:
        print_table(results, found, modes)
    options.json.write_text(json.dumps(as_json(results, found, modes, about), indent=1) + "\n")
    if interrupted:
        return 128 + interrupted
    print(f"\n{options.json}")
    if options.svg:
        draw(options.json, options.svg)
        print(options.svg)
    return 1 if any(f.implementation == "ours" for f in results.failures) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
    except Interrupted as signalled:
        sys.exit(128 + signalled.args[0])
