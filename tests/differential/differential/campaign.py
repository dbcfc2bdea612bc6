"""Runs batches of seeds, finds what differs, and tracks each difference down to the smallest program."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from . import comparison, shrinker
from .exceptions import Exception_, without
from .generator import program_of
from .model import Program, described
from .runner import REFERENCE, Outcome, Runner
from .shrinker import Case
from .writer import c_of


@dataclass(frozen=True)
class Finding:
    case: Case
    way: str
    what: str

    @property
    def name(self) -> str:
        return f"{'-'.join(str(p.seed) for p in self.case.programs[:2])}.{self.case.ranks}.{self.way}"


def programs_of(seeds: list[int], entries: list[Exception_]) -> list[Program]:
    """Those that have something left when exceptions are left out."""
    return [program for seed in seeds if (program := without(program_of(seed), entries)).operations]


def operations_in(program: Program) -> int:
    """How many digests a rank gives."""
    return len(program.operations) + len(program.used_communicators())


def check(runner: Runner, programs: list[Program], ranks: int, ways: list[str]) -> list[Finding]:
    """Runs a batch under MPICH and in these ways. Each finding is of one part, or of the parts up to it."""
    findings: list[Finding] = []
    if not programs:
        return findings
    binary = runner.build(programs)
    seconds = runner.limit(programs, ranks)
    reference = runner.run(binary, REFERENCE, ranks, seconds)
    parts = [program.seed for program in programs]
    if not reference.well:
        return _reference_fails(runner, programs, ranks, ways, reference, binary)
    for way in ways:
        outcome = runner.run(binary, way, ranks, seconds)
        for difference in comparison.differences(reference, outcome, parts):
            number = parts.index(difference.part)
            findings.append(Finding(Case(tuple(programs[: number + 1]), ranks), way, difference.what))
        if outcome.well:
            continue
        place = _to_blame(runner, outcome, programs, way)
        if place is None:
            findings.append(Finding(Case(tuple(programs), ranks), way, f"{outcome.how()} after all operations: {tail(outcome)}"))
            continue
        findings.append(Finding(Case(tuple(programs[: place + 1]), ranks), way, f"{outcome.how()}: {tail(outcome)}"))
        findings += check(runner, programs[place + 1 :], ranks, [way])
    shutil.rmtree(binary.parent, ignore_errors=True)
    return findings


def _to_blame(runner: Runner, outcome: Outcome, programs: list[Program], way: str) -> int | None:
    """The place of the part in which a run failed: of those at which ranks stopped the one that fails alone, or else the last."""
    stopped = comparison.unfinished(outcome, [p.seed for p in programs], {p.seed: operations_in(p) for p in programs})
    for place in stopped if len(stopped) > 1 else ():
        if shows(runner, Case((programs[place],), outcome.ranks), way):
            return place
    return stopped[-1] if stopped else None


def _reference_fails(
    runner: Runner, programs: list[Program], ranks: int, ways: list[str], reference: Outcome, binary: Path
) -> list[Finding]:
    """MPICH does not end well: the part that it stops in is a finding, the others are run without it."""
    place = _to_blame(runner, reference, programs, REFERENCE)
    shutil.rmtree(binary.parent, ignore_errors=True)
    what = f"{reference.how()}: {tail(reference)}"
    if place is None:
        return [Finding(Case(tuple(programs), ranks), REFERENCE, what + " (after all operations)")]
    found = [Finding(Case(tuple(programs[: place + 1]), ranks), REFERENCE, what)]
    return found + check(runner, programs[:place] + programs[place + 1 :], ranks, ways)


def tail(outcome: Outcome, length: int = 300) -> str:
    return " / ".join(line.strip() for line in outcome.said.splitlines() if line.strip())[:length]


def shows(runner: Runner, case: Case, way: str) -> str:
    """What differs in this case, or nothing. A case under which MPICH fails shows a difference of MPICH alone."""
    programs = [replace(program, seed=number + 1) for number, program in enumerate(case.programs)]
    binary = runner.build(programs)
    seconds = runner.limit(programs, case.ranks)
    try:
        reference = runner.run(binary, REFERENCE, case.ranks, seconds)
        if way == REFERENCE:
            return "" if reference.well else f"{reference.how()}: {tail(reference)}"
        if not reference.well:
            return ""
        outcome = runner.run(binary, way, case.ranks, seconds)
        found = comparison.differences(reference, outcome, [program.seed for program in programs])
        if found:
            return found[0].what
        return "" if outcome.well else f"{outcome.how()}: {tail(outcome)}"
    finally:
        shutil.rmtree(binary.parent, ignore_errors=True)


def track_down(
    runner: Runner, finding: Finding, entries: list[Exception_], seconds: float, attempts: int, say: Callable[[str], None]
) -> Finding:
    """The smallest case with a difference in the same way of running."""
    words = finding.what.split()

    def differs(case: Case) -> bool:
        # A difference that is on the list is another one.
        if any(without(program, entries).size() != program.size() for program in case.programs):
            return False
        return any(shows(runner, case, finding.way).split()[:1] == words[:1] for _ in range(attempts))

    case = finding.case
    alone = replace(case, programs=case.programs[-1:])
    if len(case.programs) > 1:
        if differs(alone):
            case = alone
        elif not differs(case):
            say(f"  {finding.name}: it did not show again, alone or after the parts before it")
            return finding
    elif not differs(case):
        say(f"  {finding.name}: it did not show again in {attempts} runs")
        return finding
    case = shrinker.shrink(case, differs, seconds)
    return replace(finding, case=case, what=shows(runner, case, finding.way) or finding.what)


def report(runner: Runner, finding: Finding, directory: Path) -> str:
    """Writes the program with both outputs, and returns what to print."""
    directory.mkdir(parents=True, exist_ok=True)
    programs = [replace(program, seed=number + 1) for number, program in enumerate(finding.case.programs)]
    seconds = runner.limit(programs, finding.case.ranks)
    binary = runner.build(programs)
    outcomes = {way: runner.run(binary, way, finding.case.ranks, seconds, verbose=True) for way in dict.fromkeys([REFERENCE, finding.way])}
    shutil.rmtree(binary.parent, ignore_errors=True)
    details = "" if finding.way == REFERENCE else comparison.first_detail(outcomes[REFERENCE], outcomes[finding.way])
    text = [f"{finding.what}", f"{finding.case.ranks} ranks, {finding.way}"]
    text += [described(program) for program in finding.case.programs]
    if details:
        text.append(details)
    for way, outcome in outcomes.items():
        text.append(f"{way}: {outcome.how()} {tail(outcome, 1500)}".rstrip())
    summary = "\n".join(text)
    file = directory / f"{finding.name}.c"
    comment = summary.replace("*/", "* /")
    file.write_text(f"/*\n{comment}\n*/\n{c_of(programs)}")
    return f"{summary}\n  {file}"
