"""Derived datatypes: trees of constructors over one predefined datatype, and the C that makes them.

A tree is a list, as JSON has it: `["MPI_INT"]`, `["vector", 3, 2, 4, child]`. No two elements of a datatype overlap, also when
several follow each other, so that each may be received with.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

Tree = list[Any]

BASICS = [
    "MPI_INT",
    "MPI_BYTE",
    "MPI_CHAR",
    "MPI_DOUBLE",
    "MPI_SHORT",
    "MPI_LONG",
    "MPI_FLOAT",
    "MPI_INT64_T",
    "MPI_UINT16_T",
    "MPI_C_DOUBLE_COMPLEX",
    "MPI_AINT",
    "MPI_COUNT",
]
CONSTRUCTORS = [
    *("contiguous", "vector", "hvector", "indexed", "hindexed", "indexed_block", "hindexed_block"),
    *("struct", "subarray", "darray", "resized", "dup"),
]


def is_basic(tree: Tree) -> bool:
    return len(tree) == 1


def basic_of(tree: Tree) -> str:
    """The predefined datatype that all is made of; empty when there are several."""
    if is_basic(tree):
        return tree[0]
    if tree[0] == "struct":
        basics = {basic_of(child) for _, _, child in tree[1]}
        return basics.pop() if len(basics) == 1 else ""
    return basic_of(tree[-1])


def features_of(tree: Tree) -> dict[str, object]:
    """What the list of exceptions may ask of a datatype."""
    basic = basic_of(tree)
    return {"derived": not is_basic(tree), "mixed": not basic, "basic": basic, "distributed": _has(tree, "darray")}


def _has(tree: Tree, constructor: str) -> bool:
    return not is_basic(tree) and (tree[0] == constructor or any(_has(child, constructor) for child in children(tree)))


def elements_of(tree: Tree) -> int:
    """How many elements of predefined datatypes."""
    if is_basic(tree):
        return 1
    kind = tree[0]
    if kind == "struct":
        return sum(length * elements_of(child) for length, _, child in tree[1])
    child = elements_of(tree[-1])
    if kind == "contiguous":
        return tree[1] * child
    if kind in ("vector", "hvector"):
        return tree[1] * tree[2] * child
    if kind in ("indexed", "hindexed"):
        return sum(length for length, _ in tree[1]) * child
    if kind in ("indexed_block", "hindexed_block"):
        return tree[1] * len(tree[2]) * child
    if kind == "subarray":
        total = child
        for _, size, _ in tree[1]:
            total *= size
        return total
    if kind == "darray":
        return _elements_of_darray(tree) * child
    return child  # resized, dup


def _coordinates(rank: int, grid: list[int]) -> list[int]:
    """Of a rank in a grid of processes, whose last dimension is the fastest whatever the order of the array (5.1.4)."""
    found = []
    for processes in reversed(grid):
        rank, at = divmod(rank, processes)
        found.append(at)
    return found[::-1]


def _dealt(whole: int, way: str, argument: int, processes: int, at: int) -> int:
    """How many of the indices of a dimension a process has, by the way in which they are distributed; argument 0 is the default."""
    if way == "NONE":
        return whole
    if way == "BLOCK":
        block = argument or -(-whole // processes)
        return max(0, min(block, whole - block * at))
    return sum(1 for index in range(whole) if index // (argument or 1) % processes == at)


def _grid_of(tree: Tree) -> tuple[list[int], int]:
    """The processes of a distributed array, and the rank in them."""
    grid = [processes for _, _, _, processes in tree[2]]
    return grid, tree[1] % math.prod(grid)


def _elements_of_darray(tree: Tree) -> int:
    grid, rank = _grid_of(tree)
    return math.prod(_dealt(*dimension, at) for dimension, at in zip(tree[2], _coordinates(rank, grid), strict=True))


def random_tree(rng: random.Random, depth: int = 2, basic: str | None = None, limit: int = 200) -> Tree:
    basic = basic or rng.choice(BASICS)
    for _ in range(20):
        tree = _random(rng, depth, basic)
        if elements_of(tree) <= limit and valid(tree):
            return tree
    return [basic]


def _bounded(tree: Tree) -> bool:
    """Whether bounds were set somewhere, which parts of arrays do as well."""
    if is_basic(tree):
        return False
    return tree[0] in ("resized", "subarray", "darray") or any(_bounded(child) for child in children(tree))


def children(tree: Tree) -> list[Tree]:
    if is_basic(tree):
        return []
    return [child for _, _, child in tree[1]] if tree[0] == "struct" else [tree[-1]]


def valid(tree: Tree) -> bool:
    """Whether the elements of several follow each other without overlapping, and the bounds are those of something.

    A bound that was set is the bound of the whole structure (5.1.6), so that members without one would lie
    outside it; and what the bounds of nothing are is not said."""
    if elements_of(tree) == 0:
        return False
    if tree[0] == "struct" and _bounded(tree) and any(child != tree[1][0][2] for child in children(tree)):
        return False
    return all(valid(child) for child in children(tree))


def _blocks(rng: random.Random, equal: bool) -> list[list[int]]:
    """Block lengths and displacements that do not overlap, in any order."""
    blocks, at, length = [], rng.randint(0, 2), rng.randint(1, 3)
    for _ in range(rng.randint(1, 4)):
        if not equal:
            length = rng.randint(0, 3)
        blocks.append([length, at])
        at += length + rng.randint(0, 2)
    if rng.random() < 0.4:
        rng.shuffle(blocks)
    return blocks


def _random(rng: random.Random, depth: int, basic: str) -> Tree:
    if depth == 0 or rng.random() < 0.2:
        return [basic]
    child = _random(rng, depth - 1, basic)
    kind = rng.choice(CONSTRUCTORS)
    if kind == "contiguous":
        return [kind, rng.randint(1, 5), child]
    if kind in ("vector", "hvector"):
        length = rng.randint(1, 3)
        stride = length + rng.randint(0, 3)
        return [kind, rng.randint(1, 4), length, -stride if rng.random() < 0.15 else stride, child]
    if kind in ("indexed", "hindexed"):
        return [kind, _blocks(rng, False), child]
    if kind in ("indexed_block", "hindexed_block"):
        blocks = _blocks(rng, True)
        return [kind, blocks[0][0], [at for _, at in blocks], child]
    if kind == "struct":
        members = []
        for _ in range(rng.randint(1, 3)):
            members.append([rng.randint(1, 3), 16 * rng.randint(0, 2), child])
        if rng.random() < 0.3:
            other = _random(rng, 0, rng.choice(BASICS))
            members.append([rng.randint(1, 2), 0, other])
        return [kind, members]
    if kind == "subarray":
        dimensions = []
        for _ in range(rng.randint(1, 3)):
            full = rng.randint(1, 5)
            part = rng.randint(1, full)
            dimensions.append([full, part, rng.randint(0, full - part)])
        return [kind, dimensions, rng.choice(["MPI_ORDER_C", "MPI_ORDER_FORTRAN"]), child]
    if kind == "darray":
        dimensions = []
        for _ in range(rng.randint(1, 3)):
            full, way, processes = rng.randint(1, 6), rng.choice(["BLOCK", "CYCLIC", "NONE"]), rng.randint(1, 3)
            if way == "NONE":
                processes = 1
            least = -(-full // processes) if way == "BLOCK" else 1
            argument = 0 if way == "NONE" or rng.random() < 0.5 else least + rng.randint(0, 2)
            dimensions.append([full, way, argument, processes])
        return [kind, rng.randrange(27), dimensions, rng.choice(["MPI_ORDER_C", "MPI_ORDER_FORTRAN"]), child]
    if kind == "resized":
        return [kind, 16 * rng.randint(-1, 1), 16 * rng.randint(0, 2), child]
    return [kind, child]


def smaller(tree: Tree) -> Iterator[Tree]:
    """Simpler datatypes over the same predefined one."""
    return (less for less in _smaller(tree) if valid(less))


def _smaller(tree: Tree) -> Iterator[Tree]:
    if is_basic(tree):
        return
    basic = basic_of(tree)
    if basic:
        yield [basic]
    if tree[0] == "struct":
        for number, (length, gap, child) in enumerate(tree[1]):
            yield child
            if len(tree[1]) > 1:
                yield ["struct", tree[1][:number] + tree[1][number + 1 :]]
            if (length, gap) != (1, 0):
                yield ["struct", [*tree[1][:number], [1, 0, child], *tree[1][number + 1 :]]]
            for less in smaller(child):
                yield ["struct", [*tree[1][:number], [length, gap, less], *tree[1][number + 1 :]]]
        return
    yield tree[-1]
    for number, value in enumerate(tree[1:-1], 1):
        if isinstance(value, int) and value > 1:
            less = 1
            if tree[0] in ("vector", "hvector") and number == 3:
                less = tree[2]
            if less < value:
                yield [*tree[:number], less, *tree[number + 1 :]]
        elif isinstance(value, list) and len(value) > 1:
            for gone in range(len(value)):
                yield [*tree[:number], value[:gone] + value[gone + 1 :], *tree[number + 1 :]]
    for less in smaller(tree[-1]):
        yield [*tree[:-1], less]


def c_of(tree: Tree, name: str) -> list[str]:
    """The lines that declare and commit `name`. Predefined datatypes are named as they are."""
    lines: list[str] = []
    counter = 0
    made: list[str] = []

    def build(node: Tree) -> str:
        nonlocal counter
        if is_basic(node):
            return node[0]
        counter += 1
        own = f"{name}_{counter}"
        if node[0] == "struct":
            return build_struct(node, own)
        child = build(node[-1])
        lines.append(f"MPI_Datatype {own};")
        kind = node[0]
        if kind == "contiguous":
            call = f"MPI_Type_contiguous({node[1]}, {child}, &{own});"
        elif kind == "vector":
            call = f"MPI_Type_vector({node[1]}, {node[2]}, {node[3]}, {child}, &{own});"
        elif kind == "hvector":
            call = f"MPI_Type_create_hvector({node[1]}, {node[2]}, {node[3]} * extent_of({child}), {child}, &{own});"
        elif kind in ("indexed", "hindexed"):
            lengths = ", ".join(str(length) for length, _ in node[1])
            hindexed = kind == "hindexed"
            at = ", ".join(f"{at} * extent_of({child})" if hindexed else str(at) for _, at in node[1])
            function = "MPI_Type_create_hindexed" if hindexed else "MPI_Type_indexed"
            kind_of_at = "MPI_Aint" if hindexed else "int"
            call = f"{function}({len(node[1])}, (int[]){{{lengths}}}, ({kind_of_at}[]){{{at}}}, {child}, &{own});"
        elif kind in ("indexed_block", "hindexed_block"):
            hindexed = kind == "hindexed_block"
            at = ", ".join(f"{at} * extent_of({child})" if hindexed else str(at) for at in node[2])
            kind_of_at = "MPI_Aint" if hindexed else "int"
            call = f"MPI_Type_create_{kind}({len(node[2])}, {node[1]}, ({kind_of_at}[]){{{at}}}, {child}, &{own});"
        elif kind == "subarray":
            full, part, start = (", ".join(str(d[i]) for d in node[1]) for i in range(3))
            call = (
                f"MPI_Type_create_subarray({len(node[1])}, (int[]){{{full}}}, (int[]){{{part}}}, "
                f"(int[]){{{start}}}, {node[2]}, {child}, &{own});"
            )
        elif kind == "darray":
            grid, rank = _grid_of(node)
            full, ways, arguments, processes = (
                ", ".join(values)
                for values in zip(
                    *(
                        (str(whole), f"MPI_DISTRIBUTE_{way}", str(argument or "MPI_DISTRIBUTE_DFLT_DARG"), str(at))
                        for whole, way, argument, at in node[2]
                    ),
                    strict=True,
                )
            )
            call = (
                f"MPI_Type_create_darray({math.prod(grid)}, {rank}, {len(grid)}, (int[]){{{full}}}, (int[]){{{ways}}}, "
                f"(int[]){{{arguments}}}, (int[]){{{processes}}}, {node[3]}, {child}, &{own});"
            )
        elif kind == "resized":
            lower = f"lower_of({child}) + {node[1]}" if node[1] else f"lower_of({child})"
            call = f"MPI_Type_create_resized({child}, {lower}, extent_of({child}) + {node[2]}, &{own});"
        else:
            call = f"MPI_Type_dup({child}, &{own});"
        lines.append(call)
        made.append(own)
        return own

    def build_struct(node: Tree, own: str) -> str:
        children = [build(child) for _, _, child in node[1]]
        lengths = ", ".join(str(length) for length, _, _ in node[1])
        gaps = ", ".join(str(gap) for _, gap, _ in node[1])
        lines.append(f"MPI_Datatype {own}, {own}_of[] = {{{', '.join(children)}}};")
        lines.append(f"int {own}_lengths[] = {{{lengths}}}, {own}_gaps[] = {{{gaps}}};")
        lines.append(f"MPI_Aint {own}_at[{len(children)}];")
        lines.append(f"follow_each_other({len(children)}, {own}_lengths, {own}_gaps, {own}_of, {own}_at);")
        lines.append(f"MPI_Type_create_struct({len(children)}, {own}_lengths, {own}_at, {own}_of, &{own});")
        made.append(own)
        return own

    top = build(tree)
    lines.append(f"MPI_Datatype {name} = {top};")
    if not is_basic(tree):
        lines.append(f"MPI_Type_commit(&{name});")
    for inner in made:
        if inner != top:
            lines.append(f"MPI_Type_free(&{inner});")
    return lines


def free_of(tree: Tree, name: str) -> list[str]:
    return [] if is_basic(tree) else [f"MPI_Type_free(&{name});"]
