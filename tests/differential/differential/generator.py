"""From a seed to a program."""

from __future__ import annotations

import random

from . import communicators
from .chapters.combined import as_child_of
from .code import Kind
from .kinds import KINDS
from .model import NONE, SELF, WORLD, Operation, Program


def program_of(seed: int) -> Program:
    rng = random.Random(f"program {seed}")
    made = communicators.draw(rng)
    operations = tuple(_operation(rng, sorted(made), list(KINDS.values()), made) for _ in range(rng.randint(3, 10)))
    return Program(seed, made, operations)


def _operation(rng: random.Random, names: list[str], kinds: list[Kind], made: dict[str, communicators.Communicator]) -> Operation:
    with_topology = [name for name in names if made[name].kind in communicators.WITH_TOPOLOGY]
    possible = [kind for kind in kinds if kind.on != "topology" or with_topology]
    kind = rng.choices(possible, [kind.weight for kind in possible])[0]
    values = kind.generate(rng)
    if kind.name in ("overlap", "threads"):
        inner = [kind for kind in kinds if kind.startable]
        how_many = 3 if kind.name == "threads" else rng.randint(2, 5)
        children = tuple(as_child_of(kind.name, _operation(rng, names, inner, made)) for _ in range(how_many))
        return Operation(kind.name, NONE, values, children)
    if kind.on == "none":
        return Operation(kind.name, NONE, values)
    if kind.on == "topology":
        return Operation(kind.name, rng.choice(with_topology), values)
    return Operation(kind.name, rng.choice([WORLD, WORLD, *names, *names, SELF] if rng.random() < 0.3 else [WORLD, *names]), values)
