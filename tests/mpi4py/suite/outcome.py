"""What a run of the suite said. A run is passed when every rank ended it, ran the same tests, and reported none as bad."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LINE = re.compile(r"^\[(\d+)\] ?(.*)$")
RAN = re.compile(r"^Ran (\d+) tests? in ")
VERDICT = re.compile(r"^(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?$")
BAD = re.compile(r"^(FAIL|ERROR): (.*)$")
BEGUN = re.compile(r"^(test\w+ \(\S+\).*?) \.\.\.(.*)$")


@dataclass
class Rank:
    """What one rank said."""

    run: int | None = None
    verdict: str | None = None
    counts: dict[str, int] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)
    last: str = ""
    """The test that it was in when it said something last."""


@dataclass
class Outcome:
    ranks: list[Rank]
    status: int
    """Of the launcher."""
    seconds: float

    def most(self, word: str) -> int:
        """The count of the rank that has most: each test runs on all of them."""
        return max((rank.counts.get(word, 0) for rank in self.ranks), default=0)

    @property
    def run(self) -> int:
        return max((rank.run or 0 for rank in self.ranks), default=0)

    @property
    def failed(self) -> int:
        return self.most("failures") + self.most("unexpected successes")

    @property
    def errors(self) -> int:
        return self.most("errors")

    @property
    def skipped(self) -> int:
        return self.most("skipped")

    @property
    def unfinished(self) -> list[int]:
        return [number for number, rank in enumerate(self.ranks) if rank.verdict is None]

    @property
    def passed(self) -> bool:
        return (
            self.status == 0
            and self.run > 0
            and not self.unfinished
            and self.failed + self.errors == 0
            and len({rank.run for rank in self.ranks}) == 1
        )

    def problems(self) -> list[str]:
        """What went wrong, a line each: bad tests with their ranks, then ranks that did not end."""
        where: dict[str, list[int]] = {}
        for number, rank in enumerate(self.ranks):
            for test in dict.fromkeys(rank.bad):
                where.setdefault(test, []).append(number)
        lines = [f"{test} [{ranks(numbers)}]" for test, numbers in where.items()]
        for number in self.unfinished:
            last = self.ranks[number].last
            lines.append(f"rank {number} did not end" + (f"; it was in {last}" if last else ""))
        counts = {rank.run for rank in self.ranks if rank.run is not None}
        if len(counts) > 1:
            lines.append(f"ranks ran different numbers of tests: {', '.join(map(str, sorted(counts)))}")
        if not lines and self.run == 0:
            lines.append("no test ran")
        if not lines and self.status != 0:
            lines.append(f"the launcher ended with status {self.status}")
        return lines


def ranks(numbers: list[int]) -> str:
    return ("rank " if len(numbers) == 1 else "ranks ") + ",".join(map(str, numbers))


def read(output: str, size: int, status: int, seconds: float) -> Outcome:
    """Reads the output of `mpiexec --label` with `size` ranks."""
    said = [Rank() for _ in range(size)]
    for line in output.splitlines():
        labelled = LINE.match(line)
        if not labelled or int(labelled[1]) >= size:
            continue
        rank, text = said[int(labelled[1])], labelled[2]
        if match := RAN.match(text):
            rank.run = int(match[1])
        elif rank.run is not None and rank.verdict is None and (match := VERDICT.match(text)):
            rank.verdict = match[1]
            for part in (match[2] or "").split(", "):
                word, _, count = part.partition("=")
                if count.isdigit():
                    rank.counts[word] = int(count)
        elif match := BAD.match(text):
            rank.bad.append(f"{match[1]}: {match[2]}")
        elif match := BEGUN.match(text):
            rank.last = match[1]
    return Outcome(said, status, seconds)
