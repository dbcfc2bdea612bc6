"""Finds files of a Rust package that import each other in a circle.

    python3 scripts/test.d/circles.py PACKAGE...      folders that hold a src/
    python3 scripts/test.d/circles.py --arrows PACKAGE...    all imports of files in a circle, with what is imported

A file imports another one if a path in it names something that is defined there: `use` declarations and paths in the
code alike. A re-export is no import: whoever imports a re-exported name imports the file that defines it. Tests beside
the code do not count. Exit status: 1 if there is a circle.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

IDENT = r"[A-Za-z_][A-Za-z0-9_]*"
TOKENS = re.compile(
    r"//[^\n]*|/\*.*?\*/"  # comments
    r"|b?r(?P<hashes>#*)\".*?\"(?P=hashes)"  # raw strings
    r"|b?\"(?:\\.|[^\"\\])*\""  # strings
    r"|b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\])'",  # characters, not lifetimes
    re.DOTALL,
)
TEST_MODULE = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*(\{|;)")
USE = re.compile(r"(?P<visibility>pub(?:\([^)]*\))?\s+)?\buse\s+(?P<tree>[^;]+);")
MODULE = re.compile(r"\bmod\s+(" + IDENT + r")\s*;")
PATH = re.compile(r"(?<![:\w])(" + IDENT + r"(?:\s*::\s*" + IDENT + r")+)")


def end_of_block(text: str, start: int) -> int:
    """After the brace that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def code_of(text: str) -> str:
    """The code without comments, texts, and tests."""
    text = TOKENS.sub(lambda found: " " if found.group().startswith("/") else '""', text)
    while found := TEST_MODULE.search(text):
        end = end_of_block(text, found.end() - 1) if found.group(1) == "{" else found.end()
        text = text[: found.start()] + text[end:]
    return text


def parts(tree: str) -> list[str]:
    """What stands between the commas of a list, braces inside it left whole."""
    found, depth, start = [], 0, 0
    for at, letter in enumerate(tree):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            found.append(tree[start:at])
            start = at + 1
    return [part for part in [*found, tree[start:]] if part.strip()]


def paths_of(tree: str, before: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], str]]:
    """The paths of a use declaration, each with the name that it has here: `*` for all names."""
    tree = tree.strip()
    if "{" in tree:
        head, _, rest = tree.partition("{")
        inner = rest.rsplit("}", 1)[0]
        outer = before + tuple(part.strip() for part in head.split("::") if part.strip())
        return [path for part in parts(inner) for path in paths_of(part, outer)]
    path, _, alias = tree.partition(" as ")
    names = before + tuple(part.strip() for part in path.split("::") if part.strip())
    if names and names[-1] == "self":
        names = names[:-1]
    return [(names, alias.strip() or names[-1])] if names else []


@dataclass
class Module:
    """A module that is a file."""

    file: Path
    path: tuple[str, ...]
    code: str
    children: set[str] = field(default_factory=set)
    uses: list[tuple[tuple[str, ...], str, bool]] = field(default_factory=list)
    """Path, name here, and whether it is a re-export."""


class Package:
    """The modules of a package, and what they import of each other."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "src"
        self.modules: dict[tuple[str, ...], Module] = {}
        roots = [root for root in (self.source / "lib.rs", self.source / "main.rs") if root.exists()]
        if roots:
            self.read(roots[0], ())

    def read(self, file: Path, path: tuple[str, ...]) -> None:
        """Reads a module, and those below it that are part of more than tests."""
        module = Module(file, path, code_of(file.read_text()))
        module.children = set(MODULE.findall(module.code))
        for found in USE.finditer(module.code):
            for used, name in paths_of(found["tree"]):
                module.uses.append((used, name, bool(found["visibility"])))
        self.modules[path] = module
        folder = file.parent if file.stem in ("lib", "main", "mod") else file.with_suffix("")
        for child in sorted(module.children):
            for below in (folder / f"{child}.rs", folder / child / "mod.rs"):
                if below.exists():
                    self.read(below, path + (child,))

    def absolute(self, module: Module, path: tuple[str, ...]) -> tuple[str, ...] | None:
        """The path from the root; none where it leaves the package, or is that of a local name."""
        if path[0] == "crate":
            return path[1:]
        if path[0] == "self":
            return module.path + path[1:]
        if path[0] == "super":
            up = 0
            while up < len(path) and path[up] == "super":
                up += 1
            return module.path[: len(module.path) - up] + path[up:] if up <= len(module.path) else None
        return module.path + path if path[0] in module.children else None

    def resolve(self, path: tuple[str, ...], seen: frozenset[tuple[str, ...]] = frozenset()) -> Module | None:
        """The module that defines what has this path from the root; the module itself, if it is one."""
        if path in seen:
            return None
        at: tuple[str, ...] = ()
        for number, name in enumerate(path):
            if at + (name,) in self.modules:
                at += (name,)
                continue
            module = self.modules[at]
            for used, alias, is_public in module.uses:
                if not is_public or alias not in (name, "*"):
                    continue
                target = self.absolute(module, used[:-1] if alias == "*" else used)
                if target is None:
                    continue
                rest = path[number:] if alias == "*" else path[number + 1 :]
                found = self.resolve(target + rest, seen | {path})
                if found is not None and (alias != "*" or self.defines(found, path[-1])):
                    return found
            return module
        return self.modules[at]

    @staticmethod
    def defines(module: Module, name: str) -> bool:
        return re.search(r"\b(?:fn|struct|enum|union|trait|type|const|static|mod|macro_rules!)\s+(?:mut\s+)?" + name + r"\b", module.code) is not None

    def imports(self, module: Module) -> dict[Path, set[str]]:
        """The files that a file imports, with the names."""
        wanted: list[tuple[str, ...]] = []
        names = {}
        for path, alias, is_public in module.uses:
            target = self.absolute(module, path)
            if target is None:
                continue
            if alias != "*":
                names[alias] = target
            if not is_public and target not in self.modules and alias != "*":
                wanted.append(target)
            if alias == "*" and not is_public:
                wanted.append(target[:-1])
        code = USE.sub("", module.code)
        for found in PATH.finditer(code):
            path = tuple(part.strip() for part in found.group(1).split("::"))
            target = self.absolute(module, path)
            if target is None and path[0] in names and names[path[0]] in self.modules:
                target = names[path[0]] + path[1:]
            if target is not None:
                wanted.append(target)
        files: dict[Path, set[str]] = {}
        for path in wanted:
            found = self.resolve(path)
            if found is not None and found.file != module.file:
                files.setdefault(found.file, set()).add(path[-1] if path else "*")
        return files

    def circles(self) -> tuple[list[list[Path]], dict[Path, dict[Path, set[str]]]]:
        """The circles, each as its files, and all imports."""
        arrows = {module.file: self.imports(module) for module in self.modules.values()}
        return strongly_connected(arrows), arrows


def strongly_connected(arrows: dict[Path, dict[Path, set[str]]]) -> list[list[Path]]:
    """Tarjan's components of more than one file (Tarjan 1972)."""
    sys.setrecursionlimit(10_000)
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found = []

    def visit(file: Path) -> None:
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in arrows.get(file, {}):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            members = []
            while True:
                members.append(stack.pop())
                if members[-1] == file:
                    break
            if len(members) > 1:
                found.append(sorted(members))

    for file in arrows:
        if file not in index:
            visit(file)
    return found


def main(arguments: list[str]) -> int:
    shows_arrows = "--arrows" in arguments
    folders = [Path(argument) for argument in arguments if argument != "--arrows"]
    if not folders:
        print(__doc__)
        return 2
    status = 0
    for folder in folders:
        circles, arrows = Package(folder).circles()
        for circle in circles:
            status = 1
            print(f"{folder}: {len(circle)} files import each other in a circle:")
            for file in circle:
                others = {other: names for other, names in arrows[file].items() if other in circle}
                shown = ", ".join(str(other.relative_to(folder / "src")) for other in others)
                if not shows_arrows:
                    print(f"  {file.relative_to(folder / 'src')} imports {shown}")
                    continue
                for other, names in sorted(others.items()):
                    listed = ", ".join(sorted(names))
                    print(f"  {file.relative_to(folder / 'src')} imports of {other.relative_to(folder / 'src')}: {listed}")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
