"""Builds batches with MPICH's compiler for the standard ABI, and runs them under MPICH and in the ways of ours."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .model import Program
from .writer import c_of

PRELUDE = Path(__file__).resolve().parents[1] / "prelude"
WAYS = ("node", "fixed", "nodes")
"""How ours runs a program: on one node, there with fixed slices, and on several nodes."""
REFERENCE = "mpich"


class SetupError(Exception):
    """Says, in one line, what is missing and what to do."""


@dataclass
class Outcome:
    """What a run left: the digest of each operation of each part, by rank."""

    ranks: int
    status: int
    timed_out: bool
    said: str
    """The end of what it printed."""
    digests: list[dict[tuple[int, int], str]] = field(default_factory=list)
    ended: list[bool] = field(default_factory=list)
    details: list[list[str]] = field(default_factory=list)
    """Lines of a verbose run, by rank."""
    library: str = ""

    @property
    def well(self) -> bool:
        return self.status == 0 and not self.timed_out and len(self.ended) == self.ranks and all(self.ended)

    def how(self) -> str:
        if self.well:
            return "ended well"
        return "did not end in time" if self.timed_out else f"ended with status {self.status}"


def parse(lines: list[str], outcome: Outcome) -> None:
    """One rank's file."""
    digests: dict[tuple[int, int], str] = {}
    details: list[str] = []
    ended = False
    for line in lines:
        words = line.split()
        if line.startswith("library "):
            outcome.library = line.split(" ", 1)[1].strip()
        elif line.startswith("#"):
            details.append(line[2:].rstrip())
        elif words == ["ends"]:
            ended = True
        elif len(words) == 3:
            digests[int(words[0]), int(words[1])] = words[2]
    outcome.digests.append(digests)
    outcome.details.append(details)
    outcome.ended.append(ended)


class Runner:
    def __init__(self, mpich: Path, prefix: Path, launch: Path | None, work: Path, patience: float = 1.0) -> None:
        self.mpich, self.prefix, self.launch, self.patience = mpich, prefix, launch, patience
        self.compiler = mpich / "bin/mpicc_abi"
        for program, what in (
            (self.compiler, "scripts/test peers installs MPICH"),
            (prefix / "bin/mpiexec", "scripts/install --prefix target/stage installs BCS-MPI"),
        ):
            if not os.access(program, os.X_OK):
                raise SetupError(f"{program} is not there: {what}")
        work.mkdir(parents=True, exist_ok=True)
        self.directory = Path(tempfile.mkdtemp(prefix="run.", dir=work))
        self.prelude = self.directory / "differential.o"
        self._compile(PRELUDE / "differential.c", self.prelude, ["-c", "-O1", "-g"])

    def close(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def _compile(self, source: Path, out: Path, options: list[str]) -> None:
        command = [str(self.compiler), "-w", f"-I{PRELUDE}", *options, str(source), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode != 0:
            raise SetupError(f"{' '.join(command)}: {done.stderr.strip()[:2000]}")

    def build(self, programs: list[Program]) -> Path:
        directory = Path(tempfile.mkdtemp(dir=self.directory))
        source, binary = directory / "program.c", directory / "program"
        source.write_text(c_of(programs))
        self._compile(source, binary, ["-O0", str(self.prelude), "-pthread"])
        return binary

    def command(self, way: str, ranks: int, seconds: int) -> list[str]:
        ours = [str(self.prefix.absolute() / "bin/mpiexec"), "--timeout", str(seconds)]
        if way == REFERENCE:
            return [str(self.mpich.absolute() / "bin/mpiexec"), "-n", str(ranks)]
        if way == "fixed":
            return [*ours, "--slice", "200us", "-n", str(ranks)]
        if way == "nodes":
            return [str(self.launch), f"{ranks}/{nodes_of(ranks)}"]
        return [*ours, "-n", str(ranks)]

    def limit(self, programs: list[Program], ranks: int) -> int:
        """Seconds; what no run on a busy machine comes near to."""
        operations = sum(1 for program in programs for _ in program.all_operations())
        return int(self.patience * (20 + 0.05 * operations * max(2, ranks)))

    def run(self, binary: Path, way: str, ranks: int, seconds: int, verbose: bool = False) -> Outcome:
        results = Path(tempfile.mkdtemp(dir=binary.parent))
        environment = {**os.environ, "DIFFERENTIAL_SECONDS": str(seconds + 5)}
        environment.pop("DIFFERENTIAL_VERBOSE", None)
        if verbose:
            environment["DIFFERENTIAL_VERBOSE"] = "1"
        if way == "nodes":
            environment["LD_LIBRARY_PATH"] = str(self.prefix.absolute() / "lib")
        command = [*self.command(way, ranks, seconds), str(binary), str(results)]
        status, timed_out = 0, False
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, env=environment, start_new_session=True
            )
            try:
                status = process.wait(seconds if way == REFERENCE else seconds + 3)
            except subprocess.TimeoutExpired:
                timed_out = True
                status = _end(process)
            timed_out = timed_out or status == 124
            said.seek(0)
            text = said.read().decode(errors="replace")
        outcome = Outcome(ranks, status, timed_out, text[-4000:])
        for rank in range(ranks):
            file = results / str(rank)
            parse(file.read_text(errors="replace").splitlines() if file.exists() else [], outcome)
        return outcome


def nodes_of(ranks: int) -> int:
    return min(ranks, 2 if ranks < 5 else 3)


def _end(process: subprocess.Popen[bytes]) -> int:
    """Ends a launcher and what it started: in its own way first."""
    for number, patience in ((signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(patience)
    return -9
