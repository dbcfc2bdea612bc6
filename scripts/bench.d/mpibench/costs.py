"""Draws the table of docs/collectives.md, which says what algorithms of collectives cost, as an SVG.

Run as a program in a virtual environment that holds matplotlib: `python costs.py docs/collectives.md costs.svg`.
"""

import sys
from pathlib import Path

COLUMNS = (("steps, one after the other", 0), ("bytes of the busiest member, in blocks or vectors", 2))
"""What the panels of a row show, and the place of its number in a cell."""

Curves = dict[str, dict[str, list[tuple[int, tuple[float, ...]]]]]
"""By collective and algorithm: nodes, with steps, messages and bytes."""


def read(document: str) -> Curves:
    """The table; its cells are "steps · messages · bytes", or empty where nothing was measured."""
    rows = [line.strip("|").split("|") for line in document.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in row] for row in rows]
    start = next(place for place, row in enumerate(rows) if row[:2] == ["collective", "algorithm"])
    nodes = [int(number) for number in rows[start][2:]]
    curves: Curves = {}
    for collective, algorithm, *cells in rows[start + 2 :]:
        cost = [tuple(map(float, cell.split("·"))) if cell else None for cell in cells]
        points = [(number, numbers) for number, numbers in zip(nodes, cost, strict=True) if numbers]
        curves.setdefault(collective, {})[algorithm] = points
    return curves


def draw(curves: Curves, path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plain = {"svg.hashsalt": "costs", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 8}
    matplotlib.rcParams.update(plain)
    size, share = (9, 1.7 * len(curves)), {"sharex": True, "sharey": "col"}
    figure, panels = plt.subplots(len(curves), 2, figsize=size, squeeze=False, **share)
    for row, (collective, algorithms) in zip(panels, curves.items(), strict=True):
        for panel, (title, place) in zip(row, COLUMNS, strict=True):
            for style, (algorithm, points) in zip(("o-", "s--", "^:"), algorithms.items(), strict=False):
                x, y = [nodes for nodes, _ in points], [numbers[place] for _, numbers in points]
                panel.plot(x, y, style, label=algorithm, markersize=4, linewidth=1.2, fillstyle="none")
            panel.set_xscale("log", base=4)
            panel.minorticks_off()
            if place:
                panel.set_yscale("log")
                panel.set_yticks(powers := [10**power for power in range(5)], [f"{it:,}" for it in powers])
                panel.minorticks_off()
            else:
                panel.set_ylim(0, 26)
            panel.set_ylabel(collective if not place else "")
            panel.grid(color="#ddd", linewidth=0.5)
            panel.set_title(title if panel in panels[0] else "", fontsize=9)
        row[1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    for panel in panels[-1]:
        ticks = [4 << (2 * power) for power in range(6)]
        panel.set_xticks(ticks, [f"{number:,}" for number in ticks])
        panel.set_xlabel("nodes, with a member each")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    draw(read(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2]))
