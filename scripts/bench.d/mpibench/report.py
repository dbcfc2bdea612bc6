"""The table on the terminal, and the same figures as JSON."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import time
from pathlib import Path

from .goals import GOALS, best_peer, ratio_to_best_peer
from .implementations import Implementation
from .measure import Results, Row
from .modes import Mode
from .plan import COLLECTIVES, RING


def machine() -> dict[str, object]:
    """What a figure means nothing without."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return {
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": f"{platform.system()} {platform.release()}",
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_at_start": round(os.getloadavg()[0], 2),
    }


def largest_cache_bytes() -> int:
    """Of the first processor, or 0 where the system does not say."""
    units = {"K": 1 << 10, "M": 1 << 20}
    found = [0]
    for file in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = file.read_text().strip()
        if text[:-1].isdigit() and text[-1] in units:
            found.append(int(text[:-1]) * units[text[-1]])
    return max(found)


def commit(repository: Path) -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        changed = "" if not git("status", "--porcelain", "--untracked-files=no") else " with changes"
        return git("rev-parse", "--short=12", "HEAD") + changed
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


SIZED = {
    "latency",
    "rate",
    "processor",
    "turns",
    "bandwidth",
    "sendrecv",
    "exchange",
    "vector",
    "indexed",
    "struct",
    "persistent",
    "allreduce",
    "bcast",
    "reduce",
    "gather0",
    "scatter0",
    "scan",
    "allgather",
    "alltoall",
    "iallreduce",
    "overlap",
    "neighbor",
    "put",
    "get",
    "partitioned",
    "write_all",
    "read_all",
    "read_scattered",
}
"""Kernels whose rows are told apart by their size."""

COUNTED = {"waiting", "expecting"}
"""Kernels whose rows are told apart by a number of messages."""


def size_name(size: int) -> str:
    for unit, power in (("MB", 20), ("KB", 10)):
        if size and size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"


def row_name(row: Row) -> str:
    kernel, comma, where = row.kernel.partition(",")
    if kernel in COUNTED:
        return f"{kernel} {row.bytes:,}{comma}{where}"
    return (f"{kernel} {size_name(row.bytes)}" if kernel in SIZED else kernel) + comma + where


def figure(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def print_table(results: Results, implementations: list[Implementation], modes: list[Mode]) -> None:
    names = [i.name for i in implementations]
    peers = [n for n in names if n != "ours"]
    with_ours = "ours" in names
    head = ["kernel", "ranks", "unit", *(i.label for i in implementations)]
    if with_ours and peers:
        head += ["ours is better by", "goal", ""]
    table = [head]
    for key, row in results.rows.items():
        line = [row_name(row), str(row.ranks), row.unit, *(figure(row.median(n)) for n in names)]
        if with_ours and peers:
            ratio, mine, goal = ratio_to_best_peer(row, peers), row.median("ours"), GOALS.get(key)
            line.append(f"{ratio:.2f}x" if ratio is not None else "-")
            line.append(str(goal) if goal else "")
            line.append("" if goal is None or mine is None else "met" if goal.met(mine, ratio) else "MISSED")
        table.append(line)
    _print_columns(table)
    for mode in modes:
        verdict = "met" if mode.met else "MISSED"
        print(f"{mode.name}: {mode.value:.2f} {mode.unit} (goal <= {mode.goal:g}: {verdict})")
    _print_failures(results)


def _print_columns(table: list[list[str]]) -> None:
    """The first line is the head; the first column is a name, the others are figures."""
    widths = [max(len(line[c]) for line in table) for c in range(len(table[0]))]
    for number, line in enumerate(table):
        print(
            "  ".join(
                cell.ljust(w) if c == 0 else cell.rjust(w)
                for c, (cell, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
        )
        if number == 0:
            print("  ".join("-" * w for w in widths))


def _print_failures(results: Results) -> None:
    for failure in results.failures:
        print(f"failed: {failure.implementation}: {failure.case}: {failure.what}")


COLLECTIVE_NAMES = {
    "bcast0": "bcast, root 0",
    "bcast": "bcast, root rotates",
    "reduce0": "reduce, root 0",
    "reduce": "reduce, root rotates",
    "gather0": "gather, root 0",
    "scatter0": "scatter, root 0",
}
"""As the table of collectives names them; the others go by their own names."""


def _collective_cells(row: Row | None, labels: dict[str, str], peers: list[str]) -> list[str]:
    """Our time, the best peer's, its name, and how much faster ours is."""
    if row is None:
        return ["", "", "", ""]
    best, ratio = best_peer(row, peers), ratio_to_best_peer(row, peers)
    return [
        figure(row.median("ours")),
        figure(best[1] if best else None),
        labels[best[0]] if best else "-",
        f"{ratio:.2f}x" if ratio is not None else "-",
    ]


def collectives_table(results: Results, implementations: list[Implementation]) -> list[list[str]]:
    """A line a collective, ranks and bytes: the same buffers with every call, then changing ones."""
    labels = {i.name: i.label.rsplit(" ", 1)[0] for i in implementations}
    peers = [name for name in labels if name != "ours"]
    columns = ["ours us", "best us", "best", "speed"]
    table = [["collective", "ranks", "bytes", *columns, *(f"{name}, ring" for name in columns)]]
    kernels = [name for name in COLLECTIVES if any(key[0].split(",")[0] == name for key in results.rows)]
    for kernel in kernels:
        cells = {key[1:] for key in results.rows if key[0].split(",")[0] == kernel}
        for ranks, size in sorted(cells):
            same = results.rows.get((kernel, ranks, size))
            ring = results.rows.get((f"{kernel}, {RING}", ranks, size))
            line = [COLLECTIVE_NAMES.get(kernel, kernel), str(ranks), size_name(size)]
            line += _collective_cells(same, labels, peers) + _collective_cells(ring, labels, peers)
            table.append(line)
    return table


def standing(results: Results, peers: list[str], ranks: int, ring: bool) -> str | None:
    """In one line, how our times with so many ranks stand to the best peer's."""
    rows = [
        row
        for row in results.rows.values()
        if row.ranks == ranks and row.kernel.endswith(f", {RING}") == ring
    ]
    ratios = [ratio for row in rows if (ratio := ratio_to_best_peer(row, peers)) is not None]
    if not ratios:
        return None
    return (
        f"{ranks} ranks, {'changing' if ring else 'same'} buffers: as fast as the best peer or faster in "
        f"{sum(ratio >= 1 for ratio in ratios)} of {len(ratios)}, geometric mean of the speeds "
        f"{statistics.geometric_mean(ratios):.2f}x, least {min(ratios):.2f}x"
    )


def print_collectives(results: Results, implementations: list[Implementation]) -> None:
    peers = [i.name for i in implementations if i.name != "ours"]
    _print_columns(collectives_table(results, implementations))
    print()
    for ranks in sorted({row.ranks for row in results.rows.values()}):
        for ring in (False, True):
            if line := standing(results, peers, ranks, ring):
                print(line)
    _print_failures(results)


def as_json(
    results: Results, implementations: list[Implementation], modes: list[Mode], about: dict[str, object]
) -> dict[str, object]:
    peers = [i.name for i in implementations if i.name != "ours"]
    rows = []
    for key, row in results.rows.items():
        best, ratio = best_peer(row, peers), ratio_to_best_peer(row, peers)
        mine, goal = row.median("ours"), GOALS.get(key)
        rows.append(
            {
                "kernel": row.kernel,
                "ranks": row.ranks,
                "bytes": row.bytes,
                "unit": row.unit,
                "median": {n: row.median(n) for n in row.samples},
                "samples": row.samples,
                "better_peer": best[0] if best else None,
                "ratio_to_better_peer": ratio,
                "goal": str(goal) if goal else None,
                "goal_met": goal.met(mine, ratio) if goal and mine is not None else None,
            }
        )
    return {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        **about,
        "rounds": results.rounds,
        "implementations": {i.name: i.label for i in implementations},
        "rows": rows,
        "modes": [
            {
                "name": m.name,
                "value": m.value,
                "unit": m.unit,
                "goal": m.goal,
                "goal_met": m.met,
                "samples": m.samples,
            }
            for m in modes
        ],
        "failures": [vars(f) for f in results.failures],
    }
