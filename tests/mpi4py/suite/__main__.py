"""Builds mpi4py and runs its suite; `scripts/mpi4py --help`."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from . import build as building
from . import exclusions as excluding
from . import outcome

REPOSITORY = Path(__file__).resolve().parents[3]
GRACE = 30
"""Seconds beyond --timeout in which the launcher has to end a job itself, with its report."""


def positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not positive")
    return value


def rank_counts(text: str) -> list[int]:
    return [positive(part) for part in text.split(",")]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/mpi4py",
        description="mpi4py's own test suite, built with and run on an installed BCS-MPI. What is left out, and why, is in"
        " tests/mpi4py/exclusions.toml. The exit status is 0 when everything else passes.",
    )
    default_prefix = Path(os.environ.get("BCS_PREFIX", REPOSITORY / "target/stage"))
    default_mpich = Path(os.environ.get("BCS_MPICH_PREFIX", REPOSITORY / "target/peers/mpich"))
    add = parser.add_argument
    add("-n", dest="ranks", type=rank_counts, default=[1, 2, 3, 5, 8], help="numbers of ranks (default: 1,2,3,5,8)")
    add("--prefix", type=Path, default=default_prefix, help="the installation (default: BCS_PREFIX, or target/stage)")
    add("--abi", choices=["own", "mpich"], default="own", help="whose mpicc builds it; it always runs on ours")
    add("--mpich", type=Path, default=default_mpich, help="MPICH 5, for --abi mpich")
    add("--timeout", type=positive, default=300, metavar="SECONDS", help="for each run (default: 300)")
    add("--modules", default="", metavar="NAMES", help="only these modules: test_op,test_pack")
    add("--modules-of", type=Path, metavar="FILE", help="only the modules named in this file, a line each")
    add("--by-module", action="store_true", help="a job for each module: a crash or a hang ends only that one")
    add("--cache", type=Path, default=REPOSITORY / "target/mpi4py", help="for builds and logs (default: target/mpi4py)")
    add("--exclusions", action="store_true", help="print what is left out, and why, and end")
    return parser.parse_args()


def run(command: list[str], environment: dict[str, str], log: Path, timeout: int) -> int:
    """Runs a job with its output in `log`; whatever it does, it is over soon after `timeout` seconds."""
    with log.open("wb") as file:
        job = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
        try:
            return job.wait(timeout + GRACE)
        except BaseException as reason:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            if isinstance(reason, subprocess.TimeoutExpired):
                return 124
            raise


def chosen(options: argparse.Namespace, built: building.Built, excluded: list[str]) -> list[str]:
    """Names of the modules to run, in the suite's order."""
    known = sorted(path.stem for path in built.tests.glob("test_*.py"))
    wanted = [name for name in options.modules.split(",") if name]
    if options.modules_of:
        lines = options.modules_of.read_text(encoding="utf-8").splitlines()
        wanted += [line for line in map(str.strip, lines) if line and not line.startswith("#")]
    for name in wanted:
        if name not in known:
            raise excluding.ExclusionError(f"mpi4py {building.VERSION} has no test module {name}")
    return [name for name in known if name not in excluded and (not wanted or name in wanted)]


def outcomes(
    options: argparse.Namespace, built: building.Built, size: int, groups: list[list[str]], said: list[str]
) -> Iterator[tuple[str, Path, outcome.Outcome]]:
    environment = {**os.environ, "PYTHONPATH": str(built.packages), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    logs = options.cache / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    for group in groups:
        name = group[0] if len(group) == 1 else "all"
        log = logs / f"{options.abi}-{size}-{name}.log"
        command = [str(options.prefix / "bin/mpiexec"), "--label", f"--timeout={options.timeout}", "-n", str(size)]
        command += [str(built.python), str(built.tests / "main.py"), "--no-builddir", "-v"]
        command += ["-i", rf"^({'|'.join(map(re.escape, group))})\.py$", *said]
        begun = time.monotonic()
        status = run(command, environment, log, options.timeout)
        text = log.read_text(encoding="utf-8", errors="replace")
        yield name, log, outcome.read(text, size, status, time.monotonic() - begun)


def main() -> int:
    options = arguments()
    exclusions = excluding.parse((REPOSITORY / "tests/mpi4py/exclusions.toml").read_text(encoding="utf-8"))
    if options.exclusions:
        for exclusion in exclusions:
            for name in (*exclusion.modules, *exclusion.tests):
                print(f"{name}: {exclusion.because}: {exclusion.reason}")
        return 0
    options.prefix, options.cache = options.prefix.absolute(), options.cache.absolute()
    mpicc = options.prefix / "bin/mpicc" if options.abi == "own" else options.mpich.absolute() / "bin/mpicc_abi"
    for program in (options.prefix / "bin/mpiexec", mpicc):
        if not os.access(program, os.X_OK):
            raise building.BuildError(f"there is no {program}: run scripts/install --prefix {options.prefix}, or say --prefix")
    built = building.build(options.cache, options.abi, mpicc)
    excluding.check(exclusions, built.tests)
    modules = chosen(options, built, [name for exclusion in exclusions for name in exclusion.modules])
    groups = [[name] for name in modules] if options.by_module else [modules]
    said = excluding.arguments(exclusions)
    print(f"mpi4py {building.VERSION}, {len(modules)} modules of its suite, built with {mpicc}")
    print(f"{'ranks':>5} {'tests':>7} {'failed':>7} {'errors':>7} {'skipped':>8} {'seconds':>8}  modules")
    passed = True
    for size in options.ranks:
        for name, log, result in outcomes(options, built, size, groups, said):
            figures = f"{size:5} {result.run:7} {result.failed:7} {result.errors:7} {result.skipped:8} {result.seconds:8.1f}"
            print(f"{figures}  {name}{'' if result.passed else ': FAILED'}", flush=True)
            if not result.passed:
                passed = False
                problems = result.problems()
                for line in problems[:40]:
                    print(f"      {line}")
                if len(problems) > 40:
                    print(f"      and {len(problems) - 40} more")
                print(f"      all of it: {log}", flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (building.BuildError, excluding.ExclusionError, OSError) as error:
        sys.exit(f"mpi4py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
