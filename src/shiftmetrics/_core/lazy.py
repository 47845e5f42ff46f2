"""Names of a package that are loaded when they are first used (PEP 562), so that its import stays fast."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from typing import Any

_NOT_LOADED: list[str] = []
"""Modules with names that are loaded on first use."""


def lazy_names(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package, from its names and the modules where they stand."""
    _NOT_LOADED.extend(f"{package}.{home}" for home in dict.fromkeys(homes.values()))

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)  # found at once from now on
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return load, names


RECORDS = "shiftmetrics.records"
"""The group of entry points under which an installed package names the module of its classes of results."""


BROKEN: dict[str, str] = {}
"""Entry points of that group which cannot be imported, and why."""


def load_all_names() -> None:
    """Import all classes of results: a file may hold one that nothing has used yet.

    What another package prints is no answer of a command; one that cannot be imported takes away no results but its
    own, and is named where one of them is read.
    """
    from importlib import metadata  # here, because it loads as much as all the rest

    for entry_point in metadata.entry_points(group=RECORDS):
        try:
            with redirect_stdout(sys.stderr):
                entry_point.load()
        except (Exception, SystemExit) as error:
            BROKEN[entry_point.name] = f"{type(error).__name__}: {error}"
        else:
            BROKEN.pop(entry_point.name, None)
    # packages that are imported here may add names of their own
    while _NOT_LOADED:
        importlib.import_module(_NOT_LOADED.pop())
