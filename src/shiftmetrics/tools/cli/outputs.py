"""Where answers go: the terminal, a JSON file, an HTML report. All paths are checked before anything is computed.

A command that runs as a part of something larger, such as ``run``, hands its answers to a receiver instead.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shiftmetrics._core.result import has_foreign_archive
from shiftmetrics.tools.cli.sources import ARRAY_SUFFIXES, TABLE_SUFFIXES, Source

if TYPE_CHECKING:
    from shiftmetrics._core.result import Result
    from shiftmetrics.views import Context


class Receiver(Protocol):
    """Who takes the answers of commands in place of the terminal and the files."""

    def check(self, inputs: Sequence[Source]) -> None:
        """Refuse inputs that must not be read; called before anything is computed."""

    def receive(self, results: Mapping[str, Result], *, context: Context, notes: Sequence[str] = ()) -> None:
        """Take the results of a command, the main one first, with what a report may show beside them."""


_receiver: ContextVar[Receiver | None] = ContextVar("receiver", default=None)


@contextmanager
def received_by(receiver: Receiver) -> Iterator[None]:
    """Let ``receiver`` take the answers of all commands that run inside the block."""
    token = _receiver.set(receiver)
    try:
        yield
    finally:
        _receiver.reset(token)


@dataclass(frozen=True, kw_only=True)
class Output:
    """What the user asked for, from ``--json``, ``--report`` and ``--quiet``."""

    json: Path | None = None
    report: Path | None = None
    quiet: bool = False

    @property
    def progress(self) -> bool:
        """Whether progress bars are welcome: on a terminal that was not told to be quiet."""
        return not self.quiet and sys.stderr.isatty()

    def check(self, inputs: Sequence[Source]) -> None:
        """Refuse paths that cannot be written, and those that would overwrite an input.

        Raises
        ------
        ValueError
            If a folder is missing, a path is a folder, or a path is (or has beside it) one of the inputs.
        """
        receiver = _receiver.get()
        if receiver is not None:
            receiver.check(inputs)
        taken = {source.path.resolve(): source.argument for source in reversed(inputs)}
        for option, path in (("--json", self.json), ("--report", self.report)):
            if path is None:
                continue
            if path.name.lower().endswith((*TABLE_SUFFIXES, *ARRAY_SUFFIXES)):
                raise ValueError(f"{option} must not end like a data file, got {str(path)!r}.")
            written = [path, path.with_suffix(".npz")] if option == "--json" else [path]
            for target in written:
                if target.resolve() in taken:
                    raise ValueError(
                        f"{option} {path} would overwrite {taken[target.resolve()]}, {target.name}. "
                        "Choose another name."
                    )
        if self.json is not None and self.json == self.report:
            raise ValueError(f"--json and --report must be two files, got {str(self.json)!r} twice.")
        if self.json is not None and has_foreign_archive(self.json):
            raise ValueError(
                f"--json {self.json} keeps its arrays in {self.json.with_suffix('.npz').name}, which "
                "exists and is not ours. Choose another name."
            )

    def check_folders(self) -> None:
        """Refuse paths that are folders, or whose folder is missing.

        Raises
        ------
        ValueError
            The first path that cannot be written.
        """
        for option, path in (("--json", self.json), ("--report", self.report)):
            if path is not None and path.is_dir():
                raise ValueError(f"{option} must be a file, got the folder {str(path)!r}.")
            if path is not None and not path.parent.is_dir():
                raise ValueError(
                    f"{option} must be in a folder that exists, got {str(path)!r}. Create it first."
                )

    def write(
        self,
        name: str,
        result: Result,
        *,
        title: str,
        context: Context,
        notes: Sequence[str] = (),
    ) -> None:
        """Write the files that were asked for, then print ``result``."""
        self.write_all({name: result}, title=title, context=context, notes=notes)

    def write_all(
        self,
        results: Mapping[str, Result],
        *,
        title: str,
        context: Context,
        notes: Sequence[str] = (),
    ) -> None:
        """Write the files that were asked for, then print the results, in one JSON file and one report."""
        receiver = _receiver.get()
        if receiver is not None:
            receiver.receive(results, context=context, notes=notes)
            return
        # Files first: a reader of the output that leaves early, such as `head`, must not cost us a file.
        if self.json is not None:
            if len(results) == 1:
                next(iter(results.values())).to_json(self.json)
            else:
                from shiftmetrics._core.collection import write_results

                # As in a file of one result, the name of the file is that of the measure; the others stand beside it.
                stem, (first, *others) = self.json.stem, results
                beside = {f"{stem}: {other}": results[other] for other in others}
                write_results({stem: results[first], **beside}, self.json)
        if self.report is not None:
            from shiftmetrics.views import write_report

            write_report(results, self.report, title=title, context=context)
        if self.quiet:
            return
        show(results, notes)
        for what, path in (("JSON", self.json), ("Report", self.report)):
            if path is not None:
                say(f"{what}: {path}")


def say(line: str) -> None:
    """Print one line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def show(results: Mapping[str, Result], notes: Sequence[str] = ()) -> None:
    """Print each result: its sentence, a table of its figures, then what should be known about it."""
    from rich.text import Text

    from shiftmetrics.views.report import facts_of

    console = new_console()
    for name, result in results.items():
        heading = name if len(results) > 1 else result.title
        console.print(Text(heading, style="bold"))
        console.print(Text(result.headline()))
        print_table(
            console, ("", "value", "meaning"), [(f.name, f.value, f.meaning) for f in facts_of(result)]
        )
        for sentence in result.notes():
            if sentence.startswith("Interval:"):  # the table has it
                continue
            warns = sentence.startswith(("Warning", "Status"))
            console.print(Text(sentence, style="yellow" if warns else "dim"))
        console.print()
    for note in notes:
        console.print(Text(f"Note: {note}", style="dim"))


def print_table(console: Any, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; when the output is a file or a pipe, tab-separated lines without any decoration."""
    if not rows:
        return
    if not console.is_terminal:
        for row in rows:
            say("\t".join(row).rstrip())  # rich would turn tabs into spaces
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_header=any(header))
    for position, name in enumerate(header):
        table.add_column(
            name, style="dim" if position > 1 else None, justify="right" if position == 1 else "left"
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def new_console() -> Any:
    """Return a console on stdout: colours on a terminal only, and no wrapping in a pipe."""
    from rich.console import Console

    console = Console(highlight=False, soft_wrap=False)
    if not console.is_terminal:
        console = Console(highlight=False, soft_wrap=True, width=10_000, no_color=True)
    return console
