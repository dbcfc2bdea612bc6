"""The list of exceptions: features of operations for which a difference is known, and why it is there.

An operation that has the features of an entry is left out of the programs. `exceptions.toml` says what an entry is.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .chapters.combined import as_child_of
from .kinds import KINDS
from .model import Operation, Program

LIST = Path(__file__).resolve().parents[1] / "exceptions.toml"
WHOSE = ("mpich", "ours", "either")


@dataclass(frozen=True)
class Exception_:
    name: str
    whose: str
    """Whose behaviour is not what the standard says; `either` where the standard leaves it open."""
    standard: str
    reason: str
    match: dict[str, Any]

    def matches(self, operation: Operation, within: str, program: Program) -> bool:
        made = program.communicators.get(operation.communicator)
        features: dict[str, Any] = {
            "kind": operation.kind,
            "within": within,
            "descent": program.descent(operation.communicator),
            "communicator": made.kind if made else operation.communicator,
            **operation.values,
        }
        own = KINDS[operation.kind].features
        if own:
            features |= own(operation)
        return all(name in features and _fits(features[name], wanted) for name, wanted in self.match.items())


def _fits(found: Any, wanted: Any) -> bool:
    """A list on either side stands for any of it."""
    found = found if isinstance(found, list) else [found]
    wanted = wanted if isinstance(wanted, list) else [wanted]
    return any(one in wanted for one in found)


def read(path: Path = LIST) -> list[Exception_]:
    with path.open("rb") as file:
        data = tomllib.load(file)
    entries = [Exception_(**entry) for entry in data.get("exception", [])]
    for entry in entries:
        if entry.whose not in WHOSE or not entry.match or not entry.reason or not entry.standard:
            raise ValueError(f"{path}: the entry '{entry.name}' wants whose ({', '.join(WHOSE)}), standard, reason and match")
    return entries


def without(program: Program, entries: list[Exception_]) -> Program:
    """The program without operations that are on the list."""

    def left(operation: Operation, within: str) -> Operation | None:
        operation = as_child_of(within, operation)
        if any(entry.matches(operation, within, program) for entry in entries):
            return None
        if not operation.children:
            return operation
        children = tuple(c for child in operation.children if (c := left(child, operation.kind)))
        return replace(operation, children=children) if children else None

    return replace(program, operations=tuple(o for operation in program.operations if (o := left(operation, "alone"))))
