"""Operations of operations: several under way at a time, threads, and loops around them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..code import COMPLETIONS, Code, Kind, Place
from ..model import Operation

THREADS = 3


def _generate_overlap(rng: random.Random) -> dict[str, object]:
    return {"completion": rng.choice(["each", "backwards", *COMPLETIONS])}


def overlappable(operation: Operation) -> Operation:
    """The same operation, so that it may be under way beside others."""
    if operation.kind == "messages":
        messages = [{**m, "mode": "standard" if m["mode"] in ("buffered", "ready") else m["mode"]} for m in operation["messages"]]
        for message in messages:
            message["send"] = "immediate" if message["send"] == "blocking" else message["send"]
            message["receive"] = message["receive"] if message["receive"] in ("irecv", "persistent") else "irecv"
            message["any_tag"] = False
        return operation.with_values(posted=True, messages=messages, rounds=1)
    values = operation.values
    if values.get("form") == "blocking":
        operation = operation.with_values(form="immediate")
    return operation.with_values(times=1) if "times" in values else operation


def threadable(operation: Operation) -> Operation:
    """The same operation, so that a thread may do it while others do theirs: the buffer for MPI_Bsend is the whole process's."""
    if operation.kind == "messages":
        messages = [{**m, "mode": "standard" if m["mode"] == "buffered" else m["mode"]} for m in operation["messages"]]
        return operation.with_values(messages=messages)
    return operation


def as_child_of(kind: str, operation: Operation) -> Operation:
    """What becomes of an operation below another."""
    if kind == "overlap":
        return overlappable(operation)
    return threadable(operation) if kind == "threads" else operation


def _write_overlap(operation: Operation, place: Place) -> Code:
    assert place.write_child
    children = [place.write_child(overlappable(child)) for child in operation.children]
    code = Code()
    for child in children:
        code.before += child.before
    for child in children:
        code.before += child.start
    completion = operation["completion"]
    waiting = [child for child in children if child.requests]
    if completion in ("each", "backwards"):
        for child in waiting if completion == "each" else reversed(waiting):
            code.before.append(f"complete(WAITALL, {child.count}, {child.requests}, {child.statuses});")
    elif waiting:
        n = place.number
        total = " + ".join(child.count for child in waiting)
        code.before += [
            f"int all{n} = {total}, at{n} = 0; MPI_Request q{n}[all{n} + 1]; MPI_Status u{n}[all{n} + 1];",
        ]
        for child in waiting:
            code.before.append(f"for (int i = 0; i < {child.count}; i++) q{n}[at{n}++] = {child.requests}[i];")
        code.before.append(f"complete({completion.upper()}, all{n}, q{n}, u{n}); at{n} = 0;")
        for child in waiting:
            kept = f"{child.statuses}[i] = u{n}[at{n}]; " if child.statuses != "MPI_STATUSES_IGNORE" else ""
            # A request that is not persistent is gone: its variable is not to be used again.
            code.before.append(f"for (int i = 0; i < {child.count}; i++, at{n}++) {{ {kept}{child.requests}[i] = q{n}[at{n}]; }}")
    for child in children:
        code.after += child.after
    return code


def _smaller_children(operation: Operation) -> Iterator[Operation]:
    from dataclasses import replace

    children = operation.children
    for gone in range(len(children)):
        if len(children) > 1:
            yield replace(operation, children=children[:gone] + children[gone + 1 :])
    if operation.kind == "overlap" and operation["completion"] != "each":
        yield operation.with_values(completion="each")


def _write_threads(operation: Operation, place: Place) -> Code:
    """Each child by a thread of its own, on a communicator of its own. Its function is written before the program's."""
    raise AssertionError("threads are written by the writer: their functions stand outside")


def _overlap_features(operation: Operation) -> dict[str, object]:
    """Whether persistent requests of collectives are completed together with others."""
    return {"forms": sorted({child.values.get("form", "") for child in operation.children})}


KINDS = [
    Kind("overlap", _generate_overlap, _write_overlap, _smaller_children, weight=5.0, on="none", features=_overlap_features),
    Kind("threads", lambda rng: {}, _write_threads, _smaller_children, weight=0.8, on="none"),
]
