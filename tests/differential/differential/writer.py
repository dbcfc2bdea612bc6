"""A batch of programs as one C program: each a function, each operation a block that gives a digest."""

from __future__ import annotations

from . import communicators
from .chapters.combined import threadable
from .code import Code, Place
from .kinds import KINDS
from .model import NONE, SELF, WORLD, Operation, Program

SORTS = {"any": "ANY", "intra": "INTRA", "topology": "TOPOLOGY"}
LEVELS = ["", "MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED"]
"""What a program asks for that begins no threads; it calls MPI_Init where that is nothing."""


def c_of(programs: list[Program]) -> str:
    functions: list[str] = []
    for program in programs:
        functions += _Part(program).write()
    threads = any(operation.kind == "threads" for p in programs for operation in p.all_operations())
    level = "MPI_THREAD_MULTIPLE" if threads else LEVELS[programs[0].seed % len(LEVELS)] if programs else ""
    begin = "MPI_Init(&argc, &argv);"
    if level:
        begin = f"int provided = -1; MPI_Init_thread(&argc, &argv, {level}, &provided); if (provided < {level}) return 4;"
    lines = ['#include "differential.h"', "", "#include <pthread.h>", ""]
    lines += functions
    lines += [
        "int main(int argc, char **argv) {",
        begin,
        "char version[MPI_MAX_LIBRARY_VERSION_STRING]; int length;",
        "MPI_Comm_rank(MPI_COMM_WORLD, &world_rank); MPI_Comm_size(MPI_COMM_WORLD, &world_size);",
        "output_to(argv[1]); MPI_Get_library_version(version, &length); library_is(version);",
        "communicators_begin();",
        *(f"part_{number}();" for number in range(len(programs))),
        "communicators_end();",
        "MPI_Finalize();",
        "program_ends();",
        "return 0;",
        "}",
    ]
    return "\n".join(_indented(_numbered(lines)))


def _numbered(lines: list[str]) -> list[str]:
    """The parts' functions by their place in the batch: a seed may be there twice."""
    numbered, part = [], -1
    for line in lines:
        if line == "@part":
            part += 1
            continue
        numbered.append(line.replace("@", str(part)) if part >= 0 and "main(" not in line else line)
    return numbered


def _indented(lines: list[str]) -> list[str]:
    depth, out = 0, []
    for line in lines:
        opened, closed = line.count("{"), line.count("}")
        leading = len(line) - len(line.lstrip("}"))
        out.append("  " * max(depth - leading, 0) + line)
        depth += opened - closed
    return [*out, ""]


class _Part:
    """One program; operations are numbered as they are written."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.number = 0
        self.functions: list[str] = []

    def write(self) -> list[str]:
        names = self.program.used_communicators()
        body: list[str] = []
        for number, name in enumerate(names):
            body += [
                f"operation_begins({900 + number});",
                *communicators.c_of(name, self.program.communicators[name], 900 + number),
                "operation_ends();",
            ]
        for operation in self.program.operations:
            body += self._operation(operation)
        body += [f"forget(&{name});" for name in reversed(names)]
        return [
            "@part",
            *self.functions,
            f"static void part_@(void) {{ /* seed {self.program.seed} */",
            f"part_begins({self.program.seed});",
            *body,
            "}",
            "",
        ]

    def _place(self, operation: Operation) -> Place:
        self.number += 1
        return Place(self.number, f"on{self.number}")

    def _comm(self, operation: Operation) -> str:
        """The expression for what the operation is on."""
        name = operation.communicator
        if name in (NONE, WORLD, SELF):
            return {"": "self", WORLD: "world", SELF: "self"}[name]
        return name if name in self.program.communicators else "world"

    def _declared(self, operation: Operation, place: Place) -> str:
        sort = SORTS.get(KINDS[operation.kind].on)
        value = f"suitable(&{self._comm(operation)}, {sort})" if sort else self._comm(operation)
        return f"struct comm {place.comm} = {value}; (void){place.comm};"

    def _operation(self, operation: Operation) -> list[str]:
        place = self._place(operation)
        if operation.kind == "threads":
            lines = self._threads(operation, place)
        else:
            lines = self._code(operation, place).alone(operation.values.get("completion", "waitall"))
        return ["{", f"operation_begins({place.number}); /* {operation.kind} */", *lines, "operation_ends();", "}"]

    def _code(self, operation: Operation, place: Place) -> Code:
        def child(inner: Operation) -> Code:
            return self._code(inner, self._place(inner))

        with_children = Place(place.number, place.comm, child)
        code = KINDS[operation.kind].write(operation, with_children)
        if not operation.children:
            code.before.insert(0, self._declared(operation, place))
        return code

    def _threads(self, operation: Operation, place: Place) -> list[str]:
        n, count = place.number, len(operation.children)
        before = [f"struct comm h{n}[{count}]; uint64_t digests{n}[{count}]; pthread_t threads{n}[{count}];"]
        before.append(f"struct thread t{n}[{count}];")
        for number, child in enumerate(operation.children):
            child = threadable(child)
            inner = self._place(child)
            sort = SORTS[KINDS[child.kind].on]
            before += [
                f"{{ struct comm from = suitable(&{self._comm(child)}, {sort}); MPI_Comm own; MPI_Comm_dup(from.c, &own); h{n}[{number}] = known(own, from.side); }}",
                f"t{n}[{number}] = (struct thread){{h{n}[{number}], {self.program.seed}, {inner.number}, 0}};",
            ]
            code = KINDS[child.kind].write(child, inner)
            self.functions += [
                f"static void *thread_@_{inner.number}(void *argument) {{ /* {child.kind} */",
                "struct thread *thread = argument;",
                f"struct comm {inner.comm} = thread->comm;",
                "thread_begins(thread->part, thread->number);",
                *code.alone(child.values.get("completion", "waitall")),
                "thread->digest = digest_of_thread();",
                "return NULL;",
                "}",
                "",
            ]
            before.append(f"pthread_create(&threads{n}[{number}], NULL, thread_@_{inner.number}, &t{n}[{number}]);")
        # All communicators are there before the first thread starts.
        starts = [line for line in before if line.startswith("pthread_create")]
        rest = [line for line in before if not line.startswith("pthread_create")]
        return [
            *rest,
            *starts,
            f'for (int i = 0; i < {count}; i++) {{ pthread_join(threads{n}[i], NULL); digests{n}[i] = t{n}[i].digest; note("thread", (int64_t)digests{n}[i]); }}',
            f"for (int i = 0; i < {count}; i++) forget(&h{n}[i]);",
        ]
