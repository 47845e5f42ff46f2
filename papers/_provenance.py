"""What a kept result was computed by: version and commit of the sources, and a hash of each part that it uses.

A result is *older* than a part of the library where the code of that part is another one by now. Texts do not count:
docstrings, comments and layout may change.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import shiftmetrics
import shiftmetrics_lab

FOLDER = Path(__file__).resolve().parent
ROOTS = {
    package.__name__: Path(package.__file__).resolve().parent
    for package in (shiftmetrics, shiftmetrics_lab)
}
"""The packages that decide about numbers, and their folders."""

NO_NUMBERS = {
    "_experiment",
    "_beside",
    "_claims",
    "_provenance",
    "_cache",
    "_table_1",
    "_counts",
    "_income",
    "_rows",
}
"""Files of this folder that run, judge, keep and print: they decide about no number."""

LIBRARY = "shiftmetrics"
MEASURES = {
    f"{LIBRARY}/{name}" for name in ("agreement", "stability", "novelty", "models", "attacks")
}
SHARED = {LIBRARY, f"{LIBRARY}/_core", f"{LIBRARY}/views", "shiftmetrics_lab"}
"""Parts that no experiment is older than: names, messages, options and drawings."""


def stamp(script: Path) -> dict[str, Any]:
    """Return what stands in a result about the sources that make it now."""
    return {"version": shiftmetrics.__version__, "commit": commit(), "parts": parts(script)}


def older(record: Mapping[str, Any], script: Path) -> list[str]:
    """Return the parts whose code is another one than when a result was computed, or confirmed."""
    now = parts(script)
    then = record["parts"]
    return sorted(name for name in {*now, *then} if now.get(name) != then.get(name))


@cache
def commit() -> str:
    """Return the last commit of the sources, with a plus sign where they have changed since."""
    folders = [str(folder) for folder in ROOTS.values()]
    last = _git("log", "-1", "--format=%h", "--abbrev=10", "--", *folders)
    if not last:
        return "unknown"
    changed = _git("status", "--porcelain", "--", *folders)
    return f"{last}+" if changed else last


def _git(*arguments: str) -> str:
    try:
        ended = subprocess.run(
            ["git", *arguments], cwd=FOLDER, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return ended.stdout.strip()


@cache
def parts(script: Path) -> dict[str, str]:
    """Return a hash of the code of each part that a script uses, such as ``shiftmetrics/stability``.

    These are the parts that it imports itself, and the measures that those of the library use in turn; what all of
    them share (arrays, messages, options) is left out.
    """
    closure = _closure(script.resolve())
    own = [path for path in closure if path.parent == FOLDER]
    closure.discard(script.resolve())  # a result has a hash of its own script anyway
    direct = [file for path in own for file in _imports(path) if file.parent != FOLDER]
    in_turn = [
        file for path in direct if path.is_relative_to(ROOTS[LIBRARY]) for file in _closure(path)
    ]
    names = {_part(path) for path in own if path != script.resolve()} | {
        _part(path) for path in direct if _part(path) not in SHARED
    }
    names |= {_part(path) for path in in_turn} & MEASURES
    by_part: dict[str, list[str]] = {name: [] for name in sorted(names - {""})}
    for path in sorted(closure):
        if (name := _part(path)) in by_part:
            by_part[name].append(code_of(path))
    return {
        name: hashlib.sha256("\n".join(codes).encode()).hexdigest()[:12]
        for name, codes in by_part.items()
    }


@cache
def code_of(path: Path) -> str:
    """Return the code of a file in any layout, without docstrings."""
    return ast.unparse(without_texts(ast.parse(path.read_text(encoding="utf-8"))))


def without_texts(tree: ast.Module) -> ast.Module:
    """Take the strings out that stand alone: docstrings, and the words below a constant."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            kept = [one for one in body if not _is_text(one)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return tree


def _is_text(node: ast.AST) -> bool:
    value = getattr(node, "value", None)
    text = isinstance(value, ast.Constant) and isinstance(value.value, str)
    return isinstance(node, ast.Expr) and text


def _part(path: Path) -> str:
    """Return the package of a file; "papers" for what the experiments share; nothing for what runs them."""
    for package, root in ROOTS.items():
        if path.is_relative_to(root):
            first = path.relative_to(root).parts[0]
            return package if first == "__init__.py" else f"{package}/{first.removesuffix('.py')}"
    return "" if path.stem in NO_NUMBERS else "papers"


def _closure(script: Path) -> set[Path]:
    found: set[Path] = set()
    todo = [script]
    while todo:
        path = todo.pop()
        if path in found or path.stem in NO_NUMBERS:
            continue
        found.add(path)
        todo += _imports(path)
    return found


@cache
def _imports(path: Path) -> tuple[Path, ...]:
    """Return the files that a file imports when it runs, in functions as well."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[Path] = []
    for node in _run(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += _from(node.module, [one.name for one in node.names])
        elif isinstance(node, ast.Import):
            for one in node.names:
                found += _files(one.name)
    return tuple(found)


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a file that run: not those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from _run(node)


def _from(module: str, names: list[str]) -> Iterator[Path]:
    """Yield the files of a module and of the modules that its names stand in."""
    for file in _files(module):
        yield file
        if file.name != "__init__.py":
            continue
        homes = _homes(file)
        for name in names:
            yield from _files(f"{module}.{name}")
            if name in homes:
                yield from _from(homes[name], [name])


@cache
def _homes(package: Path) -> dict[str, str]:
    """Return the module of each name that a package loads on first use: it says so to type checkers."""
    tree = ast.parse(package.read_text(encoding="utf-8"))
    return {
        one.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for one in node.names
    }


def _files(module: str) -> Iterator[Path]:
    package, _, below = module.partition(".")
    root = ROOTS.get(package)
    base = FOLDER / module if root is None else root.joinpath(*below.split(".")) if below else root
    for file in (base.with_suffix(".py"), base / "__init__.py"):
        if file.is_file():
            yield file
