"""Chapter 6: every collective that moves data or combines it, blocking, non-blocking and persistent, on groups and between them."""

from __future__ import annotations

import random
from typing import Any

from .. import types
from ..code import COMPLETIONS, Code, Kind, Place, count_of, size_of_transfer
from ..model import Operation

INTEGERS = ["MPI_INT", "MPI_LONG", "MPI_SHORT", "MPI_UNSIGNED_CHAR", "MPI_INT8_T", "MPI_UINT32_T", "MPI_UINT64_T", "MPI_LONG_LONG"]
FLOATS = ["MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_DOUBLE"]
COMPLEX = ["MPI_C_FLOAT_COMPLEX", "MPI_C_DOUBLE_COMPLEX", "MPI_C_LONG_DOUBLE_COMPLEX"]
ADDRESSES = ["MPI_AINT", "MPI_OFFSET", "MPI_COUNT"]
PAIRS = ["MPI_FLOAT_INT", "MPI_DOUBLE_INT", "MPI_LONG_INT", "MPI_2INT", "MPI_SHORT_INT", "MPI_LONG_DOUBLE_INT"]
OPERATIONS = {
    "MPI_SUM": ("SMALL", INTEGERS + FLOATS + COMPLEX + ADDRESSES),
    "MPI_PROD": ("FACTORS", INTEGERS + FLOATS + COMPLEX + ADDRESSES),
    "MPI_MAX": ("SMALL", INTEGERS + FLOATS + ADDRESSES),
    "MPI_MIN": ("SMALL", INTEGERS + FLOATS + ADDRESSES),
    "MPI_LAND": ("TRUTHS", [*INTEGERS, "MPI_C_BOOL"]),
    "MPI_LOR": ("TRUTHS", [*INTEGERS, "MPI_C_BOOL"]),
    "MPI_LXOR": ("TRUTHS", [*INTEGERS, "MPI_C_BOOL"]),
    "MPI_BAND": ("BITS", [*INTEGERS, "MPI_BYTE", *ADDRESSES]),
    "MPI_BOR": ("BITS", [*INTEGERS, "MPI_BYTE", *ADDRESSES]),
    "MPI_BXOR": ("BITS", [*INTEGERS, "MPI_BYTE", *ADDRESSES]),
    "MPI_MAXLOC": ("SMALL", PAIRS),
    "MPI_MINLOC": ("SMALL", PAIRS),
    "compose": ("SMALL", ["pair"]),
    "compose_c": ("SMALL", ["pair"]),
    "add_modulo": ("SMALL", ["pair"]),
}
"""The values that keep them exact, and the datatypes that they are for."""

MOVING = ["bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"]
COMBINING = ["reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"]
NEIGHBOURLY = [f"neighbor_{name}" for name in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")]
ROOTED = ["bcast", "gather", "gatherv", "scatter", "scatterv", "reduce"]


def _common(rng: random.Random) -> dict[str, Any]:
    return {
        "form": rng.choice(["blocking", "blocking", "immediate", "persistent"]),
        "large": rng.random() < 0.15,
        "completion": rng.choice(COMPLETIONS),
        "root": rng.randrange(8),
        "side": rng.randrange(2),
    }


def _times(rng: random.Random, bytes_: int) -> int:
    draw = rng.random()
    if draw < 0.85 or bytes_ > 10_000:
        return 1
    return rng.choice([2, 3, 10, 40] if draw < 0.99 or bytes_ > 1000 else [300, 1000])


def _generate_moving(rng: random.Random) -> dict[str, Any]:
    tree = types.random_tree(rng, limit=60)
    size = size_of_transfer(rng, 400_000)
    basic, elements = types.basic_of(tree) or "MPI_LONG", types.elements_of(tree)
    return {
        "function": rng.choice(MOVING),
        "type": tree,
        "count": count_of(size if rng.random() < 0.3 else min(size, 5000), basic, elements),
        "plain": rng.choice(["none", "none", "send", "receive"]),
        "in_place": rng.random() < 0.25,
        "amounts": [rng.randint(0, 6), rng.randint(0, 3), rng.randint(0, 3), rng.randint(1, 7)],
        "gap": rng.choice([0, 0, 1, 2]),
        "backwards": rng.random() < 0.2,
        "times": _times(rng, size),
        **_common(rng),
    }


def _sides(operation: Operation) -> tuple[str, int, str, int]:
    tree = operation["type"]
    basic, elements = types.basic_of(tree), types.elements_of(tree)
    if not basic or not elements or operation["plain"] == "none":
        return "", 1, "", 1
    return (basic, elements, "", 1) if operation["plain"] == "send" else ("", 1, basic, elements)


def call(function: str, operation: Operation, arguments: str, n: int) -> tuple[list[str], list[str]]:
    """What is done once, and each time."""
    large = "_c" if operation["large"] and function != "barrier" else ""
    name = function[0].upper() + function[1:]
    if operation["form"] == "blocking":
        return [], [f'note_class("returns", MPI_{name}{large}({arguments}));', f"q{n}[0] = MPI_REQUEST_NULL;"]
    if operation["form"] == "immediate":
        return [], [f"MPI_I{function}{large}({arguments}, &q{n}[0]);"]
    return [f"MPI_{name}_init{large}({arguments}, MPI_INFO_NULL, &q{n}[0]);"], [f"MPI_Start(&q{n}[0]);"]


def finish(code: Code, operation: Operation, n: int) -> None:
    if operation["form"] == "persistent":
        code.after.append(f"MPI_Request_free(&q{n}[0]);")
    if operation["form"] == "blocking":
        code.requests = ""


def counts(n: int, which: str, how_many: str, each: str, operation: Operation, factor: int) -> list[str]:
    """Counts and displacements, as both kinds of interface want them."""
    gap, backwards = operation["gap"] * factor, int(operation["backwards"])
    lines = [
        f"int k{which}{n}[{how_many} + 1], l{which}{n}[{how_many} + 1]; MPI_Count K{which}{n}[{how_many} + 1]; MPI_Aint L{which}{n}[{how_many} + 1];",
        f"for (int i = 0; i < {how_many}; i++) k{which}{n}[i] = {factor} * {each};",
        f"int64_t z{which}{n} = displace(k{which}{n}, {how_many}, {gap}, {backwards}, l{which}{n});",
        f"for (int i = 0; i < {how_many}; i++) {{ K{which}{n}[i] = k{which}{n}[i]; L{which}{n}[i] = l{which}{n}[i]; }}",
        f"(void)K{which}{n}; (void)L{which}{n}; (void)l{which}{n}; (void)z{which}{n};",
    ]
    return lines


def _write_moving(operation: Operation, place: Place) -> Code:
    n, c, function = place.number, f"{place.comm}", operation["function"]
    send_basic, send_times, receive_basic, receive_times = _sides(operation)
    st, rt = send_basic or f"t{n}", receive_basic or f"t{n}"
    sc, rc = operation["count"] * send_times, operation["count"] * receive_times
    root, side = operation["root"], operation["side"]
    code = Code(requests=f"q{n}", count="1", rounds=operation["times"])
    base, by_sender, by_receiver, modulus = operation["amounts"]
    code.before += types.c_of(operation["type"], f"t{n}")
    code.before += [
        f"MPI_Request q{n}[1]; struct amounts a{n} = {{{base}, {by_sender}, {by_receiver}, {modulus}}}; (void)a{n};",
        f"int here{n} = !{c}.inter || {c}.side == {side}, root{n} = is_root(&{c}, {side}, {root});",
        f"int in_place{n} = {int(operation['in_place'])} && !{c}.inter; (void)here{n}; (void)root{n}; (void)in_place{n};",
        f"int my{n} = {c}.side, their{n} = {c}.inter ? 1 - {c}.side : {c}.side; (void)my{n}; (void)their{n};",
    ]
    large = operation["large"]
    k, at = ("K", "L") if large else ("k", "l")
    at_root = f"root_of(&{c}, {side}, {root})"
    send_room, receive_room = str(sc), str(rc)
    note_receive = "1"
    if function == "bcast":
        arguments = f"s{n}.at, root{n} ? {sc} : {rc}, root{n} ? {st} : {rt}, {at_root}, {c}.c"
        # One buffer, which is either side's.
        room = (f"root{n} ? {st} : {rt}", f"root{n} ? {sc} : {rc}")
        code.before.append(f"struct buffer s{n} = buffer_of({room[0]}, {room[1]}, {place.key()});")
        once, each = call(function, operation, arguments, n)
        code.before += once
        code.start += each
        code.after.append(f'note_buffer("buffer", &s{n}); release(&s{n});')
        finish(code, operation, n)
        code.after += types.free_of(operation["type"], f"t{n}")
        return code
    if function in ("gather", "scatter"):
        if function == "gather":
            receive_room, note_receive = f"(root{n} ? {rc} * (int64_t){c}.rn : 0)", f"root{n}"
            arguments = (
                f"root{n} && in_place{n} ? MPI_IN_PLACE : s{n}.at, {sc}, {st}, root{n} ? d{n}.at : NULL, {rc}, {rt}, {at_root}, {c}.c"
            )
        else:
            send_room, note_receive = f"(root{n} ? {sc} * (int64_t){c}.rn : 0)", "1"
            arguments = (
                f"root{n} ? s{n}.at : NULL, {sc}, {st}, root{n} && in_place{n} ? MPI_IN_PLACE : d{n}.at, {rc}, {rt}, {at_root}, {c}.c"
            )
    elif function == "gatherv":
        code.before += counts(n, "r", f"{c}.rn", f"amount(a{n}, their{n}, i, 0)", operation, receive_times)
        receive_room, note_receive = f"(root{n} ? zr{n} : 0)", f"root{n}"
        mine = f"{send_times} * amount(a{n}, my{n}, {c}.r, 0)"
        send_room = mine
        arguments = f"root{n} && in_place{n} ? MPI_IN_PLACE : s{n}.at, {mine}, {st}, d{n}.at, {k}r{n}, {at}r{n}, {rt}, {at_root}, {c}.c"
    elif function == "scatterv":
        code.before += counts(n, "s", f"{c}.rn", f"amount(a{n}, their{n}, i, 0)", operation, send_times)
        send_room = f"(root{n} ? zs{n} : 0)"
        mine = f"{receive_times} * amount(a{n}, my{n}, {c}.r, 0)"
        receive_room = mine
        arguments = f"s{n}.at, {k}s{n}, {at}s{n}, {st}, root{n} && in_place{n} ? MPI_IN_PLACE : d{n}.at, {mine}, {rt}, {at_root}, {c}.c"
    elif function in ("allgather", "alltoall"):
        receive_room = f"{rc} * (int64_t){c}.rn"
        if function == "alltoall":
            send_room = f"{sc} * (int64_t){c}.rn"
        arguments = f"in_place{n} ? MPI_IN_PLACE : s{n}.at, {sc}, {st}, d{n}.at, {rc}, {rt}, {c}.c"
    elif function == "allgatherv":
        code.before += counts(n, "r", f"{c}.rn", f"amount(a{n}, their{n}, i, 0)", operation, receive_times)
        mine = f"{send_times} * amount(a{n}, my{n}, {c}.r, 0)"
        send_room, receive_room = mine, f"zr{n}"
        arguments = f"in_place{n} ? MPI_IN_PLACE : s{n}.at, {mine}, {st}, d{n}.at, {k}r{n}, {at}r{n}, {rt}, {c}.c"
    else:
        # In place, what comes from a process takes the place of what goes to it: both are as long.
        if operation["in_place"]:
            code.before.append(f"if (in_place{n}) a{n}.by_receiver = a{n}.by_sender;")
        code.before += counts(n, "s", f"{c}.rn", f"amount(a{n}, my{n}, {c}.r, i)", operation, send_times)
        code.before += counts(n, "r", f"{c}.rn", f"amount(a{n}, their{n}, i, {c}.r)", operation, receive_times)
        send_room, receive_room = f"zs{n}", f"zr{n}"
        if function == "alltoallw":
            for letter, type_ in (("s", st), ("r", rt)):
                code.before += [
                    f"MPI_Datatype t{letter}{n}[{c}.rn + 1];",
                    f"for (int i = 0; i < {c}.rn; i++) {{ t{letter}{n}[i] = {type_}; l{letter}{n}[i] = (int)(L{letter}{n}[i] *= extent_of({type_})); }}",
                ]
            arguments = f"in_place{n} ? MPI_IN_PLACE : s{n}.at, {k}s{n}, {at}s{n}, ts{n}, d{n}.at, {k}r{n}, {at}r{n}, tr{n}, {c}.c"
        else:
            arguments = f"in_place{n} ? MPI_IN_PLACE : s{n}.at, {k}s{n}, {at}s{n}, {st}, d{n}.at, {k}r{n}, {at}r{n}, {rt}, {c}.c"
    code.before += [
        f"struct buffer s{n} = buffer_of({st}, {send_room}, {place.key()}), d{n} = buffer_of({rt}, {receive_room}, {place.key(1)});",
    ]
    once, each = call(function, operation, arguments, n)
    code.before += once
    code.start += each
    code.after += [
        f'note_buffer("sent", &s{n});',
        f'if ({note_receive}) note_buffer("received", &d{n});',
        f"release(&s{n}); release(&d{n});",
    ]
    finish(code, operation, n)
    code.after += types.free_of(operation["type"], f"t{n}")
    return code


# --- Reductions ---


def _generate_combining(rng: random.Random) -> dict[str, Any]:
    name = rng.choice(sorted(OPERATIONS))
    basic = rng.choice(OPERATIONS[name][1])
    draw = rng.random()
    count = (
        rng.randint(0, 9) if draw < 0.6 else rng.randint(10, 300) if draw < 0.85
        else rng.choice([512, 513, 1023, 1024, 1025, 2048, 4096, 8191]) if draw < 0.97
        else rng.choice([20_000, 65_537])
    )  # fmt: skip
    return {
        "function": rng.choice(COMBINING),
        "op": name,
        "basic": basic,
        "count": count,
        "in_place": rng.random() < 0.25,
        "amounts": [rng.randint(0, 6), rng.randint(0, 3), 0, rng.randint(1, 7)],
        "times": _times(rng, count * 8),
        **_common(rng),
    }


def _write_combining(operation: Operation, place: Place) -> Code:
    n, c, function = place.number, place.comm, operation["function"]
    values = OPERATIONS[operation["op"]][0]
    root, side, count = operation["root"], operation["side"], operation["count"]
    own = operation["op"] in ("compose", "compose_c", "add_modulo")
    basic = f"t{n}" if own else operation["basic"]
    op = f"o{n}" if own else operation["op"]
    code = Code(requests=f"q{n}", count="1", rounds=operation["times"])
    if own:
        commutes = int(operation["op"] == "add_modulo")
        suffix = "_c" if operation["op"].endswith("_c") else ""
        code.before += [
            f"MPI_Datatype t{n}; MPI_Type_contiguous(2, MPI_LONG, &t{n}); MPI_Type_commit(&t{n});",
            f"MPI_Op o{n}; MPI_Op_create{suffix}({operation['op']}, {commutes}, &o{n});",
        ]
    base, by_sender, _, modulus = operation["amounts"]
    # The operation that only integers of one length know has to stay within its own group.
    function_here = "allreduce" if function in ("scan", "exscan") else function
    code.before += [
        f"MPI_Request q{n}[1]; struct amounts a{n} = {{{base}, {by_sender}, 0, {modulus}}}; (void)a{n};",
        f"int here{n} = !{c}.inter || {c}.side == {side}, root{n} = is_root(&{c}, {side}, {root});",
        f"int in_place{n} = {int(operation['in_place'])} && !{c}.inter; (void)here{n}; (void)root{n}; (void)in_place{n};",
    ]
    send, receive = str(count), str(count)
    large = operation["large"]
    counts_name = f"{'K' if large else 'k'}{n}"
    if function == "reduce_scatter":
        # Both groups of an intercommunicator share out as many elements.
        code.before += [
            f"int total{n} = 0, k{n}[{c}.n + 1]; MPI_Count K{n}[{c}.n + 1]; (void)K{n};",
            f"for (int i = 0; i < {c}.n; i++) {{ k{n}[i] = {c}.inter ? 0 : amount(a{n}, 0, i, 0) * {min(count, 500)}; total{n} += k{n}[i]; }}",
            f"if ({c}.inter) {{ total{n} = {min(count, 2000)} * {c}.n * {c}.rn; for (int i = 0; i < {c}.n; i++) k{n}[i] = {min(count, 2000)} * {c}.rn; }}",
            f"for (int i = 0; i < {c}.n; i++) K{n}[i] = k{n}[i];",
        ]
        send, receive = f"total{n}", f"(in_place{n} ? total{n} : k{n}[{c}.r])"
    elif function == "reduce_scatter_block":
        code.before.append(f"int block{n} = {min(count, 2000)} * ({c}.inter ? {c}.rn : 1), all{n} = block{n} * {c}.n;")
        send, receive = f"all{n}", f"(in_place{n} ? all{n} : block{n})"
    code.before += [
        f"struct buffer s{n} = buffer_of({basic}, {send}, {place.key()}), d{n} = buffer_of({basic}, {receive}, {place.key(1)});",
        f"fill_values(s{n}.at, {send}, {basic}, {place.key()}, {values}); fill_values(d{n}.at, {receive}, {basic}, {place.key(1)}, {values});",
    ]
    in_place = f"in_place{n} ? MPI_IN_PLACE : s{n}.at"
    noted, what = "1", receive
    if function == "reduce":
        in_place = f"root{n} && {in_place}"
        arguments = f"{in_place}, d{n}.at, {count}, {basic}, {op}, root_of(&{c}, {side}, {root}), {c}.c"
        noted = f"root{n}"
    elif function == "reduce_scatter":
        arguments = f"{in_place}, d{n}.at, {counts_name}, {basic}, {op}, {c}.c"
        what = f"k{n}[{c}.r]"
    elif function == "reduce_scatter_block":
        arguments = f"{in_place}, d{n}.at, block{n}, {basic}, {op}, {c}.c"
        what = f"block{n}"
    else:
        arguments = f"{in_place}, d{n}.at, {count}, {basic}, {op}, {c}.c"
        if function == "exscan":
            noted = f"{c}.inter || {c}.r > 0"
    once, each = call(function, operation, arguments, n)
    if function in ("scan", "exscan"):
        # These are not for intercommunicators.
        other_once, other_each = call(function_here, operation, arguments, n)
        once = [f"if ({c}.inter) {{", *other_once, "} else {", *once, "}"]
        each = [f"if ({c}.inter) {{", *other_each, "} else {", *each, "}"]
    again = f"if (in_place{n}) fill_values(d{n}.at, {receive}, {basic}, {place.key(1)}, {values});"
    code.before += once
    code.start += [again, *each]
    code.after += [
        f'if ({noted}) note_values("result", d{n}.at, {what}, {basic});',
        f'note_values("sent", s{n}.at, {send}, {basic});',
        f"release(&s{n}); release(&d{n});",
    ]
    finish(code, operation, n)
    if own:
        code.after.append(f"MPI_Op_free(&o{n}); MPI_Type_free(&t{n});")
    return code


def _generate_barrier(rng: random.Random) -> dict[str, Any]:
    return {"times": rng.choice([1, 1, 1, 3, 20]), **_common(rng)}


def _write_barrier(operation: Operation, place: Place) -> Code:
    n, c = place.number, place.comm
    code = Code([f"MPI_Request q{n}[1];"], requests=f"q{n}", count="1", rounds=operation["times"])
    once, each = call("barrier", operation, f"{c}.c", n)
    code.before += once
    code.start += each
    finish(code, operation, n)
    return code


# --- Reductions at home ---


def _generate_local(rng: random.Random) -> dict[str, Any]:
    name = rng.choice(sorted(OPERATIONS))
    return {"op": name, "basic": rng.choice(OPERATIONS[name][1]), "count": rng.randint(0, 100), "large": rng.random() < 0.3}


def _write_local(operation: Operation, place: Place) -> Code:
    n, count = place.number, operation["count"]
    own = operation["op"] in ("compose", "compose_c", "add_modulo")
    basic, op = (f"t{n}", f"o{n}") if own else (operation["basic"], operation["op"])
    values = OPERATIONS[operation["op"]][0]
    code = Code()
    if own:
        suffix = "_c" if operation["op"].endswith("_c") else ""
        code.before += [
            f"MPI_Datatype t{n}; MPI_Type_contiguous(2, MPI_LONG, &t{n}); MPI_Type_commit(&t{n});",
            f"MPI_Op o{n}; MPI_Op_create{suffix}({operation['op']}, {int(operation['op'] == 'add_modulo')}, &o{n});",
        ]
    large = "_c" if operation["large"] else ""
    code.before += [
        f"struct buffer s{n} = buffer_of({basic}, {count}, {place.key()}), d{n} = buffer_of({basic}, {count}, {place.key(1)}); int commutes{n} = -5;",
        f"fill_values(s{n}.at, {count}, {basic}, {place.key()}, {values}); fill_values(d{n}.at, {count}, {basic}, {place.key(1)}, {values});",
        f'note_class("returns", MPI_Reduce_local{large}(s{n}.at, d{n}.at, {count}, {basic}, {op}));',
        f'note_values("result", d{n}.at, {count}, {basic}); MPI_Op_commutative({op}, &commutes{n}); note("commutes", commutes{n} != 0);',
        f"release(&s{n}); release(&d{n});",
    ]
    if own:
        code.before.append(f"MPI_Op_free(&o{n}); MPI_Type_free(&t{n});")
    return code


# --- Neighbours ---


def _generate_neighbourly(rng: random.Random) -> dict[str, Any]:
    return {**_generate_moving(rng), "function": rng.choice(NEIGHBOURLY), "in_place": False}


def _write_neighbourly(operation: Operation, place: Place) -> Code:
    n, c, function = place.number, place.comm, operation["function"]
    send_basic, send_times, receive_basic, receive_times = _sides(operation)
    st, rt = send_basic or f"t{n}", receive_basic or f"t{n}"
    count = min(operation["count"], 2000)
    sc, rc = count * send_times, count * receive_times
    base, by_sender, by_receiver, modulus = operation["amounts"]
    code = Code(requests=f"q{n}", count="1", rounds=operation["times"])
    code.before += types.c_of(operation["type"], f"t{n}")
    code.before.append(f"MPI_Request q{n}[1]; struct amounts a{n} = {{{base}, {by_sender}, {by_receiver}, {modulus}}}; (void)a{n};")
    k, at = ("K", "L") if operation["large"] else ("k", "l")
    to, from_ = f"({c}.to[i] < 0 ? 0 : {c}.to[i])", f"({c}.from[i] < 0 ? 0 : {c}.from[i])"
    if function == "neighbor_allgather":
        send_room, receive_room = str(sc), f"{rc} * (int64_t){c}.in"
        arguments = f"s{n}.at, {sc}, {st}, d{n}.at, {rc}, {rt}, {c}.c"
    elif function == "neighbor_alltoall":
        send_room, receive_room = f"{sc} * (int64_t){c}.out", f"{rc} * (int64_t){c}.in"
        arguments = f"s{n}.at, {sc}, {st}, d{n}.at, {rc}, {rt}, {c}.c"
    elif function == "neighbor_allgatherv":
        code.before += counts(n, "r", f"{c}.in", f"amount(a{n}, 0, {from_}, 0)", operation, receive_times)
        send_room, receive_room = f"{send_times} * amount(a{n}, 0, {c}.r, 0)", f"zr{n}"
        arguments = f"s{n}.at, {send_room}, {st}, d{n}.at, {k}r{n}, {at}r{n}, {rt}, {c}.c"
    else:
        code.before += counts(n, "s", f"{c}.out", f"amount(a{n}, 0, {c}.r, {to})", operation, send_times)
        code.before += counts(n, "r", f"{c}.in", f"amount(a{n}, 0, {from_}, {c}.r)", operation, receive_times)
        send_room, receive_room = f"zs{n}", f"zr{n}"
        if function == "neighbor_alltoallw":
            at = "L"
            for letter, type_, how_many in (("s", st, "out"), ("r", rt, "in")):
                code.before += [
                    f"MPI_Datatype t{letter}{n}[{c}.{how_many} + 1];",
                    f"for (int i = 0; i < {c}.{how_many}; i++) {{ t{letter}{n}[i] = {type_}; L{letter}{n}[i] *= extent_of({type_}); }}",
                ]
            arguments = f"s{n}.at, {k}s{n}, {at}s{n}, ts{n}, d{n}.at, {k}r{n}, {at}r{n}, tr{n}, {c}.c"
        else:
            arguments = f"s{n}.at, {k}s{n}, {at}s{n}, {st}, d{n}.at, {k}r{n}, {at}r{n}, {rt}, {c}.c"
    code.before.append(
        f"struct buffer s{n} = buffer_of({st}, {send_room}, {place.key()}), d{n} = buffer_of({rt}, {receive_room}, {place.key(1)});"
    )
    once, each = call(function, operation, arguments, n)
    code.before += once
    code.start += each
    code.after += [
        f'note_buffer("sent", &s{n}); note_buffer("received", &d{n}); release(&s{n}); release(&d{n});',
    ]
    finish(code, operation, n)
    code.after += types.free_of(operation["type"], f"t{n}")
    return code


def _moving_features(operation: Operation) -> dict[str, object]:
    return types.features_of(operation["type"])


LEAST = {
    "times": 1, "form": "blocking", "large": False, "completion": "waitall", "root": 0, "side": 0, "count": 0,
    "plain": "none", "in_place": False, "gap": 0, "backwards": False, "amounts": [1, 0, 0, 7],
}  # fmt: skip
KINDS = [
    Kind("moving", _generate_moving, _write_moving, least=LEAST, weight=7.0, startable=True, features=_moving_features),
    Kind("combining", _generate_combining, _write_combining, least=LEAST, weight=5.0, startable=True),
    Kind("barrier", _generate_barrier, _write_barrier, least=LEAST, weight=0.7, startable=True),
    Kind("local", _generate_local, _write_local, least=LEAST, on="none"),
    Kind("neighbourly", _generate_neighbourly, _write_neighbourly, least=LEAST, weight=3.0, on="topology", startable=True),
]
