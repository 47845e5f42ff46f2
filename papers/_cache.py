"""What several experiments share is computed once: kept beside the scripts, and anew when its code changes."""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch

import shiftmetrics
import shiftmetrics_lab

FOLDER = Path(__file__).parent
DECISIVE = {
    "shiftmetrics.attacks": Path(shiftmetrics.__file__).parents[1],
    "shiftmetrics_lab": Path(shiftmetrics_lab.__file__).parents[1],
}
"""The packages that decide about trained networks and attacked rows, and the folder that each is imported from."""


def kept(name: str, make: Callable[[], Any], script: str) -> Any:
    """Return what an earlier experiment kept under a name, or make and keep it.

    ``script`` is the file whose code makes it: it is made anew when that file changes, or one that it imports.
    """
    path = FOLDER / ".cache" / _fingerprint(Path(script)) / f"{name}.pt"
    if path.is_file():
        return torch.load(path, weights_only=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    made, new = make(), path.with_suffix(f".{os.getpid()}")  # two experiments may make it at once
    torch.save(made, new)
    new.replace(path)
    return made


@cache
def _fingerprint(script: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(sources(script)):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def sources(script: Path) -> set[Path]:
    """Return a script and the files that it imports, of this folder and of the decisive packages."""
    found: set[Path] = set()
    todo = [script.resolve()]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _imported(path)
    return found


def _imported(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            # What is imported from a package may be a module of it.
            names = [node.module, *(f"{node.module}.{one.name}" for one in node.names)]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        for name in names:
            roots = [root for package, root in DECISIVE.items() if name.startswith(package)]
            base = (roots or [FOLDER])[0].joinpath(*name.split("."))
            for file in (base.with_suffix(".py"), base / "__init__.py"):
                if file.is_file():
                    yield file.resolve()
