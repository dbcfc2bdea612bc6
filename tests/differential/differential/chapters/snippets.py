"""Kinds of operations that are a few named lines of C each, and choose among them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..code import Code, Kind, Place
from ..model import Operation


def kind_of(name: str, table: dict[str, str], weight: float, around: tuple[str, str] = ("", "")) -> Kind:
    """Lines know X and Y, small numbers of the seed's, and `around` stands before and behind those of one operation."""

    def generate(rng: random.Random) -> dict[str, object]:
        return {"what": rng.sample(sorted(table), rng.randint(1, min(5, len(table)))), "x": rng.randrange(8), "y": rng.randrange(8)}

    def write(operation: Operation, place: Place) -> Code:
        lines = [f"const int X = {operation['x']}, Y = {operation['y']}; (void)X; (void)Y;", around[0]]
        lines += [f"{{ /* {what} */ {table[what]} }}" for what in operation["what"]]
        return Code(before=["{", *filter(None, lines), *filter(None, [around[1]]), "}"])

    def smaller(operation: Operation) -> Iterator[Operation]:
        for gone in range(len(operation["what"])):
            if len(operation["what"]) > 1:
                yield operation.with_values(what=operation["what"][:gone] + operation["what"][gone + 1 :])

    return Kind(name, generate, write, smaller, {"x": 0, "y": 0}, weight, on="none")
