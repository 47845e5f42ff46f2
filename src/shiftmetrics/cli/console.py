"""Lines and tables on the terminal, by rich; in a file or a pipe they are plain text, and rich is not loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from shiftmetrics._core.drawing import one_line, printable

if TYPE_CHECKING:
    from rich.text import Text

TAB = 8
"""Columns between two stops of a tab, as rich has them."""


def unstyled(parts: Sequence[tuple[str, str]]) -> str:
    """Return texts without their styles."""
    return "".join(one_line(text) for text, _ in parts)


def _styled(*parts: tuple[str, str]) -> Text:
    """Return texts for a terminal: whatever a file or a name holds in them is text, and no command."""
    from rich.text import Text

    if len(parts) == 1:
        [(text, style)] = parts
        return Text(one_line(text), style=style)
    return Text.assemble(*((one_line(text), style) for text, style in parts))


class Console(Protocol):
    """Where lines and tables are printed."""

    def line(self, *parts: tuple[str, str]) -> None:
        """Print one line of texts with their styles."""

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        styles: Mapping[str, str] | None = None,
    ) -> None:
        """Print a table; ``styles`` colours cells of the first column by their text."""


class PlainConsole:
    """A file or a pipe: no colours, no wrapping, and tables as tab-separated lines."""

    def line(self, *parts: tuple[str, str]) -> None:
        """Print one line of texts."""
        say(unstyled(parts).expandtabs(TAB))

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        styles: Mapping[str, str] | None = None,
    ) -> None:
        """Print the rows without any decoration."""
        for row in rows:
            say("\t".join(" ".join(cell.split()) for cell in row).rstrip())


class RichConsole:
    """A terminal."""

    def __init__(self) -> None:
        from rich.console import Console as Terminal

        self._terminal = Terminal(highlight=False)
        self._terminal.soft_wrap = not self._terminal.is_terminal

    def line(self, *parts: tuple[str, str]) -> None:
        """Print one line of texts with their styles."""
        self._terminal.print(_styled(*parts))

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        styles: Mapping[str, str] | None = None,
    ) -> None:
        """Print a table; ``styles`` colours cells of the first column by their text."""
        if not self._terminal.is_terminal:
            PlainConsole().table(header, rows)
            return
        if not rows:
            return
        from rich.box import SIMPLE_HEAD
        from rich.table import Column, Table

        columns = [Column(name, overflow="fold") for name in header]
        table = Table(*columns, box=SIMPLE_HEAD, pad_edge=False, show_header=any(header))
        for first, *others in rows:
            style = (styles or {}).get(first, "")
            table.add_row(_styled((first, style)), *(_styled((cell, "")) for cell in others))
        self._terminal.print(table)


def new_console() -> Console:
    """Return a console on stdout: colours on a terminal, or where the environment asks for them."""
    # names that rich reads too
    wanted = os.environ.get("FORCE_COLOR") or os.environ.get("TTY_COMPATIBLE") == "1"
    if wanted or sys.stdout.isatty():
        return RichConsole()
    return PlainConsole()


def say(line: str) -> None:
    """Print one line, at once."""
    say_text(one_line(line))


def say_text(text: str) -> None:
    """Print text of several lines, such as a document, at once."""
    sys.stdout.write(printable(text) + "\n")
    sys.stdout.flush()
