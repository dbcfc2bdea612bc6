"""Communicators of every kind: how they are drawn, and the C that makes them.

Whatever the parent turns out to be when the program runs, the call is a correct one: a kind that an intercommunicator or a group of one
process cannot have gives a duplicate, or none.
"""

from __future__ import annotations

import random
from typing import Any

from .model import WORLD, Communicator

KINDS = [
    "dup", "idup", "dup_with_info", "idup_with_info", "split", "create", "create_group", "cart", "cart_sub", "graph", "dist_graph",
    "dist_graph_adjacent", "inter", "merge", "session",
]  # fmt: skip
WITH_TOPOLOGY = ("cart", "cart_sub", "graph", "dist_graph", "dist_graph_adjacent")
LEAST: dict[str, Any] = {"reverse": 0, "colours": 1, "undefined": 0, "dimensions": 1, "periods": 0, "shifts": [1], "weighted": 0}


def draw(rng: random.Random) -> dict[str, Communicator]:
    """None to five, each made of the world or of an earlier one."""
    made: dict[str, Communicator] = {}
    for number in range(rng.choice([0, 1, 2, 3, 4, 5])):
        parent = rng.choice([WORLD, WORLD, *made]) if made else WORLD
        made[f"c{number}"] = Communicator(rng.choice(KINDS), parent, _values(rng))
    return made


def _values(rng: random.Random) -> dict[str, Any]:
    return {
        "reverse": rng.randrange(2),
        "colours": rng.randint(1, 3),
        "undefined": int(rng.random() < 0.2),
        "dimensions": rng.randint(1, 3),
        "periods": rng.randrange(8),
        "shifts": [rng.randrange(8) for _ in range(rng.randint(1, 3))],
        "weighted": rng.randrange(2),
    }


def c_of(name: str, made: Communicator, number: int) -> list[str]:
    """Declares and makes the `struct comm` of this name; the parent is there."""
    parent, kind, v = made.parent, made.kind, made.values
    body = _body(made, number)
    if kind not in ("dup", "idup", "dup_with_info", "idup_with_info", "split", "create", "merge"):
        body = [f"if ({parent}.inter) MPI_Comm_dup({parent}.c, &made); else {{", *body, "}"]
    return [
        f"struct comm {name}; {{",
        f"MPI_Comm made = MPI_COMM_NULL; int side = {parent}.side;",
        f"if (member(&{parent})) {{",
        *body,
        "}",
        f"{name} = known(made, side); note_comm(&{name}); (void){v['reverse']};",
        f'if (member(&{name}) && member(&{parent})) {{ int same; MPI_Comm_compare({name}.c, {parent}.c, &same); note("compared", same); }}',
        "}",
    ]


def _body(made: Communicator, number: int) -> list[str]:
    p, kind, v = made.parent, made.kind, made.values
    key = f"({v['reverse']} ? -{p}.r : {p}.r)"
    if kind == "dup":
        return [f"MPI_Comm_dup({p}.c, &made);"]
    if kind == "idup":
        return [f"MPI_Request q; MPI_Comm_idup({p}.c, &made, &q); MPI_Wait(&q, MPI_STATUS_IGNORE);"]
    if kind == "dup_with_info":
        return [f"MPI_Comm_dup_with_info({p}.c, MPI_INFO_NULL, &made);"]
    if kind == "idup_with_info":
        return [f"MPI_Request q; MPI_Comm_idup_with_info({p}.c, MPI_INFO_NULL, &made, &q); MPI_Wait(&q, MPI_STATUS_IGNORE);"]
    if kind == "split":
        colour = f"({p}.r + {v['reverse']}) % {v['colours']}"
        if v["undefined"]:
            colour = f"({p}.r % 3 == 2 ? MPI_UNDEFINED : {colour})"
        return [f"MPI_Comm_split({p}.c, {colour}, {key}, &made);"]
    if kind in ("create", "create_group"):
        # All but every third; in reverse order now and then.
        group = [
            f"MPI_Group all, some; MPI_Comm_group({p}.c, &all); int who[1024], count = 0;",
            f"for (int i = 0; i < {p}.n && count < 1024; i++) {{ int j = {v['reverse']} ? {p}.n - 1 - i : i; if ({v['undefined']} == 0 || j % 3 != 1) who[count++] = j; }}",
            "MPI_Group_incl(all, count, who, &some);",
        ]
        if kind == "create":
            call = f"MPI_Comm_create({p}.c, some, &made);"
        else:
            call = f"int in; MPI_Group_rank(some, &in); if (in != MPI_UNDEFINED) MPI_Comm_create_group({p}.c, some, {number}, &made);"
        return [*group, call, "MPI_Group_free(&all); MPI_Group_free(&some);"]
    if kind in ("cart", "cart_sub"):
        d = max(v["dimensions"], 2) if kind == "cart_sub" else v["dimensions"]
        periods = ", ".join(str(v["periods"] >> i & 1) for i in range(d))
        lines = [
            f"int dimensions[{d}] = {{0}}, periods[{d}] = {{{periods}}};",
            f'MPI_Dims_create({p}.n, {d}, dimensions); for (int i = 0; i < {d}; i++) note("dimension", dimensions[i]);',
            f"MPI_Cart_create({p}.c, {d}, dimensions, periods, 0, &made);",
        ]
        if kind == "cart_sub":
            remain = ", ".join(str(int(i != v["colours"] % d)) for i in range(d))
            lines.append(f"MPI_Comm grid = made; MPI_Cart_sub(grid, (int[]){{{remain}}}, &made); MPI_Comm_free(&grid);")
        return lines
    shifts = v["shifts"]
    if kind == "graph":
        # With each edge there is the one that goes back, as neighbourhood collectives ask for.
        edges = "".join(f"edges[at++] = (i + {s}) % {p}.n; edges[at++] = (i + {p}.n - {s} % {p}.n) % {p}.n; " for s in shifts)
        return [
            f"int index[{p}.n + 1], edges[{p}.n * {2 * len(shifts)} + 1], at = 0;",
            f"for (int i = 0; i < {p}.n; i++) {{ {edges}index[i] = at; }}",
            f"MPI_Graph_create({p}.c, {p}.n, index, edges, 0, &made);",
        ]
    k = len(shifts)
    to = ", ".join(f"({p}.r + {s}) % {p}.n" for s in shifts)
    weights = ", ".join(f"1 + ({p}.r + {i}) % 4" for i in range(k))
    weighted = v["weighted"]
    if kind == "dist_graph":
        # Each process names the edge of another one. One edge each: the order of several is not determined (8.5.5).
        shifts = shifts[:1]
        k, weights = 1, weights.split(", ")[0]
        other = f"({p}.r + {v['colours']}) % {p}.n"
        to = ", ".join(f"({other} + {s}) % {p}.n" for s in shifts)
        return [
            f"int source = {other}, degree = {k}, to[] = {{{to}}}, weights[] = {{{weights}}}; (void)weights;",
            f"MPI_Dist_graph_create({p}.c, 1, &source, &degree, to, {'weights' if weighted else 'MPI_UNWEIGHTED'}, MPI_INFO_NULL, 0, &made);",
        ]
    if kind == "dist_graph_adjacent":
        from_ = ", ".join(f"({p}.r + {p}.n - {s} % {p}.n) % {p}.n" for s in shifts)
        w = "weights" if weighted else "MPI_UNWEIGHTED"
        return [
            f"int to[] = {{{to}}}, from[] = {{{from_}}}, weights[] = {{{', '.join('2' for _ in shifts)}}}; (void)weights;",
            f"MPI_Dist_graph_create_adjacent({p}.c, {k}, from, {w}, {k}, to, {w}, MPI_INFO_NULL, 0, &made);",
        ]
    if kind == "inter":
        # Even and odd ranks, or the first ones and the others.
        side = f"({p}.r % 2)" if v["reverse"] else f"({p}.r >= ({p}.n + 1) / 2)"
        leader = "(side ? 0 : 1)" if v["reverse"] else f"(side ? 0 : ({p}.n + 1) / 2)"
        return [
            f"if ({p}.n > 1) {{ MPI_Comm half; side = {side};",
            f"MPI_Comm_split({p}.c, side, {p}.r, &half);",
            f"MPI_Intercomm_create(half, 0, {p}.c, {leader}, {number}, &made);",
            "MPI_Comm_free(&half); }",
        ]
    if kind == "session":
        return [
            f"MPI_Group all; MPI_Comm_group({p}.c, &all);",
            f'char name[64]; snprintf(name, sizeof name, "part%ld.%d", part_number(), {number});',
            "MPI_Comm_create_from_group(all, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made); MPI_Group_free(&all);",
        ]
    assert kind == "merge"
    high = f"{p}.side" if not v["reverse"] else f"!{p}.side"
    return [
        f"if ({p}.inter) MPI_Intercomm_merge({p}.c, {high}, &made); else MPI_Comm_dup({p}.c, &made);",
        "side = 0;",
    ]
