"""What a program is: communicators, and a list of operations, each of which may be taken away.

An operation is data: its kind, the communicator that it is on, and values that JSON knows. Numbers of processes are taken modulo the
size of the group when the program runs, so a program is one for any number of ranks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

WORLD, SELF, NONE = "world", "self", ""
"""Names of communicators that need not be made; the last is for operations without communication."""


@dataclass(frozen=True)
class Communicator:
    kind: str
    parent: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Operation:
    kind: str
    communicator: str = NONE
    values: dict[str, Any] = field(default_factory=dict)
    children: tuple[Operation, ...] = ()

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def with_values(self, **values: Any) -> Operation:
        return replace(self, values={**self.values, **values})

    def all(self) -> Iterator[Operation]:
        yield self
        for child in self.children:
            yield from child.all()


@dataclass(frozen=True)
class Program:
    """What one seed gives."""

    seed: int
    communicators: dict[str, Communicator]
    operations: tuple[Operation, ...]

    def all_operations(self) -> Iterator[Operation]:
        for operation in self.operations:
            yield from operation.all()

    def descent(self, name: str) -> list[str]:
        """How this communicator and those that it comes from were made."""
        kinds = []
        while name in self.communicators:
            kinds.append(self.communicators[name].kind)
            name = self.communicators[name].parent
        return kinds

    def used_communicators(self) -> list[str]:
        """Those that operations are on and those that they are made of, parents first."""
        used: list[str] = []

        def use(name: str) -> None:
            if name in self.communicators and name not in used:
                use(self.communicators[name].parent)
                used.append(name)

        for operation in self.all_operations():
            use(operation.communicator)
        return used

    def size(self) -> int:
        """How much there is to take away."""
        texts = [json.dumps(operation_as_data(operation)) for operation in self.operations]
        return sum(map(len, texts)) + 100 * len(self.used_communicators())


def operation_as_data(operation: Operation) -> dict[str, Any]:
    data: dict[str, Any] = {"kind": operation.kind, "on": operation.communicator, **operation.values}
    if operation.children:
        data["children"] = [operation_as_data(child) for child in operation.children]
    return data


def described(program: Program) -> str:
    """A program as people read it: a line a communicator, a line an operation."""
    lines = [f"seed {program.seed}"]
    for name in program.used_communicators():
        made = program.communicators[name]
        lines.append(f"  {name}: {made.kind} of {made.parent} {json.dumps(made.values)}")
    lines += [f"  {json.dumps(operation_as_data(operation))}" for operation in program.operations]
    return "\n".join(lines)
