"""What two runs of one binary do not have in common."""

from __future__ import annotations

from dataclasses import dataclass

from .runner import Outcome


@dataclass(frozen=True)
class Difference:
    part: int
    """The seed."""
    operation: int
    """Its number in the C program; 0 when no operation can be named."""
    what: str


def unfinished(outcome: Outcome, parts: list[int], operations: dict[int, int]) -> list[int]:
    """The places in `parts` at which ranks stopped, by the number of their operations. Where one rank failed, others may have been
    ended in what they were just at."""
    stopped = set()
    for digests in outcome.digests:
        for place, part in enumerate(parts):
            if sum(1 for key in digests if key[0] == part) < operations[part]:
                stopped.add(place)
                break
    return sorted(stopped)


def differences(reference: Outcome, other: Outcome, parts: list[int]) -> list[Difference]:
    """By part the first operation whose digest is not the same on all ranks; operations that one run did not come to do not count."""
    found: list[Difference] = []
    for part in parts:
        unequal: dict[int, list[int]] = {}
        for rank, (one, two) in enumerate(zip(reference.digests, other.digests, strict=True)):
            for key in one.keys() & two.keys():
                if key[0] == part and one[key] != two[key]:
                    unequal.setdefault(key[1], []).append(rank)
        if unequal:
            first = _first(reference, part, unequal)
            ranks = ", ".join(map(str, unequal[first]))
            found.append(Difference(part, first, f"operation {first} differs on rank {ranks}"))
    return found


def _first(reference: Outcome, part: int, unequal: dict[int, list[int]]) -> int:
    """The first in the order in which operations ran."""
    for digests in reference.digests:
        for key in digests:
            if key[0] == part and key[1] in unequal:
                return key[1]
    return min(unequal)


def first_detail(reference: Outcome, other: Outcome) -> str:
    """The first lines of verbose runs that differ, rank by rank."""
    lines = []
    for rank, (one, two) in enumerate(zip(reference.details, other.details, strict=True)):
        for ours, theirs in zip(two, one, strict=False):
            if ours != theirs:
                lines.append(f"rank {rank}: MPICH: {theirs} | ours: {ours}")
                break
    return "\n".join(lines)
