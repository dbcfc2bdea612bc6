"""What is measured: kernels, sizes and numbers of ranks, for the default and the quick run."""

from __future__ import annotations

from dataclasses import dataclass, replace

KERNELS = (
    "latency",
    "rate",
    "bandwidth",
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
    "allreduce",
    "bcast",
    "alltoall",
    "sweep",
    "hydro",
)
"""What `--hosts` measures, between hosts."""

LOWER_IS_BETTER = {"us": True, "ms": True, "s": True, "Mmsg/s": False, "GB/s": False, "%": False}


@dataclass(frozen=True)
class Case:
    """One command that every implementation runs in turn."""

    kernel: str
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

    @property
    def row(self) -> str:
        """The kernel as tables name it."""
        return f"{self.kernel}, {self.hosts} hosts" if self.hosts else self.kernel

    @property
    def title(self) -> str:
        return f"{self.row}, {self.ranks} ranks"


@dataclass(frozen=True)
class Plan:
    rounds: int
    cases: list[Case]
    mode_rounds: int


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
    ]


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
    cases = [
        micro("latency", 2, 2, "8,1K,16K,256K,1M"),
        micro("rate", 2, 2, None),
        Case("processor", 2, "microbench", ("processor", "--sizes", "8,4M", *exactly), timeout=60, hosts=2),
        Case("turns", 2, "microbench", ("turns", *exactly), timeout=60, hosts=2),
        micro("bandwidth", 2, 2, "64K,1M,4M"),
        micro("allreduce", 8, 4, "8,16K"),
        micro("allreduce", 4, 4, "8,16K,64K,1M,16M"),
        micro("bcast", 4, 4, "16M"),
        micro("alltoall", 4, 4, "4M"),
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
    parts = (_point_to_point, _pairs, _collectives, _nonblocking, _start_up, _codes)
    cases = [case for part in parts for case in part(quick) if case.kernel in wanted]
    if "modes" not in wanted:
        mode_rounds = 0
    elif rounds:
        mode_rounds = rounds
    else:
        mode_rounds = 2 if quick else 5
    return Plan(rounds or (1 if quick else 3), cases, mode_rounds)
