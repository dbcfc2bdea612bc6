"""Builds mpi4py and runs its suite; `scripts/mpi4py --help`."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import build as building
from . import exclusions as excluding
from . import outcome
from . import programs as programming

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
    add("--launch", default="", metavar="WORDS", help="what starts mpiexec: 'scripts/cluster exec login'")
    add("--options", default="", metavar="WORDS", help="for mpiexec: '--ppn 2'")
    add("--timeout", type=positive, default=300, metavar="SECONDS", help="for each run (default: 300)")
    add("--modules", default="", metavar="NAMES", help="only these modules: test_op,test_pack")
    add("--without", default="", metavar="NAMES", help="not these modules")
    add("--by-module", action="store_true", help="a job for each module: a crash or a hang ends only that one")
    add("--programs", action="store_true", help="mpi4py's benchmarks and pools of workers; also run when no modules are named")
    add("--jobs", type=positive, default=1, metavar="N", help="so many jobs at once (default: 1)")
    add("--cache", type=Path, default=REPOSITORY / "target/mpi4py", help="for builds and logs (default: target/mpi4py)")
    add("--exclusions", action="store_true", help="print what is left out, and why, and end")
    return parser.parse_args()


class Jobs:
    """The jobs that run now, in several threads. Once it has ended, none runs and none begins."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[bytes]] = set()
        self.ended = False

    def run(self, command: list[str], environment: dict[str, str], log: Path, timeout: int) -> int:
        """Runs a job with its output in `log`; whatever it does, it is over soon after `timeout` seconds."""
        with log.open("wb") as file:
            with self.lock:
                if self.ended:
                    return 130
                job = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True
                )
                self.running.add(job)
            try:
                return job.wait(timeout + GRACE)
            except subprocess.TimeoutExpired:
                kill(job)
                job.wait()
                return 124
            finally:
                with self.lock:
                    self.running.remove(job)

    def end(self) -> None:
        with self.lock:
            self.ended = True
            for job in self.running:
                kill(job)


def kill(job: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(job.pid, signal.SIGKILL)


def chosen(options: argparse.Namespace, built: building.Built, excluded: list[str]) -> list[str]:
    """Names of the modules to run, in the suite's order."""
    known = sorted(path.stem for path in built.tests.glob("test_*.py"))
    wanted = [name for name in options.modules.split(",") if name]
    unwanted = [name for name in options.without.split(",") if name]
    for name in wanted + unwanted:
        if name not in known:
            raise excluding.ExclusionError(f"mpi4py {building.VERSION} has no test module {name}")
    return [name for name in known if name not in excluded + unwanted and (not wanted or name in wanted)]


def launch(jobs: Jobs, options: argparse.Namespace, built: building.Built, size: int, name: str, arguments: list[str]) -> tuple[Path, str, int, float]:
    """Runs the interpreter as a job: its log, what it said, the launcher's status, and seconds."""
    environment = {**os.environ, "PYTHONPATH": str(built.packages), "PYTHONDONTWRITEBYTECODE": "1", "LC_ALL": "C.UTF-8"}
    log = options.cache / "logs" / f"{options.abi}-{size}-{re.sub('[^a-z0-9_]+', '-', name)}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [*shlex.split(options.launch), str(options.prefix / "bin/mpiexec"), *shlex.split(options.options)]
    command += ["--label", f"--timeout={options.timeout}", "-n", str(size)]
    begun = time.monotonic()
    status = jobs.run([*command, str(built.python), *arguments], environment, log, options.timeout)
    return log, log.read_text(encoding="utf-8", errors="replace"), status, time.monotonic() - begun


def outcomes(
    options: argparse.Namespace, built: building.Built, groups: list[list[str]], programs: list[programming.Program], said: list[str]
) -> Iterator[tuple[int, str, Path, outcome.Outcome]]:
    """Runs everything, some jobs at once, and tells of it in order."""
    jobs = Jobs()

    def module(size: int, group: list[str]) -> tuple[int, str, Path, outcome.Outcome]:
        name = group[0] if len(group) == 1 else "all"
        arguments = [str(built.tests / "main.py"), "--no-builddir", "-v"]
        arguments += ["-i", rf"^({'|'.join(map(re.escape, group))})\.py$", *said]
        log, *ended = launch(jobs, options, built, size, name, arguments)
        return size, name, log, outcome.read(ended[0], size, *ended[1:])

    def program(size: int, one: programming.Program) -> tuple[int, str, Path, outcome.Outcome]:
        log, *ended = launch(jobs, options, built, size, one.name, list(one.command))
        return size, one.name, log, programming.read(one, ended[0], size, *ended[1:])

    with ThreadPoolExecutor(options.jobs) as pool:
        runs = []
        for size in options.ranks:
            runs += [pool.submit(module, size, group) for group in groups]
            runs += [pool.submit(program, size, one) for one in programs if size >= one.least]
        try:
            for ended in runs:
                yield ended.result()
        finally:
            jobs.end()


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
    if not modules:
        groups = []
    everything = not options.modules
    programs = programming.programs(built.tests.parent) if options.programs or everything else []
    said = excluding.arguments(exclusions)
    print(f"mpi4py {building.VERSION}, {len(modules)} modules of its suite, built with {mpicc}")
    print(f"{'ranks':>5} {'tests':>7} {'failed':>7} {'errors':>7} {'skipped':>8} {'seconds':>8}  modules")
    passed = True
    for size, name, log, result in outcomes(options, built, groups, programs, said):
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
    # So that jobs are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except (building.BuildError, excluding.ExclusionError, OSError) as error:
        sys.exit(f"mpi4py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
