"""Draws the result as an SVG, with matplotlib, from the JSON that report.py makes.

Run as a program in the virtual environment that holds matplotlib: `python picture.py result.json result.svg`.
Text and axes take the reader's colour scheme: they are drawn in a marker colour, which the SVG's own style
sheet then replaces for light and for dark.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

INK = "#123457"
FAINT = "#123458"
STYLE = """<style>
 svg { --ink: #24292f; --faint: #d0d7de; }
 @media (prefers-color-scheme: dark) { svg { --ink: #e6edf3; --faint: #3d444d; } }
</style>"""
COLOURS = {"ours": "#e5534b", "mpich": "#4184e4", "openmpi": "#c69026", "intelmpi": "#57ab5a"}
MARKERS = {"ours": "o", "mpich": "s", "openmpi": "^", "intelmpi": "D"}


def series(rows, name, x, **match):
    """Points (x, median) of one implementation in the rows that match."""
    points = [
        (row[x], row["median"][name])
        for row in rows
        if name in row["median"] and all(row[k] == v for k, v in match.items())
    ]
    return [p[0] for p in points], [p[1] for p in points]


def lines(axes, result, title, x, ylabel, logy=True, **match):
    for name, label in result["implementations"].items():
        xs, ys = series(result["rows"], name, x, **match)
        kept = [(a, b) for a, b in zip(xs, ys, strict=True) if a > 0]
        if kept:
            axes.plot(
                *zip(*kept, strict=True),
                color=COLOURS[name],
                marker=MARKERS[name],
                markersize=4,
                linewidth=1.6,
                label=label,
            )
    axes.set_xscale("log", base=2)
    if logy:
        axes.set_yscale("log")
    axes.set_title(title)
    axes.set_ylabel(ylabel)
    ticks = sorted(
        {row[x] for row in result["rows"] if row[x] > 0 and all(row[k] == v for k, v in match.items())}
    )
    if x == "ranks":
        axes.set_xticks(ticks, [str(t) for t in ticks])
        axes.set_xlabel("ranks")
    else:
        every = [
            t
            for t in (8, 64, 1 << 10, 16 << 10, 256 << 10, 4 << 20)
            if not ticks or ticks[0] <= t <= ticks[-1]
        ]
        axes.set_xticks(
            every, [f"{t >> 20}M" if t >> 20 else f"{t >> 10}K" if t >> 10 else str(t) for t in every]
        )
        axes.set_xlabel("bytes")
    axes.minorticks_off()
    axes.grid(True)


def bars(axes, result, title):
    groups = [
        (k, n)
        for k in ("sweep", "hydro")
        for n in (2, 8)
        if any(r["kernel"] == k and r["ranks"] == n for r in result["rows"])
    ]
    names = list(result["implementations"])
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        for g, (kernel, ranks) in enumerate(groups):
            _, values = series(result["rows"], name, "ranks", kernel=kernel, ranks=ranks)
            if values:
                drawn = axes.bar(g - 0.4 + (i + 0.5) * width, values[0], width * 0.92, color=COLOURS[name])
                axes.bar_label(drawn, fmt="%.3g", fontsize=7)
    axes.set_xticks(range(len(groups)), [f"{k}\n{n} ranks" for k, n in groups])
    axes.set_title(title)
    axes.set_ylabel("s")
    axes.minorticks_off()
    axes.grid(True, axis="y")


def draw(result, path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "font.size": 9,
            "text.color": INK,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "axes.titlecolor": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "grid.color": FAINT,
            "axes.facecolor": "none",
            "figure.facecolor": "none",
            "savefig.facecolor": "none",
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "bench",
        }
    )
    figure, axes = plt.subplots(2, 3, figsize=(13, 7.4))
    lines(axes[0][0], result, "one-way latency, 2 ranks", "bytes", "us", kernel="latency", ranks=2)
    lines(axes[0][1], result, "bandwidth, 2 ranks", "bytes", "GB/s", logy=False, kernel="bandwidth", ranks=2)
    lines(axes[0][2], result, "barrier", "ranks", "us", kernel="barrier")
    lines(axes[1][0], result, "allreduce of 8 bytes", "ranks", "us", kernel="allreduce", bytes=8)
    lines(axes[1][1], result, "start to end of an empty program", "ranks", "ms", kernel="empty")
    bars(axes[1][2], result, "codes, time to solution")
    handles = [
        plt.Line2D([], [], color=COLOURS[n], marker=MARKERS[n], label=label)
        for n, label in result["implementations"].items()
    ]
    figure.legend(handles=handles, loc="upper center", ncols=len(handles))
    where = f"{result['cpu']}, {result['cores']} cores, {result['kernel']}"
    about = f"{where} · commit {result['commit']} · {result['when']}"
    figure.text(0.5, 0.005, about, ha="center", fontsize=8)
    figure.tight_layout(rect=(0, 0.02, 1, 0.95))
    figure.savefig(path, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = path.read_text().replace(INK, "var(--ink)").replace(FAINT, "var(--faint)")
    end_of_tag = text.index(">", text.index("<svg")) + 1
    path.write_text(text[:end_of_tag] + "\n" + STYLE + text[end_of_tag:])


if __name__ == "__main__":
    draw(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
