"""From a difference to the smallest program that shows it: fewer parts, fewer operations, fewer ranks, smaller values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from . import communicators, types
from .kinds import KINDS
from .model import WORLD, Communicator, Operation, Program


@dataclass(frozen=True)
class Case:
    programs: tuple[Program, ...]
    ranks: int


def shrink(case: Case, differs: Callable[[Case], bool], seconds: float, clock: Callable[[], float] = time.monotonic) -> Case:
    """`differs` says whether a case still shows the difference; the one that is given does."""
    end = clock() + seconds
    while clock() < end:
        for smaller in candidates(case):
            if clock() >= end:
                break
            if differs(smaller):
                case = smaller
                break
        else:
            return case
    return case


def candidates(case: Case) -> Iterator[Case]:
    """Smaller cases, the boldest first."""
    programs = case.programs
    if len(programs) > 1:
        for keep in _halves(len(programs)):
            yield replace(case, programs=tuple(programs[i] for i in keep))
    for number, program in enumerate(programs):
        for less in smaller_programs(program):
            yield replace(case, programs=(*programs[:number], less, *programs[number + 1 :]))
        if case.ranks > 1 and number == 0:
            for ranks in sorted({1, 2, 3, case.ranks - 1}):
                if ranks < case.ranks:
                    yield replace(case, ranks=ranks)
    for number, program in enumerate(programs):
        for less in simpler_values(program):
            yield replace(case, programs=(*programs[:number], less, *programs[number + 1 :]))


def _halves(count: int) -> Iterator[list[int]]:
    """What is kept: halves, then quarters' complements, then all but one."""
    everything = list(range(count))
    step = (count + 1) // 2
    while step >= 1:
        for start in range(0, count, step):
            kept = everything[:start] + everything[start + step :] if step < count else []
            if kept:
                yield kept
        step = step // 2


def smaller_programs(program: Program) -> Iterator[Program]:
    """Without some of the operations, and with communicators replaced by their parents."""
    operations = program.operations
    for keep in _halves(len(operations)):
        yield replace(program, operations=tuple(operations[i] for i in keep))
    for number, operation in enumerate(operations):
        for child in operation.children:
            yield _with(program, number, child)
    for name in program.used_communicators():
        parent = program.communicators[name].parent
        moved = tuple(_moved(operation, name, parent) for operation in operations)
        made = {
            other: replace(one, parent=parent if one.parent == name else one.parent)
            for other, one in program.communicators.items()
            if other != name
        }
        yield replace(program, operations=moved, communicators=made)
    for number, operation in enumerate(operations):
        for less in _fewer_children(operation):
            yield _with(program, number, less)


def _fewer_children(operation: Operation) -> Iterator[Operation]:
    for gone in range(len(operation.children)):
        if len(operation.children) > 1:
            yield replace(operation, children=operation.children[:gone] + operation.children[gone + 1 :])


def _with(program: Program, number: int, operation: Operation) -> Program:
    return replace(program, operations=(*program.operations[:number], operation, *program.operations[number + 1 :]))


def _moved(operation: Operation, name: str, to: str) -> Operation:
    children = tuple(_moved(child, name, to) for child in operation.children)
    return replace(operation, children=children, communicator=to if operation.communicator == name else operation.communicator)


def simpler_values(program: Program) -> Iterator[Program]:
    for number, operation in enumerate(program.operations):
        for less in simpler_operations(operation):
            yield _with(program, number, less)
    for name in program.used_communicators():
        made = program.communicators[name]
        if made.kind != "dup":
            yield replace(program, communicators={**program.communicators, name: replace(made, kind="dup")})
        for value, least in communicators.LEAST.items():
            if made.values[value] != least:
                less_made = Communicator(made.kind, made.parent, {**made.values, value: least})
                yield replace(program, communicators={**program.communicators, name: less_made})
    for number, operation in enumerate(program.operations):
        if operation.communicator not in ("", WORLD) and operation.communicator not in program.communicators:
            yield _with(program, number, replace(operation, communicator=WORLD))


def simpler_operations(operation: Operation) -> Iterator[Operation]:
    kind = KINDS[operation.kind]
    for number, child in enumerate(operation.children):
        for less in simpler_operations(child):
            yield replace(operation, children=(*operation.children[:number], less, *operation.children[number + 1 :]))
    if kind.smaller:
        yield from kind.smaller(operation)
    for name, value in operation.values.items():
        if name == "type" and isinstance(value, list):
            for tree in types.smaller(value):
                yield operation.with_values(type=tree)
        elif name in kind.least and value != kind.least[name]:
            yield operation.with_values(**{name: kind.least[name]})
            for between in _between(kind.least[name], value):
                yield operation.with_values(**{name: between})


def _between(least: Any, value: Any) -> list[Any]:
    """Values on the way from one to the other."""
    if isinstance(value, bool) or not isinstance(value, int) or not isinstance(least, int):
        return []
    half = (least + value) // 2
    return [v for v in dict.fromkeys([half, value - 1]) if least < v < value]
