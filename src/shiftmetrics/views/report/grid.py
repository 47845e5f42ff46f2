"""A table of the report: columns that know whether they hold numbers, and rows of ready cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    name: str
    numeric: bool = False


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table; cells are texts, or Markup for pictures and bars."""

    columns: list[Column]
    rows: list[list[Any]]
    caption: str = ""


@dataclass(kw_only=True)
class Entry:
    """What one section says about one result."""

    name: str
    facts: list[Any]
    sentences: list[str] = field(default_factory=list)
    figures: list[Any] = field(default_factory=list)
    tables: list[Grid] = field(default_factory=list)
    extra: Any = ""
