"""What is measured: kernels, sizes and numbers of ranks, for the default and the quick run."""

from __future__ import annotations

from dataclasses import dataclass, replace

KERNELS = (
    "latency",
    "rate",
    "bandwidth",
    "sendrecv",
    "exchange",
    "waiting",
    "expecting",
    "vector",
    "indexed",
    "struct",
    "persistent",
    "barrier",
    "allreduce",
    "bcast",
    "reduce",
    "alltoall",
    "iallreduce",
    "overlap",
    "neighbor",
    "dup",
    "split",
    "put",
    "get",
    "fetch_and_op",
    "accumulate",
    "locks",
    "fence",
    "partitioned",
    "write_all",
    "read_all",
    "read_scattered",
    "empty",
    "sweep",
    "hydro",
    "modes",
)
"""Names that --only takes. `modes` are our own: fixed slices, threads, MMDS and EMDS."""

HOST_KERNELS = (
    "empty",
    "latency",
    "rate",
    "processor",
    "turns",
    "bandwidth",
    "barrier",
    "allreduce",
    "reduce",
    "bcast",
    "gather0",
    "scatter0",
    "scan",
    "allgather",
    "alltoall",
    "put",
    "get",
    "accumulate",
    "sweep",
    "hydro",
)
"""What `--hosts` measures, between hosts."""

COLLECTIVES = (
    "barrier",
    "bcast0",
    "bcast",
    "reduce0",
    "reduce",
    "allreduce",
    "scan",
    "gather0",
    "scatter0",
    "allgather",
    "alltoall",
    "reduce_scatter_block",
)
"""What `--collectives` knows, and measures where --only says nothing, except `reduce`, whose root rotates."""

SMALL_BETWEEN_HOSTS = ("barrier", "bcast", "reduce", "allreduce", "gather0", "scatter0", "scan", "alltoall")
"""Collectives of a few bytes, with a rank on each host."""

HOST_SIZES = (64 << 10, 1 << 20, 16 << 20, 256 << 20)
"""Bytes of a rank's vector, or of all its blocks together, in collectives between hosts."""

COLLECTIVE_SIZES = (0, 8, 64, 1 << 10, 8 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20)

COLLECTIVE_RANKS = (2, 8, 16)

COLLECTIVES_A_COMMAND = 3
"""Collectives that one command measures: few starts of programs, and implementations that still alternate."""

RING = "ring"
"""What a kernel's row is called besides, where each call has other buffers."""

LOWER_IS_BETTER = {"us": True, "ms": True, "s": True, "Mmsg/s": False, "GB/s": False, "%": False}


@dataclass(frozen=True)
class Case:
    """One command that every implementation runs in turn."""

    kernel: str
    """Or several, with commas between them."""
    ranks: int
    program: str
    """`microbench`, `sweep` or `hydro`."""
    arguments: tuple[str, ...]
    timeout: float
    """Seconds after which the command is ended; what it printed until then counts."""
    repeat: int = 1
    """Runs a round, for what is timed from outside."""
    hosts: int = 0
    """Hosts that the ranks are spread over, consecutive ones together; 0 for this machine alone."""
    slow: float = 10
    """An implementation that took so many seconds in one round is left out of this case in later ones."""

    @property
    def row(self) -> str:
        """The kernel as tables name it."""
        return self.row_of(self.kernel)

    def row_of(self, kernel: str, buffers: str = "same") -> str:
        """One of the kernels, with these buffers, as tables name it."""
        return ", ".join(
            [kernel, *([RING] if buffers == RING else []), *([f"{self.hosts} hosts"] if self.hosts else [])]
        )

    @property
    def title(self) -> str:
        return f"{self.row}, {self.ranks} ranks"


@dataclass(frozen=True)
class Plan:
    rounds: int
    cases: list[Case]
    mode_rounds: int

    @property
    def programs(self) -> set[str]:
        """Those that it runs."""
        return {case.program for case in self.cases} | (
            {"microbench", "hydro"} if self.mode_rounds else set()
        )


def _micro(kernel: str, ranks: int, sizes: str | None, quick: bool) -> Case:
    arguments = [kernel]
    if sizes:
        arguments += ["--sizes", sizes]
    arguments += ["--repetitions", "3" if quick else "5", "--limit", "0.3" if quick else "0.5"]
    arguments += ["--repetition", "0.01" if quick else "0.02"]
    # With more ranks than cores a polling library needs 100 ms and more for what takes 50 us elsewhere.
    return Case(kernel, ranks, "microbench", tuple(arguments), timeout=8 if quick else 15)


def _collective_sizes(kernel: str, ranks: int, quick: bool) -> str | None:
    if kernel == "barrier":
        return None
    if quick:
        return "8"
    if kernel == "alltoall":
        return "8,1K"
    return "8,16K,1M" if ranks == 2 else "8,16K"


def _point_to_point(quick: bool) -> list[Case]:
    latency = "0,8,16K,1M" if quick else "0,8,64,512,1K,4K,8K,16K,32K,64K,256K,1M,4M"
    bandwidth = "64K,4M" if quick else "1K,4K,16K,64K,256K,1M,4M"
    return [
        _micro("latency", 2, latency, quick),
        _micro("rate", 2, None, quick),
        _micro("bandwidth", 2, bandwidth, quick),
        *_rings(quick),
        *(_waiting(kernel, quick) for kernel in ("waiting", "expecting")),
    ]


def _rings(quick: bool) -> list[Case]:
    """All ranks send at once, round a ring and with both neighbours."""
    sizes = "64,64K" if quick else "0,8,64,512,1K,4K,16K,64K,256K,1M"
    return [
        _micro(kernel, ranks, sizes, quick)
        for kernel in ("sendrecv", "exchange")
        for ranks in ((2,) if quick else (2, 8))
    ]


def _waiting(kernel: str, quick: bool) -> Case:
    """Many messages that wait for their receives, or receives for their messages; the sizes are how many."""
    counts = "1000" if quick else "100,1000,10000"
    options = ("--repetitions", "3", "--least", "1", "--limit", "0.3", "--repetition", "0.01")
    return Case(kernel, 2, "microbench", (kernel, "--sizes", counts, *options), timeout=40)


def _pairs(quick: bool) -> list[Case]:
    """Derived datatypes and persistent requests, between the ranks of each pair."""
    kernels = ("vector", "indexed", "struct", "persistent")
    if quick:
        return [_micro(kernel, 2, "64K", quick) for kernel in kernels]
    return [
        _micro(kernel, ranks, ("8," if kernel == "persistent" else "512,") + "64K,1M", quick)
        for kernel in kernels
        for ranks in (2, 8, 16)
    ]


def _collectives(quick: bool) -> list[Case]:
    cases = []
    for ranks in (2, 16) if quick else (2, 4, 8, 16, 32):
        for kernel in ("barrier", "allreduce", "bcast", "reduce", "alltoall"):
            if quick and ranks > 2 and kernel not in ("barrier", "allreduce"):
                continue
            cases.append(_micro(kernel, ranks, _collective_sizes(kernel, ranks, quick), quick))
    return cases


def _nonblocking(quick: bool) -> list[Case]:
    """Collectives that do not block, neighbourhoods, and the making of communicators."""
    sizes = {"iallreduce": "8,64K,1M", "overlap": "64K,1M", "neighbor": "8,64K", "dup": None, "split": None}
    return [
        _micro(kernel, ranks, "64K" if quick and of else of, quick)
        for ranks in ((2,) if quick else (2, 8, 16))
        for kernel, of in sizes.items()
    ]


def _one_sided(quick: bool) -> list[Case]:
    """Windows: rank 0 on the memory of rank 1, and fences of all ranks."""
    sizes = {"put": "8,1M", "get": "8,1M", "fetch_and_op": None, "accumulate": None, "locks": None, "fence": None}
    return [
        _micro(kernel, ranks, of, quick)
        for ranks in ((2,) if quick else (2, 8, 16))
        for kernel, of in sizes.items()
    ]


def _partitioned(quick: bool) -> list[Case]:
    return [_micro("partitioned", 2, "64K" if quick else "1K,64K", quick)]


def _files(quick: bool) -> list[Case]:
    """Files of all ranks, and scattered bytes of each."""
    sizes = {"write_all": "1M,256M", "read_all": "1M,256M", "read_scattered": "4K,16K"}
    short = ("--repetitions", "3", "--least", "1", "--limit", "0.3", "--repetition", "0.01")
    return [
        Case(kernel, ranks, "microbench", (kernel, "--sizes", of.split(",")[0] if quick else of, *short), timeout=60)
        for ranks in ((2,) if quick else (2, 8))
        for kernel, of in sizes.items()
    ]


def _start_up(quick: bool) -> list[Case]:
    runs = ((2, 3), (16, 1)) if quick else ((2, 5), (16, 3), (64, 2))
    return [
        Case("empty", ranks, "microbench", ("empty",), timeout=30, repeat=repeat) for ranks, repeat in runs
    ]


def _codes(quick: bool) -> list[Case]:
    return [
        Case(code, ranks, code, (f"{code}/decks/default.deck",), timeout=20 if quick else 45)
        for code in ("sweep", "hydro")
        for ranks in ((2,) if quick else (2, 8))
    ]


def _between_hosts(quick: bool) -> list[Case]:
    def micro(kernel: str, ranks: int, hosts: int, sizes: str | None) -> Case:
        case = _micro(kernel, ranks, sizes, quick)
        return replace(case, hosts=hosts, timeout=30)

    # The kernel counts processor time in hundredths of a second.
    exactly = ("--repetitions", "3", "--limit", "5", "--repetition", "1")
    # A call of 256 MB takes seconds. All blocks of a rank together are as many bytes as a vector has.
    once = ("--repetitions", "3", "--least", "1", "--repetition", "0.1", "--limit", "0.1")

    def sizes(kernel: str, ranks: int) -> str:
        blocks = ranks if kernel in ("allgather", "alltoall") else 1
        return ",".join(str(size // blocks) for size in HOST_SIZES[: 2 if quick else None])

    cases = [
        micro("latency", 2, 2, "8,1K,16K,256K,1M"),
        micro("rate", 2, 2, None),
        Case("processor", 2, "microbench", ("processor", "--sizes", "8,4M", *exactly), timeout=60, hosts=2),
        Case("turns", 2, "microbench", ("turns", *exactly), timeout=60, hosts=2),
        micro("bandwidth", 2, 2, "64K,1M,4M"),
        *(micro(kernel, 2, 2, None if kernel == "accumulate" else "8,1M") for kernel in ("put", "get", "accumulate")),
        micro("allreduce", 8, 4, "8,16K"),
        *(
            micro(kernel, hosts, hosts, None if kernel == "barrier" else "8,8K")
            for hosts in (2, 4)
            for kernel in SMALL_BETWEEN_HOSTS
        ),
        *(
            Case(kernel, ranks, "microbench", (kernel, "--sizes", sizes(kernel, ranks), *once), timeout=90, hosts=4)
            for kernel in ("bcast", "reduce", "allreduce", "allgather", "alltoall")
            for ranks in (4, 8)
        ),
        Case("empty", 64, "microbench", ("empty",), timeout=60, repeat=1 if quick else 2, hosts=16),
    ]
    decks = [
        Case(code, 8, code, (f"{code}/decks/default.deck",), timeout=90, hosts=4)
        for code in ("sweep", "hydro")
    ]
    return cases + decks


def make_host_plan(quick: bool, only: list[str] | None, rounds: int | None) -> Plan:
    """What is measured between hosts."""
    wanted = only or list(HOST_KERNELS)
    cases = [case for case in _between_hosts(quick) if case.kernel in wanted]
    return Plan(rounds or (1 if quick else 3), cases, 0)


def make_plan(quick: bool, only: list[str] | None, rounds: int | None) -> Plan:
    """The cases to run, those of `only` if it is given."""
    wanted = only or list(KERNELS)
    parts = (_point_to_point, _pairs, _collectives, _nonblocking, _one_sided, _partitioned, _files, _start_up, _codes)
    cases = [case for part in parts for case in part(quick) if case.kernel in wanted]
    if "modes" not in wanted:
        mode_rounds = 0
    elif rounds:
        mode_rounds = rounds
    else:
        mode_rounds = 2 if quick else 5
    return Plan(rounds or (1 if quick else 3), cases, mode_rounds)


def ring_bytes(ranks: int, cache_bytes: int) -> int:
    """The size of each rank's ring of buffers: all of them together are larger than the largest cache."""
    every = min(max(cache_bytes + (cache_bytes >> 3), 64 << 20), 1 << 30)
    return every // ranks


def make_collectives_plan(
    quick: bool,
    only: list[str] | None,
    rounds: int | None,
    ranks: list[int] | None,
    sizes: list[int] | None,
    cache_bytes: int,
) -> Plan:
    """The table of collectives: several of them, all sizes, and both kinds of buffers with every command."""
    wanted = [name for name in COLLECTIVES if name in (only or COLLECTIVES) and (only or name != "reduce")]
    few = (8, 16 << 10, 1 << 20)
    numbers = ranks or ((2, 8) if quick else COLLECTIVE_RANKS)
    groups = [
        ",".join(wanted[at : at + COLLECTIVES_A_COMMAND])
        for at in range(0, len(wanted), COLLECTIVES_A_COMMAND)
    ]
    options = ["--buffers", "both", "--repetitions", "3", "--least", "1", "--repetition", "0.01"]
    options += ["--limit", "0.04"]
    cases = []
    for number in numbers:
        for group in groups:
            arguments = [group, "--ring", str(ring_bytes(number, cache_bytes)), *options]
            if group != "barrier":
                arguments += [
                    "--sizes",
                    ",".join(str(s) for s in sizes or (few if quick else COLLECTIVE_SIZES)),
                ]
            cases.append(Case(group, number, "microbench", tuple(arguments), timeout=75, slow=30))
    return Plan(rounds or (1 if quick else 3), cases, 0)
