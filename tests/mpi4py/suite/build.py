"""mpi4py from its sources, built with a given compiler. A build is found again as long as nothing that went in has changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

VERSION = "4.1.2"
SHA256 = "56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02"
"""Of the source distribution on PyPI."""
BUILD_NEEDS = ["setuptools>=77", "cython>=3.1"]
TESTS_NEED = ["numpy>=2", "cffi>=1.17"]
PROBE = ("test_subclass.py", "BaseTestMyFile().openfile().Close()\nexcept NotImplementedError:")
"""Asks for files while the module is loaded, tested or not, and takes only an mpi4py without them for a no: its other tests would be lost."""
COMPILER_FLAGS = "-O0 -g0"
"""The suite is not about the speed of mpi4py's own code, and its one large file takes minutes at -O3."""


class BuildError(Exception):
    """Says what could not be made, with the last lines of what was said about it."""


@dataclass(frozen=True)
class Built:
    python: Path
    """The interpreter of the virtual environment."""
    packages: Path
    """The directory that has mpi4py in it."""
    tests: Path
    """The directory of its test suite."""


def run(command: list[str | Path], what: str, *, environment: dict[str, str] | None = None) -> None:
    try:
        done = subprocess.run(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=1200,
            env={**os.environ, **(environment or {})},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"{what}: {error}") from error
    if done.returncode != 0:
        said = "\n".join(done.stdout.strip().splitlines()[-25:])
        raise BuildError(f"{what}: exit status {done.returncode}\n{said}")


def replace(directory: Path) -> Path:
    """An empty directory beside `directory`, to be renamed to it when it is complete."""
    fresh = directory.with_name(directory.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    return fresh


def environment(cache: Path) -> Path:
    """The interpreter of the virtual environment; made anew when the wanted packages or Python itself changed."""
    home, packages = cache / "environment", [*BUILD_NEEDS, *TESTS_NEED]
    mark, wanted = home / "installed", "\n".join([sys.version, *packages])
    python = home / "bin/python"
    if not (mark.is_file() and mark.read_text() == wanted and python.exists()):
        print(f"mpi4py: installing {', '.join(packages)} in {home}", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        run([sys.executable, "-m", "venv", home], "cannot make a virtual environment")
        run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages],
            "cannot install from PyPI",
        )
        mark.write_text(wanted)
    return python


def source(cache: Path, python: Path) -> Path:
    """The unpacked source distribution of the pinned version."""
    directory = cache / f"mpi4py-{VERSION}"
    if directory.is_dir():
        return directory
    archive = cache / f"mpi4py-{VERSION}.tar.gz"
    if not archive.is_file():
        print(f"mpi4py: fetching the sources of {VERSION}", flush=True)
        run(
            [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
            + ["--no-build-isolation", "--no-binary", ":all:", "--dest", cache, f"mpi4py=={VERSION}"],
            "cannot fetch mpi4py from PyPI",
        )
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != SHA256:
        archive.unlink()
        raise BuildError(f"{archive} had the SHA-256 {found} instead of {SHA256}; it is removed: run this again")
    fresh = replace(directory)
    with tarfile.open(archive) as packed:
        packed.extractall(fresh, filter="data")
    module = fresh / directory.name / "test" / PROBE[0]
    text = module.read_text(encoding="utf-8")
    if text.count(PROBE[1]) != 1:
        raise BuildError(f"{module} no longer has: {PROBE[1]}")
    module.write_text(text.replace(PROBE[1], PROBE[1].replace("NotImplementedError", "(NotImplementedError, MPI.Exception)")))
    (fresh / directory.name).rename(directory)
    fresh.rmdir()
    return directory


def fingerprint(mpicc: Path, headers: list[Path]) -> str:
    """Changes when a build would come out differently: compiler wrapper, headers, flags, Python or mpi4py."""
    parts = [VERSION, SHA256, sys.version, os.environ.get("CFLAGS", COMPILER_FLAGS), str(mpicc), *BUILD_NEEDS]
    digest = hashlib.sha256("\n".join(parts).encode())
    for file in [mpicc, *headers]:
        digest.update(b"\0" + file.read_bytes())
    return digest.hexdigest()


def build(cache: Path, abi: str, mpicc: Path) -> Built:
    """mpi4py built with `mpicc`, in a directory of its own."""
    cache.mkdir(parents=True, exist_ok=True)
    python = environment(cache)
    sources = source(cache, python)
    headers = sorted((mpicc.parent.parent / "include").glob("mpi*.h"))
    mark, packages = fingerprint(mpicc, headers), cache / abi
    if not ((packages / "fingerprint").is_file() and (packages / "fingerprint").read_text() == mark):
        print(f"mpi4py: building {VERSION} with {mpicc}", flush=True)
        fresh = replace(packages)
        # Built from a copy: a build leaves files in the sources, and those of another compiler must not be found again.
        work = cache / f"{abi}.build"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(sources, work, symlinks=True)
        run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
            + ["--no-build-isolation", "--target", fresh, work],
            f"cannot build mpi4py with {mpicc}",
            environment={"MPICC": str(mpicc), "CFLAGS": os.environ.get("CFLAGS", COMPILER_FLAGS)},
        )
        shutil.rmtree(work)
        (fresh / "fingerprint").write_text(mark)
        shutil.rmtree(packages, ignore_errors=True)
        fresh.rename(packages)
    return Built(python, packages, sources / "test")
