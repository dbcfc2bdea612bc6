"""The list of tests that are left out. Invariant: each is excluded for one of the standard's parts that are yet to come."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

PARTS = ("dynamic processes", "fault tolerance")
"""What a test may be excluded for."""


class ExclusionError(Exception):
    """Names the entry of the list that is wrong, and what to do."""


@dataclass(frozen=True)
class Exclusion:
    because: str
    reason: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


def parse(text: str) -> list[Exclusion]:
    try:
        entries = tomllib.loads(text).get("exclusion", [])
    except tomllib.TOMLDecodeError as error:
        raise ExclusionError(f"not TOML: {error}") from error
    found = []
    for number, entry in enumerate(entries, 1):
        unknown = set(entry) - {"because", "reason", "modules", "tests"}
        if unknown:
            raise ExclusionError(f"exclusion {number}: there is no field {', '.join(sorted(unknown))}")
        because, reason = entry.get("because"), entry.get("reason", "")
        modules, tests = tuple(entry.get("modules", ())), tuple(entry.get("tests", ()))
        if because not in PARTS:
            raise ExclusionError(f"exclusion {number}: because is {because!r}; it has to be one of: {', '.join(PARTS)}")
        if not reason.strip():
            raise ExclusionError(f"exclusion {number}: say the reason")
        if not modules and not tests:
            raise ExclusionError(f"exclusion {number}: name modules or tests")
        found.append(Exclusion(because, reason, modules, tests))
    return found


def tests_of(source: str, module: str) -> set[str]:
    """Names of the tests in a module's source, as module.Class.method; an inherited one as module.Class.* only."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            names.add(f"{module}.{node.name}.*")
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and member.name.startswith("test"):
                    names.add(f"{module}.{node.name}.{member.name}")
    return names


def check(exclusions: list[Exclusion], directory: Path) -> None:
    """Every name on the list is one of the suite in this directory."""
    for exclusion in exclusions:
        for module in exclusion.modules:
            if not (directory / f"{module}.py").is_file():
                raise ExclusionError(f"there is no module {module} in {directory}: take it from the list")
        for test in exclusion.tests:
            module = test.split(".")[0]
            path = directory / f"{module}.py"
            known = tests_of(path.read_text(encoding="utf-8"), module) if path.is_file() else set()
            if not any(fnmatchcase(name, test) for name in known):
                raise ExclusionError(f"{test} matches no test in {directory}: take it from the list")


def arguments(exclusions: list[Exclusion]) -> list[str]:
    """What the suite's runner has to be told."""
    modules = [module for exclusion in exclusions for module in exclusion.modules]
    said = ["-e", rf"^({'|'.join(modules)})\.py$"] if modules else []
    for exclusion in exclusions:
        for test in exclusion.tests:
            # The runner puts asterisks around a pattern without one, so it would match more than what is named.
            said += ["-x", test if "*" in test else f"{test}*"]
    return said
