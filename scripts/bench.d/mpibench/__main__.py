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
from .plan import HOST_KERNELS, KERNELS, make_host_plan, make_plan
from .report import as_json, commit, machine, print_table

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


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures our MPI, MPICH and Open MPI side by side, alternating in one run.",
        epilog=f"kernels: {', '.join(KERNELS)}",
    )
    parser.add_argument(
        "--hosts",
        action="store_true",
        help="measure between hosts instead: 16 of them, which scripts/cluster makes as network namespaces and removes (root)",
    )
    parser.add_argument("--quick", action="store_true", help="fewer sizes, ranks and rounds")
    parser.add_argument(
        "--only",
        metavar="KERNEL,...",
        type=names_from((*KERNELS, *(kernel for kernel in HOST_KERNELS if kernel not in KERNELS))),
        help="measure these kernels only"
    )
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
        help="peers to measure (default: mpich,openmpi); given by hand, ours may be absent",
    )
    parser.add_argument("--rounds", metavar="N", type=count, help="rounds (default 3; --quick: 1)")
    parser.add_argument(
        "--time-limit",
        metavar="SECONDS",
        type=count,
        default=720,
        help="start no further round after this (default 720)",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, default=REPOSITORY / "target/bench/bench.json")
    parser.add_argument("--svg", metavar="FILE", type=Path, default=REPOSITORY / "target/bench/bench.svg")
    return parser.parse_args()


def participants(options: argparse.Namespace) -> list[Implementation]:
    """Who takes part, built and ready."""
    cache = REPOSITORY / "target/peers"
    mine = ours(options.ours)
    if mine is None:
        where = f"no bin/mpicc and bin/mpiexec in {options.ours}"
        if not options.peers:
            raise SetupError(
                f"{where}: install ours with scripts/install --prefix {options.ours}, name another "
                "place with --ours PREFIX, or measure the peers alone with --peers mpich,openmpi"
            )
        print(f"bench: {where}: measuring the peers alone", file=sys.stderr)
    found = [mine] if mine else []
    found += [peer(name, cache) for name in options.peers or list(PEERS)]
    for implementation in found:
        build(implementation, REPOSITORY, REPOSITORY / "target/bench" / implementation.name)
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
    make = make_host_plan if options.hosts else make_plan
    plan = make(options.quick, options.only, options.rounds)
    about = {**machine(), "commit": commit(REPOSITORY)}
    for file in (options.json, options.svg):
        file.parent.mkdir(parents=True, exist_ok=True)
    found = participants(options)
    if about["load_at_start"] > 0.5:
        print(
            f"bench: the machine is busy (load {about['load_at_start']}), and the figures suffer from it",
            file=sys.stderr,
        )
    results, modes, interrupted = Results(), [], 0
    decks = REPOSITORY / "examples"
    try:
        with cluster(found, options.ours, max(case.hosts for case in plan.cases)) if options.hosts else nullcontext():
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
    print_table(results, found, modes)
    options.json.write_text(json.dumps(as_json(results, found, modes, about), indent=1) + "\n")
    if interrupted:
        return 128 + interrupted
    draw(options.json, options.svg)
    print(f"\n{options.json}\n{options.svg}")
    return 1 if any(f.implementation == "ours" for f in results.failures) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(2)
    except Interrupted as signalled:
        sys.exit(128 + signalled.args[0])
