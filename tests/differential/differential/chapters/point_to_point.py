"""Chapter 3: messages in every mode and form, wildcards whose match is forced, probes, requests of every sort.

No program relies on buffering. Either all receives are posted before the first send that may wait, or all sends are begun without
waiting before the first receive. A wildcard is used where one message alone can match: its tag is the message's own, or messages of
one sender are received in the order in which they were sent.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from .. import types
from ..code import COMPLETIONS, Code, Kind, Place, count_of, size_of_transfer
from ..model import Operation

MODES = {"standard": "", "synchronous": "s", "buffered": "b", "ready": "r"}


def _message(rng: random.Random, tree: types.Tree, posted: bool, in_order: bool) -> dict[str, Any]:
    size = size_of_transfer(rng, 300_000)
    modes = ["standard", "standard", "synchronous", "buffered"] + (["ready"] if posted else [])
    mode = rng.choice(modes)
    if mode == "buffered":
        size = min(size, 20_000)
    count = count_of(size, types.basic_of(tree) or "MPI_LONG", types.elements_of(tree))
    receives = ["irecv", "irecv", "persistent"] if posted else ["recv", "recv", "mprobe", "improbe", "probe", "iprobe"]
    return {
        "from": rng.randrange(8),
        "to": rng.randrange(8),
        "side": rng.randrange(2),
        "count": count,
        "mode": mode,
        "send": rng.choice(["blocking", "immediate", "persistent"] if posted else ["immediate", "persistent"]),
        "receive": rng.choice(receives),
        "any_source": rng.random() < 0.2,
        "any_tag": in_order and rng.random() < 0.2,
        "surplus": rng.choice([0, 0, 0, 1, 5]),
        "plain": rng.choice(["none", "none", "send", "receive"]),
        "large": rng.random() < 0.1,
    }


def _generate_messages(rng: random.Random) -> dict[str, Any]:
    tree = types.random_tree(rng)
    posted, in_order = rng.random() < 0.5, rng.random() < 0.5
    messages = [_message(rng, tree, posted, in_order) for _ in range(rng.randint(1, 8))]
    if sum(message["count"] for message in messages) * types.elements_of(tree) > 100_000:
        for message in messages[1:]:
            message["count"] = min(message["count"], 10)
    order = list(range(len(messages)))
    if not in_order:
        rng.shuffle(order)
    return {
        "type": tree,
        "posted": posted,
        "messages": messages,
        "order": order,
        "completion": rng.choice(COMPLETIONS),
        "elements": rng.random() < 0.5,
        "rounds": 1 if rng.random() < 0.9 else rng.choice([2, 5, 40]),
    }


def _sides(operation: Operation, message: dict[str, Any]) -> tuple[str, int, str, int]:
    """The datatypes of the sender and of the receiver, and how many elements of them one block is."""
    tree = operation["type"]
    basic, elements = types.basic_of(tree), types.elements_of(tree)
    if basic and elements and message["plain"] == "send":
        return basic, elements, "", 1
    if basic and elements and message["plain"] == "receive":
        return "", 1, basic, elements
    return "", 1, "", 1


def _write_messages(operation: Operation, place: Place) -> Code:
    n, c, posted = place.number, place.comm, operation["posted"]
    code = Code()
    total = len(operation["messages"])
    code.before += types.c_of(operation["type"], f"t{n}")
    code.before += [
        f"struct buffer s{n}[{total}] = {{0}}, d{n}[{total}] = {{0}};",
        f"MPI_Request p{n}[{2 * total}], q{n}[{2 * total}]; MPI_Status u{n}[{2 * total}]; int m{n}[{2 * total}], w{n} = 0;",
        f"for (int i = 0; i < {2 * total}; i++) p{n}[i] = MPI_REQUEST_NULL;",
    ]
    buffered: list[str] = []
    posts: list[str] = []
    sends: list[str] = []
    late: list[str] = []
    note: list[str] = []
    free: list[str] = []
    for number in operation["order"]:
        message = operation["messages"][number]
        _, _, basic, times = _sides(operation, message)
        type_ = basic or f"t{n}"
        count = message["count"] * times + message["surplus"]
        source = "MPI_ANY_SOURCE" if message["any_source"] else f"{message['from']} % {c}.rn"
        tag = "MPI_ANY_TAG" if message["any_tag"] and not message["any_source"] else str(place.tag + number)
        guard = f"if (receives(&{c}, {message['side']}, {message['to']}))"
        b = f"d{n}[{number}]"
        large = "_c" if message["large"] else ""
        make = f"{b} = buffer_of({type_}, {count}, {place.key(number % 50 + 1)});"
        arguments = f"{b}.at, {count}, {type_}, {source}, {tag}, {c}.c"
        if posted:
            code.before.append(f"{guard} {make}")
            if message["receive"] == "persistent":
                code.before.append(f"{guard} MPI_Recv_init{large}({arguments}, &p{n}[{number}]);")
                posts.append(f"{guard} {{ MPI_Start(&p{n}[{number}]); m{n}[w{n}] = {number}; q{n}[w{n}++] = p{n}[{number}]; }}")
            else:
                posts.append(f"{guard} {{ m{n}[w{n}] = {number}; MPI_Irecv{large}({arguments}, &q{n}[w{n}++]); }}")
        else:
            code.before.append(f"{guard} {make}")
            late.append(f"{guard} {{")
            late += _late_receive(_status(operation), message["receive"], b, count, type_, source, tag, f"{c}.c", large)
            late.append(f'{_status(operation)}(&status, {type_}); note_buffer("message {number}", &{b}); }}')
        note.append(
            f'if (m{n}[i] == {number}) {{ {_status(operation)}(&u{n}[i], {type_}); note_buffer("message {number}", &d{n}[{number}]); }}'
        )
    for number, message in enumerate(operation["messages"]):
        basic, times, _, _ = _sides(operation, message)
        type_ = basic or f"t{n}"
        count = message["count"] * times
        guard = f"if (sends(&{c}, {message['side']}, {message['from']}))"
        letter = MODES[message["mode"]]
        large = "_c" if message["large"] else ""
        arguments = f"s{n}[{number}].at, {count}, {type_}, {message['to']} % {c}.rn, {place.tag + number}, {c}.c"
        code.before.append(f"{guard} s{n}[{number}] = buffer_of({type_}, {count}, {place.key(number % 50 + 1)} + 50u);")
        if message["mode"] == "buffered":
            buffered.append(
                f"{guard} {{ int z; MPI_Pack_size({count}, {type_}, {c}.c, &z); bytes{n} += {operation['rounds']} * (z + MPI_BSEND_OVERHEAD); }}"
            )
        if message["send"] == "blocking":
            name = f"MPI_{letter}send" if letter else "MPI_Send"
            sends.append(f"{guard} {_proper(name)}{large}({arguments});")
        elif message["send"] == "immediate":
            sends.append(f"{guard} {{ m{n}[w{n}] = -1; MPI_I{letter}send{large}({arguments}, &q{n}[w{n}++]); }}")
        else:
            name = f"MPI_{letter}send_init" if letter else "MPI_Send_init"
            slot = total + number
            code.before.append(f"{guard} {_proper(name)}{large}({arguments}, &p{n}[{slot}]);")
            sends.append(f"{guard} {{ MPI_Start(&p{n}[{slot}]); m{n}[w{n}] = -1; q{n}[w{n}++] = p{n}[{slot}]; }}")
    if buffered:
        code.before += [f"int bytes{n} = 0;", *buffered]
        code.before += [f"void *room{n} = malloc((size_t)bytes{n} + 1);"]
        code.before += [f"if (bytes{n}) MPI_Buffer_attach(room{n}, bytes{n});"]
    code.start += [f"w{n} = 0;", *posts]
    if any(message["mode"] == "ready" for message in operation["messages"]):
        code.start.append(f"MPI_Barrier({c}.c);")
    code.start += sends + late
    code.requests, code.count, code.statuses = f"q{n}", f"w{n}", f"u{n}"
    if posted:
        code.after += [f"for (int i = 0; i < w{n}; i++) {{", *note, "}"]
    if buffered:
        code.after += [
            f'if (bytes{n}) {{ int z; void *at; MPI_Buffer_detach(&at, &z); note("detached", at == room{n} && z == bytes{n}); }}'
        ]
        code.after += [f"free(room{n});"]
    code.after += [f"for (int i = 0; i < {2 * total}; i++) if (p{n}[i] != MPI_REQUEST_NULL) MPI_Request_free(&p{n}[i]);"]
    code.after += [f"for (int i = 0; i < {total}; i++) {{ release(&s{n}[i]); release(&d{n}[i]); }}", *free]
    code.after += types.free_of(operation["type"], f"t{n}")
    code.rounds = operation["rounds"]
    return code


def _status(operation: Operation) -> str:
    """Notes a status; with the number of basic elements, or without."""
    return "note_status" if operation["elements"] else "note_envelope"


def _proper(name: str) -> str:
    """MPI_ssend is MPI_Ssend."""
    return "MPI_" + name[4].upper() + name[5:]


def _late_receive(noted_by: str, how: str, buffer: str, count: int, type_: str, source: str, tag: str, comm: str, large: str) -> list[str]:
    # MPICH leaves the mark of a cancelled message in a probe's status as it was.
    declared = "MPI_Status status = {0};"
    if how == "recv":
        return [declared, f"MPI_Recv{large}({buffer}.at, {count}, {type_}, {source}, {tag}, {comm}, &status);"]
    if how in ("mprobe", "improbe"):
        probe = f"MPI_Mprobe({source}, {tag}, {comm}, &message, &status);"
        receive = f"MPI_Mrecv{large}({buffer}.at, {count}, {type_}, &message, &status);"
        if how == "improbe":
            probe = f"for (int flag = 0; !flag;) MPI_Improbe({source}, {tag}, {comm}, &flag, &message, &status);"
            receive = (
                f"{{ MPI_Request request; MPI_Imrecv{large}({buffer}.at, {count}, {type_}, &message, &request); "
                "MPI_Wait(&request, &status); }"
            )
        noted = f"{noted_by}(&status, {type_}); "
        return [declared, "MPI_Message message;", probe, noted, receive, 'note("null", message == MPI_MESSAGE_NULL);']
    probe = f"MPI_Probe({source}, {tag}, {comm}, &status);"
    if how == "iprobe":
        probe = f"for (int flag = 0; !flag;) MPI_Iprobe({source}, {tag}, {comm}, &flag, &status);"
    receive = f"MPI_Recv{large}({buffer}.at, {count}, {type_}, status.MPI_SOURCE, status.MPI_TAG, {comm}, &status);"
    return [declared, probe, f"{noted_by}(&status, {type_});", receive]


def _smaller_messages(operation: Operation) -> Iterator[Operation]:
    messages, order = operation["messages"], operation["order"]
    if len(messages) > 1:
        half = len(messages) // 2
        for keep in [range(half), range(half, len(messages))]:
            yield _keep(operation, list(keep))
        for gone in range(len(messages)):
            yield _keep(operation, [i for i in range(len(messages)) if i != gone])
    if order != sorted(order):
        yield operation.with_values(order=sorted(order))
    simple = {
        "surplus": 0,
        "any_source": False,
        "any_tag": False,
        "large": False,
        "plain": "none",
        "mode": "standard",
        "send": "immediate",
        "receive": "irecv" if operation["posted"] else "recv",
        "side": 0,
        "from": 0,
        "to": 1,
    }
    for number, message in enumerate(messages):
        changed = [{**message, name: value} for name, value in simple.items() if message[name] != value]
        changed += [{**message, "count": count} for count in _fewer(message["count"])]
        for less in changed:
            yield operation.with_values(messages=[*messages[:number], less, *messages[number + 1 :]])


def _fewer(count: int) -> list[int]:
    return [fewer for fewer in (0, 1, count // 2, count - 1) if 0 <= fewer < count]


def _keep(operation: Operation, kept: list[int]) -> Operation:
    order = [kept.index(number) for number in operation["order"] if number in kept]
    return operation.with_values(messages=[operation["messages"][i] for i in kept], order=order)


def _message_features(operation: Operation) -> dict[str, Any]:
    messages = operation["messages"]
    features: dict[str, Any] = {
        name: sorted({str(message[name]) for message in messages}) for name in ("mode", "send", "receive", "any_source", "any_tag", "large")
    }
    return {**features, **_type_features(operation), "empty": any(message["count"] == 0 for message in messages)}


def _type_features(operation: Operation) -> dict[str, Any]:
    return {**types.features_of(operation["type"]), "empty": operation.values.get("count") == 0}


# --- Sendrecv ---


def _generate_exchange(rng: random.Random) -> dict[str, Any]:
    tree = types.random_tree(rng)
    size = size_of_transfer(rng, 300_000)
    return {
        "type": tree,
        "count": count_of(size, types.basic_of(tree) or "MPI_LONG", types.elements_of(tree)),
        "shift": rng.randrange(8),
        "form": rng.choice(["blocking", "immediate"]),
        "replace": rng.random() < 0.5,
        "large": rng.random() < 0.2,
        "open": rng.random() < 0.2,
        "completion": rng.choice(COMPLETIONS),
        "times": rng.choice([1, 1, 1, 1, 3, 30]),
        "status": rng.random() < 0.5,
        "elements": rng.random() < 0.5,
    }


def _write_exchange(operation: Operation, place: Place) -> Code:
    n, c = place.number, place.comm
    large = "_c" if operation["large"] else ""
    count = operation["count"]
    code = Code(requests=f"q{n}", count="1", statuses=f"u{n}", rounds=operation["times"])
    code.before += types.c_of(operation["type"], f"t{n}")
    code.before += [
        f"MPI_Request q{n}[1]; MPI_Status u{n}[1];",
        f"int to{n} = ({c}.r + {operation['shift']}) % {c}.n, from{n} = ({c}.r + {c}.n - {operation['shift']} % {c}.n) % {c}.n;",
        f"struct buffer s{n} = buffer_of(t{n}, {count}, {place.key()}), d{n} = buffer_of(t{n}, {count}, {place.key(1)});",
    ]
    if operation["open"]:
        code.before += [
            f"if ({c}.r + {operation['shift']} % {c}.n >= {c}.n) to{n} = MPI_PROC_NULL;",
            f"if ({c}.r < {operation['shift']} % {c}.n) from{n} = MPI_PROC_NULL;",
        ]
    i = "I" if operation["form"] == "immediate" else ""
    last = f"&q{n}[0]" if i else f"&u{n}[0]"
    if operation["replace"]:
        call = f"MPI_{i or 'S'}{'s' if i else ''}endrecv_replace{large}(s{n}.at, {count}, t{n}, to{n}, {place.tag}, from{n}, {place.tag}, {c}.c, {last});"
    else:
        call = (
            f"MPI_{i or 'S'}{'s' if i else ''}endrecv{large}(s{n}.at, {count}, t{n}, to{n}, {place.tag}, "
            f"d{n}.at, {count}, t{n}, from{n}, {place.tag}, {c}.c, {last});"
        )
    code.start.append(call)
    if not i:
        code.start.append(f"q{n}[0] = MPI_REQUEST_NULL;")
        code.requests = ""
    code.after += [
        f"if ({int(operation['status'])}) {_status(operation)}(&u{n}[0], t{n});",
        f'note_buffer("sent", &s{n}); note_buffer("received", &d{n});',
        f"release(&s{n}); release(&d{n});",
        *types.free_of(operation["type"], f"t{n}"),
    ]
    return code


# --- Any source, any tag: what comes is a set ---


def _generate_any(rng: random.Random) -> dict[str, Any]:
    return {
        "root": rng.randrange(8),
        "messages": rng.randint(1, 6),
        "bytes": size_of_transfer(rng, 20_000),
        "how": rng.choice(["recv", "probe", "mprobe", "irecv"]),
        "mode": rng.choice(["", "s"]),
    }


def _write_any(operation: Operation, place: Place) -> Code:
    n, c = place.number, place.comm
    k, size, root = operation["messages"], operation["bytes"], operation["root"]
    code = Code()
    code.before += [
        f"unsigned char *s{n} = malloc({k} * ({size} + 8)), *d{n} = malloc({size} + 8 + 1);",
        f"MPI_Request q{n}[{k}]; uint64_t sum{n} = 0; int next{n}[64] = {{0}}, bad{n} = 0;",
        f"for (int i = 0; i < {k} * ({size} + 8); i++) s{n}[i] = (unsigned char)(i * 7 + world_rank);",
        f"for (int i = 0; i < {k}; i++) {{",
        f"s{n}[i * ({size} + 8)] = (unsigned char)i;",
        f"MPI_I{operation['mode']}send(s{n} + i * ({size} + 8), 1 + ({size} + 7 * i) % ({size} + 8), MPI_BYTE, {root} % {c}.n, {place.tag} + i % 3, {c}.c, &q{n}[i]);",
        "}",
        f"if ({c}.r == {root} % {c}.n) for (int i = 0; i < {k} * {c}.n; i++) {{",
        "MPI_Status status; int count;",
    ]
    arguments = f"d{n}, {size} + 8, MPI_BYTE"
    if operation["how"] == "recv":
        code.before.append(f"MPI_Recv({arguments}, MPI_ANY_SOURCE, MPI_ANY_TAG, {c}.c, &status);")
    elif operation["how"] == "irecv":
        code.before.append(f"MPI_Request r; MPI_Irecv({arguments}, MPI_ANY_SOURCE, MPI_ANY_TAG, {c}.c, &r); MPI_Wait(&r, &status);")
    elif operation["how"] == "probe":
        code.before.append(f"MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, {c}.c, &status); MPI_Get_count(&status, MPI_BYTE, &count);")
        code.before.append(f"MPI_Recv(d{n}, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, {c}.c, &status);")
    else:
        code.before.append(
            f"MPI_Message m; MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, {c}.c, &m, &status); MPI_Mrecv({arguments}, &m, &status);"
        )
    code.before += [
        "MPI_Get_count(&status, MPI_BYTE, &count);",
        f"sum{n} += hash_of(d{n}, (size_t)count, (uint64_t)(status.MPI_SOURCE * 64 + status.MPI_TAG));",
        f"if (next{n}[status.MPI_SOURCE % 64]++ != d{n}[0]) bad{n}++;",
        "}",
        f"MPI_Waitall({k}, q{n}, MPI_STATUSES_IGNORE);",
        f'note("sum", (int64_t)sum{n}); note("out of order", bad{n});',
        f"MPI_Barrier({c}.c); free(s{n}); free(d{n});",
    ]
    return code


# --- Nobody, and nothing: MPI_PROC_NULL, cancelled receives, empty and inactive requests ---

NOTHING = {
    "send": 'note_class("send", MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 3, C));',
    "receive": 'note_class("recv", MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 3, C, &s)); note_status(&s, MPI_INT);',
    "receive any tag": "MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, C, &s); note_status(&s, MPI_INT);",
    "probe": "MPI_Probe(MPI_PROC_NULL, 3, C, &s); note_status(&s, MPI_INT);",
    "iprobe": 'int f = 0; MPI_Iprobe(MPI_PROC_NULL, 3, C, &f, &s); note("flag", f); note_status(&s, MPI_INT);',
    "mprobe": (
        'MPI_Message m; MPI_Mprobe(MPI_PROC_NULL, 3, C, &m, &s); note("no proc", m == MPI_MESSAGE_NO_PROC); note_status(&s, MPI_INT); '
        'MPI_Mrecv(&x, 1, MPI_INT, &m, &s); note("null", m == MPI_MESSAGE_NULL); note_status(&s, MPI_INT);'
    ),
    "improbe": (
        'MPI_Message m; int f = 0; MPI_Improbe(MPI_PROC_NULL, 3, C, &f, &m, &s); note("flag", f); note("no proc", m == MPI_MESSAGE_NO_PROC); '
        "MPI_Request q; MPI_Imrecv(&x, 1, MPI_INT, &m, &q); MPI_Wait(&q, &s); note_status(&s, MPI_INT);"
    ),
    "persistent": (
        "MPI_Request q; MPI_Recv_init(&x, 1, MPI_INT, MPI_PROC_NULL, 3, C, &q); MPI_Start(&q); MPI_Wait(&q, &s); note_status(&s, MPI_INT); "
        'note("kept", q != MPI_REQUEST_NULL); MPI_Wait(&q, &s); note_status(&s, MPI_INT); MPI_Request_free(&q);'
    ),
    "cancel": (
        "MPI_Request q; MPI_Irecv(&x, 1, MPI_INT, 0, TAG, C, &q); MPI_Cancel(&q); MPI_Wait(&q, &s); int f = 0; "
        'MPI_Test_cancelled(&s, &f); note("cancelled", f != 0); note("null", q == MPI_REQUEST_NULL);'
    ),
    "cancel persistent": (
        "MPI_Request q; MPI_Recv_init(&x, 1, MPI_INT, MPI_ANY_SOURCE, TAG, C, &q); MPI_Start(&q); MPI_Cancel(&q); MPI_Wait(&q, &s); int f = 0; "
        'MPI_Test_cancelled(&s, &f); note("cancelled", f != 0); note("kept", q != MPI_REQUEST_NULL); MPI_Request_free(&q);'
    ),
    "null requests": (
        "MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}; MPI_Status t[2]; int i = -5, f = -5, k = -5, w[2]; "
        'MPI_Waitany(2, q, &i, &s); note("index", i); note_status(&s, MPI_INT); MPI_Testany(2, q, &i, &f, &s); note("index", i); note("flag", f); '
        'MPI_Testall(2, q, &f, t); note("flag", f); note_status(&t[1], MPI_INT); MPI_Waitsome(2, q, &k, w, t); note("count", k); '
        'MPI_Testsome(2, q, &k, w, t); note("count", k); MPI_Test(&q[0], &f, &s); note("flag", f); note_status(&s, MPI_INT); '
        'MPI_Request_get_status(q[0], &f, &s); note("flag", f); note_status(&s, MPI_INT);'
    ),
    "no requests": (
        'int i = -5, f = -5, k = -5; MPI_Waitany(0, NULL, &i, &s); note("index", i); MPI_Testany(0, NULL, &i, &f, &s); note("index", i); note("flag", f); '
        'MPI_Testall(0, NULL, &f, NULL); note("flag", f); MPI_Waitsome(0, NULL, &k, NULL, NULL); note("count", k);'
    ),
    "inactive": (
        'MPI_Request q; int f = -5, i = -5; MPI_Send_init(&x, 1, MPI_INT, 0, TAG, C, &q); MPI_Test(&q, &f, &s); note("flag", f); note_status(&s, MPI_INT); '
        'MPI_Waitany(1, &q, &i, &s); note("index", i); MPI_Request_get_status(q, &f, &s); note("flag", f); MPI_Request_free(&q); note("null", q == MPI_REQUEST_NULL);'
    ),
    "get status of several": (
        "MPI_Request q[2]; int i = -5, f = -5, k = -5, w[2]; MPI_Status t[2]; "
        "MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 1, C, &q[0]); MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 2, C, &q[1]); "
        'MPI_Request_get_status_all(2, q, &f, t); note("flag", f); note_status(&t[1], MPI_INT); MPI_Request_get_status_any(2, q, &i, &f, &s); note("flag", f); '
        'MPI_Request_get_status_some(2, q, &k, w, t); note("count", k); note("kept", q[0] != MPI_REQUEST_NULL); MPI_Waitall(2, q, t); note("null", q[1] == MPI_REQUEST_NULL);'
    ),
    "status fields": (
        "int v = -5, f = -5; MPI_Count e = -5; memset(&s, 0, sizeof s); MPI_Status_set_source(&s, 4); MPI_Status_set_tag(&s, 9); MPI_Status_set_error(&s, MPI_ERR_TAG); "
        'MPI_Status_get_source(&s, &v); note("source", v); MPI_Status_get_tag(&s, &v); note("tag", v); MPI_Status_get_error(&s, &v); note("error", v); '
        'MPI_Status_set_elements(&s, MPI_INT, 6); MPI_Get_count(&s, MPI_INT, &v); note("count", v); MPI_Get_elements_c(&s, MPI_INT, &e); note("elements", e); '
        'MPI_Status_set_cancelled(&s, 1); MPI_Test_cancelled(&s, &f); note("cancelled", f != 0); '
        'MPI_Status_set_elements_c(&s, MPI_BYTE, 7); MPI_Get_count(&s, MPI_INT, &v); note("undefined", v == MPI_UNDEFINED);'
    ),
    "sendrecv to nobody": (
        'int y = 5; MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 3, &y, 1, MPI_INT, MPI_PROC_NULL, 3, C, &s); note("unchanged", y); note_status(&s, MPI_INT);'
    ),
    "self": (
        "MPI_Request q; int y = 5; MPI_Irecv(&y, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &q); x = 77; MPI_Send(&x, 1, MPI_INT, 0, 3, MPI_COMM_SELF); MPI_Wait(&q, &s); "
        'note("received", y); note_status(&s, MPI_INT);'
    ),
}
"""Snippets of C that need no other process: C is the communicator, TAG one that nobody sends with."""


def _generate_nothing(rng: random.Random) -> dict[str, Any]:
    return {"what": rng.sample(sorted(NOTHING), rng.randint(1, 4))}


def _write_nothing(operation: Operation, place: Place) -> Code:
    lines = []
    for what in operation["what"]:
        text = NOTHING[what].replace(", C,", f", {place.comm}.c,").replace(", C)", f", {place.comm}.c)")
        lines.append(f"{{ int x = 1; MPI_Status s = {{0}}; (void)x; (void)s; {text.replace('TAG', str(place.tag))} }}")
    # ANY_TAG and the like are names of their own.
    return Code(
        before=[line.replace(f"MPI_ANY_{place.tag}", "MPI_ANY_TAG").replace(f"MPI_ERR_{place.tag}", "MPI_ERR_TAG") for line in lines]
    )


KINDS = [
    Kind(
        "messages", _generate_messages, _write_messages, _smaller_messages,
        {"rounds": 1, "completion": "waitall", "elements": False}, 6.0, startable=True, features=_message_features,
    ),
    Kind(
        "exchange", _generate_exchange, _write_exchange,
        least={"count": 0, "shift": 0, "form": "blocking", "replace": False, "large": False, "open": False, "times": 1, "status": False, "elements": False, "completion": "waitall"},
        weight=1.5, on="intra", startable=True, features=_type_features,
    ),
    Kind("any", _generate_any, _write_any, least={"root": 0, "messages": 1, "bytes": 0, "how": "recv", "mode": ""}, on="intra"),
    Kind("nothing", _generate_nothing, _write_nothing, weight=1.0),
]  # fmt: skip
