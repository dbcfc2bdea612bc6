"""What an operation is in C, in the parts by which operations are put together: several begun before the first is completed, one by
each thread, and so on."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .model import Operation

COMPLETIONS = ["waitall", "wait", "waitany", "waitsome", "testall", "test", "testany", "testsome", "status_first"]
"""How requests are completed; `complete` in the prelude does it."""


@dataclass
class Code:
    """Lines of C. Those of `start` put requests into `requests`, those of `after` note what came."""

    before: list[str] = field(default_factory=list)
    start: list[str] = field(default_factory=list)
    requests: str = ""
    count: str = "0"
    statuses: str = "MPI_STATUSES_IGNORE"
    after: list[str] = field(default_factory=list)
    rounds: int = 1

    def alone(self, completion: str) -> list[str]:
        """The operation by itself."""
        body = list(self.start)
        if self.requests:
            body.append(f"complete({completion.upper()}, {self.count}, {self.requests}, {self.statuses});")
        if self.rounds > 1:
            body = [f"for (int round = 0; round < {self.rounds}; round++) {{", *body, "}"]
        return [*self.before, *body, *self.after]


@dataclass(frozen=True)
class Place:
    """Where an operation is written: its number, and the C names of its communicator."""

    number: int
    comm: str
    """A `struct comm`."""
    write_child: Callable[[Operation], Code] | None = None

    @property
    def tag(self) -> int:
        """The first of 64 tags that no other operation of the program uses."""
        return 64 * (self.number % 400)

    def key(self, which: int = 0) -> str:
        """What a buffer's bytes follow from; another one on each rank."""
        return f"{1000 * self.number + 100 * which}u + (unsigned)world_rank"


@dataclass(frozen=True)
class Kind:
    """A kind of operation."""

    name: str
    generate: Callable[[random.Random], dict[str, Any]]
    """Its values."""
    write: Callable[[Operation, Place], Code]
    smaller: Callable[[Operation], Iterator[Operation]] | None = None
    """Simpler operations of this kind, where `least` does not say enough."""
    least: dict[str, Any] = field(default_factory=dict)
    """The simplest values that shrinking tries."""
    weight: float = 1.0
    on: str = "any"
    """Communicators: any, intra, none (no communication), topology, world."""
    startable: bool = False
    """Whether it can be begun and completed beside others, and be in a thread."""
    features: Callable[[Operation], dict[str, Any]] | None = None
    """What the list of exceptions may ask for, besides the values."""


def size_of_transfer(rng: random.Random, limit: int = 1 << 20) -> int:
    """A number of bytes: mostly small, around the thresholds of implementations, now and then large."""
    draw = rng.random()
    if draw < 0.1:
        return 0
    if draw < 0.6:
        return rng.randint(1, 64)
    if draw < 0.8:
        return rng.randint(65, 2048)
    if draw < 0.95:
        edge = rng.choice([24, 25, 64, 4096, 8192, 16384, 65536])
        return min(limit, max(0, edge + rng.choice([-8, -1, 0, 1, 8])))
    return min(limit, rng.choice([20_000, 100_000, 300_000, 1_000_000]))


SIZES = {
    "MPI_BYTE": 1,
    "MPI_CHAR": 1,
    "MPI_SHORT": 2,
    "MPI_UINT16_T": 2,
    "MPI_INT": 4,
    "MPI_FLOAT": 4,
    "MPI_C_DOUBLE_COMPLEX": 16,
}


def count_of(bytes_: int, basic: str, elements: int) -> int:
    """How many of a datatype are about so many bytes."""
    if elements == 0:
        return min(bytes_, 3)
    return -(-bytes_ // (SIZES.get(basic, 8) * elements))
