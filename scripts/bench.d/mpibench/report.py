"""The table on the terminal, and the same figures as JSON."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from pathlib import Path

from .goals import GOALS, better_peer, ratio_to_better_peer
from .implementations import Implementation
from .measure import Results, Row
from .modes import Mode


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


SIZED = {"latency", "rate", "processor", "turns", "bandwidth", "vector", "indexed", "struct", "persistent"} | {
    "allreduce",
    "bcast",
    "reduce",
    "alltoall",
    "iallreduce",
    "overlap",
    "neighbor",
}
"""Kernels whose rows are told apart by their size."""


def size_name(size: int) -> str:
    for unit, power in (("MB", 20), ("KB", 10)):
        if size and size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"


def row_name(row: Row) -> str:
    kernel, comma, where = row.kernel.partition(",")
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
            ratio, mine, goal = ratio_to_better_peer(row, peers), row.median("ours"), GOALS.get(key)
            line.append(f"{ratio:.2f}x" if ratio is not None else "-")
            line.append(str(goal) if goal else "")
            line.append("" if goal is None or mine is None else "met" if goal.met(mine, ratio) else "MISSED")
        table.append(line)
    widths = [max(len(line[c]) for line in table) for c in range(len(head))]
    for number, line in enumerate(table):
        print(
            "  ".join(
                cell.ljust(w) if c == 0 else cell.rjust(w)
                for c, (cell, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
        )
        if number == 0:
            print("  ".join("-" * w for w in widths))
    for mode in modes:
        verdict = "met" if mode.met else "MISSED"
        print(f"{mode.name}: {mode.value:.2f} {mode.unit} (goal <= {mode.goal:g}: {verdict})")
    for failure in results.failures:
        print(f"failed: {failure.implementation}: {failure.case}: {failure.what}")


def as_json(
    results: Results, implementations: list[Implementation], modes: list[Mode], about: dict[str, object]
) -> dict[str, object]:
    peers = [i.name for i in implementations if i.name != "ours"]
    rows = []
    for key, row in results.rows.items():
        best, ratio = better_peer(row, peers), ratio_to_better_peer(row, peers)
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
