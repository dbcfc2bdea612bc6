"""The project's goals, as the least ratio to the best peer (or the most, in the figure's own unit)."""

from __future__ import annotations

from dataclasses import dataclass

from .measure import Row
from .plan import LOWER_IS_BETTER


@dataclass(frozen=True)
class Goal:
    ratio: float | None = None
    """Our figure must be this many times better than the best peer's."""
    most: float | None = None
    """Our figure must not exceed this."""

    def met(self, ours: float, ratio: float | None) -> bool:
        return (self.most is None or ours <= self.most) and (
            self.ratio is None or ratio is None or ratio >= self.ratio
        )

    def __str__(self) -> str:
        return f"{self.ratio:g}x" if self.ratio is not None else f"<= {self.most:g}"


GOALS = {
    ("latency", 2, 8): Goal(ratio=0.5),
    ("latency", 2, 16 << 10): Goal(ratio=2),
    ("latency", 2, 1 << 20): Goal(ratio=2),
    ("rate", 2, 8): Goal(ratio=1),
    ("bandwidth", 2, 64 << 10): Goal(ratio=1.6),
    ("bandwidth", 2, 4 << 20): Goal(ratio=1.6),
    ("barrier", 16, 0): Goal(ratio=3),
    ("allreduce", 16, 8): Goal(ratio=3),
    ("partitioned", 2, 64 << 10): Goal(ratio=1),
    **{(kernel, 2, 256 << 20): Goal(ratio=1 / 0.8) for kernel in ("write_all", "read_all")},
    **{("read_scattered", 2, size): Goal(ratio=1) for size in (4 << 10, 16 << 10)},
    ("empty", 2, 0): Goal(most=10),
    ("empty", 64, 0): Goal(most=120),
    ("sweep", 2, 0): Goal(ratio=1),
    ("hydro", 2, 0): Goal(ratio=1),
    ("sweep", 8, 0): Goal(ratio=1),
    ("hydro", 8, 0): Goal(ratio=1),
    ("empty, 16 hosts", 64, 0): Goal(ratio=1),
    ("processor, 2 hosts", 2, 8): Goal(ratio=0.5),
    ("processor, 2 hosts", 2, 4 << 20): Goal(ratio=0.5),
    ("turns, 2 hosts", 2, 8): Goal(ratio=0.5),
    ("bandwidth, 2 hosts", 2, 4 << 20): Goal(ratio=0.5),
    ("put, 2 hosts", 2, 8): Goal(ratio=1),
    ("accumulate, 2 hosts", 2, 0): Goal(ratio=5),
    ("allreduce, 4 hosts", 8, 8): Goal(ratio=1),
    ("allreduce, 4 hosts", 8, 16 << 10): Goal(ratio=1),
    ("sweep, 4 hosts", 8, 0): Goal(ratio=0.9),
    ("hydro, 4 hosts", 8, 0): Goal(ratio=0.9),
    **{
        (kernel, ranks, size): Goal(ratio=1)
        for ranks in (2, 8, 16)
        for kernel, sizes in {
            "vector": (64 << 10, 1 << 20),
            "indexed": (64 << 10, 1 << 20),
            "struct": (64 << 10, 1 << 20),
            "persistent": (8, 64 << 10, 1 << 20),
            "iallreduce": (8, 64 << 10, 1 << 20),
            "overlap": (64 << 10, 1 << 20),
            "neighbor": (8, 64 << 10),
            "dup": (0,),
            "split": (0,),
        }.items()
        for size in sizes
    },
    **{
        (kernel, ranks, size): Goal(ratio=1.5 if ranks > 2 else 1 / 0.7 if size else 1)
        for ranks in (2, 8, 16)
        for kernel, size in (
            *(("put", 1 << 20), ("get", 1 << 20)),
            *((kernel, 0) for kernel in ("fetch_and_op", "locks", "fence")),
        )
    },
    **{
        (kernel, ranks, 8): Goal(ratio=1.5 if ranks > 2 else 1)
        for ranks in (2, 8, 16)
        for kernel in ("put", "get")
    },
}
"""By kernel, ranks and bytes."""


def best_peer(row: Row, peers: list[str]) -> tuple[str, float] | None:
    """Name and figure of the best peer."""
    figures = [(name, value) for name in peers if (value := row.median(name)) is not None]
    if not figures:
        return None
    choose = min if LOWER_IS_BETTER[row.unit] else max
    return choose(figures, key=lambda pair: pair[1])


def ratio_to_best_peer(row: Row, peers: list[str]) -> float | None:
    """How many times better our figure is than the best peer's; below 1 where it is worse."""
    mine, best = row.median("ours"), best_peer(row, peers)
    if mine is None or best is None:
        return None
    if row.unit == "%" and best[1] == 0:
        return None  # the peers hide nothing: there is nothing to be worse than
    return best[1] / mine if LOWER_IS_BETTER[row.unit] else mine / best[1]
