"""Hosts to measure between: network namespaces of this machine, made and removed by scripts/cluster."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .implementations import Implementation, SetupError

CLUSTER = Path(__file__).resolve().parents[2] / "cluster"
CONFIGURATION = CLUSTER.parents[1] / "target/cluster/cluster.toml"


@contextmanager
def cluster(found: list[Implementation], prefix: Path, hosts: int) -> Iterator[None]:
    """So many hosts, for as long as this lasts, and launchers that are started on the login host."""
    environment = {**os.environ, "BCS_PREFIX": str(prefix.absolute())}

    def call(*words: str) -> None:
        done = subprocess.run(
            [str(CLUSTER), *words], capture_output=True, text=True, env=environment, timeout=300
        )
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise SetupError(f"scripts/cluster {words[0]}: {lines[-1] if lines else done.returncode}")

    call("up", str(hosts))
    try:
        for implementation in found:
            implementation.launch = [str(CLUSTER), "exec", "login", *implementation.launch]
            if implementation.name == "ours":
                implementation.environment["BCS_CONFIG"] = str(CONFIGURATION)
        yield
    finally:
        call("down")
