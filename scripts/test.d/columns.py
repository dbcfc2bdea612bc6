"""Finds lines that are too wide: comments of Rust beyond 110 columns, documents beyond 120.

    python3 scripts/test.d/columns.py FILE...

Tables, what stands in a fence, and lines without a place to break do not count. Code is rustfmt's, which keeps to 110
columns wherever it can break a line. Exit status: 1 if a line is too wide.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CODE, DOCUMENT = 110, 120


def wide_comments(text: str) -> list[int]:
    """Lines of comments in Rust that are too wide, from 1."""
    found, fence = [], False
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*//[/!]?\s*", line)
        if comment is None:
            fence = False
            continue
        said = line[comment.end() :]
        if said.startswith("```"):
            fence = not fence
        if len(line) > CODE and not fence and not said.startswith("|"):
            found.append(number)
    return found


def wide_document(text: str) -> list[int]:
    """Lines of Markdown that are too wide, from 1."""
    found, fence = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fence = not fence
        is_code = fence or line.startswith(("|", "    ", "!["))
        if len(line) > DOCUMENT and not is_code and " " in line.strip():
            found.append(number)
    return found


def main(files: list[str]) -> int:
    status = 0
    for name in files:
        text = Path(name).read_text()
        wide = wide_comments(text) if name.endswith(".rs") else wide_document(text)
        limit = CODE if name.endswith(".rs") else DOCUMENT
        for number in wide:
            print(f"{name}:{number}: wider than {limit} columns")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
