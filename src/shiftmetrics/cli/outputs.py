"""Where results go: the terminal, a JSON file, an HTML report. All paths are checked before anything is computed."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from shiftmetrics._core.documents import has_foreign_archive, write_results
from shiftmetrics._core.files import is_ours, is_stream, write_text
from shiftmetrics._core.result import Result
from shiftmetrics._core.staging import all_or_nothing
from shiftmetrics.cli.console import Console, new_console, say, say_text
from shiftmetrics.cli.errors import reader_may_leave
from shiftmetrics.cli.inputs.sources import DATA_SUFFIXES, Source
from shiftmetrics.views import Context

if TYPE_CHECKING:
    from shiftmetrics.views.report import Answer

KINDS = {
    "--json": "json",
    "--junit": "xml",
    "JUnit": "xml",
    "--report": "html",
    "Its report": "html",
    "--markdown": "md",
    ".json": "json",
    ".toml": "toml",
}
"""The kind of file that an option writes, or else what a suffix stands for; all others are pages."""

ON_STDOUT = ("--json", "--markdown")
"""Options whose file may be the standard output, which gets nothing else then."""


@dataclass(frozen=True, kw_only=True)
class CommandAnswer:
    """What a command has measured.

    Attributes
    ----------
    results : dict of str to Result
        The main result first.
    title : str
        Of the report.
    context : Context
        What the report shows beside the results.
    notes : sequence of str
        What the user should know about the inputs.
    above : sequence of str
        What stands above the verdict: what the columns of the inputs were taken for.
    exit_code : int
        What the program ends with.
    written : mapping of str to path
        Files that the command has written, by what they hold.
    """

    results: Mapping[str, Result]
    title: str = ""
    context: Context = field(default_factory=Context)
    notes: Sequence[str] = ()
    above: Sequence[str] = ()
    exit_code: int = 0
    written: Mapping[str, Path | None] = field(default_factory=dict)

    def renamed(self, name: str) -> CommandAnswer:
        """Return the answer with the main result called ``name``, and those beside it by that and their own name."""
        main = next(iter(self.results))
        results, rows = {}, {}
        for old, result in self.results.items():
            new = name if old == main else f"{name}: {old}"
            results[new] = result
            if old in self.context.rows:
                rows[new] = self.context.rows[old]
        return replace(self, results=results, context=replace(self.context, rows=rows))

    def write_json(self, path: Path) -> None:
        """Write the results; the main one gets the name of the file. Standard output gets nothing else."""
        if is_stdout(path):
            results = self.results
            if len(results) == 1:
                say_text(next(iter(results.values())).to_json())
            else:
                say_text(write_results(results))
            return
        results = self.renamed(path.stem).results
        if len(results) == 1:
            results[path.stem].to_json(path)
        else:
            write_results(results, path)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A command whose inputs are read and checked.

    Attributes
    ----------
    inputs : sequence of Source
        The files that were read, or will be.
    compute : callable
        Returns the answer.
    json, report, markdown : Path or None
        Where it goes.
    quiet : bool
        Whether nothing is printed.
    verbose : bool
        Whether the figures behind the answer are printed too.
    """

    inputs: Sequence[Source]
    compute: Callable[[], CommandAnswer]
    json: Path | None = None
    report: Path | None = None
    markdown: Path | None = None
    quiet: bool = False
    verbose: bool = False

    def finish(self) -> int:
        """Compute, write the files, then print the results; return the exit code.

        Raises
        ------
        ValueError
            If a file would overwrite an input, or looks like data.
        """
        outputs = {"--json": self.json, "--report": self.report, "--markdown": self.markdown}
        check_outputs(outputs, self.inputs)
        # Files get their names at the end: where one cannot be written, or the output, all are as before.
        with all_or_nothing():
            answer = self.compute()
            self._write(answer)
            # A reader of the output that leaves early, such as `head`, must not cost a file.
            with reader_may_leave():
                self._print(answer)
        return answer.exit_code

    def _write(self, answer: CommandAnswer) -> None:
        from shiftmetrics.views import write_report

        context = replace(
            answer.context,
            command=command_line(),
            files=self._files(answer),
            read=self._read(answer),
        )
        if self.report is not None:
            write_report(answer.results, self.report, title=answer.title, context=context)
        if self.json is not None and not is_stdout(self.json):
            answer.write_json(self.json)
        if self.markdown is not None and not is_stdout(self.markdown):
            write_text(self.markdown, self._markdown(answer))

    def _markdown(self, answer: CommandAnswer) -> str:
        from shiftmetrics.views.report import render_markdown

        notes = self._read(answer)
        return render_markdown(
            answer.results,
            title=answer.title,
            notes=notes,
            files=self._files(answer),
            command=command_line(),
        )

    def _read(self, answer: CommandAnswer) -> list[str]:
        return [*answer.above, *roles_in_words(self.inputs), *answer.notes]

    def _files(self, answer: CommandAnswer) -> dict[str, str]:
        return {**files_by_argument(self.inputs), **answer.context.files}

    def _print(self, answer: CommandAnswer) -> None:
        if self.json is not None and is_stdout(self.json):
            answer.write_json(self.json)
        elif is_stdout(self.markdown):
            say_text(self._markdown(answer).rstrip("\n"))
        elif not self.quiet:
            for sentence in answer.above:
                say(sentence)
            notes = [*roles_in_words(self.inputs), *answer.notes]
            show(
                answer.results,
                notes,
                files=self._files(answer),
                command=command_line(),
                verbose=self.verbose,
            )
            files = {"JSON": self.json, "Report": self.report, "Markdown": self.markdown}
            say_files({**answer.written, **files})
        sys.stdout.flush()


def roles_in_words(inputs: Iterable[Source]) -> list[str]:
    """Say which file was taken for which, where there are two samples that could be confused.

    What options name is not said again: it stands beside its option. Of several files in one place, which have names
    of their own or are the parts of one, their number is said.
    """
    files = _by_argument(inputs)
    if len(files) < 2:
        return []
    roles = []
    for argument, names in files.items():
        name = names[0] if len(names) == 1 else f"{len(names)} files"
        roles.append(f"{argument} is {name}")
    return [f"{', '.join(roles)}."]


def files_by_argument(inputs: Iterable[Source]) -> dict[str, str]:
    """Return the file of each argument that was given one file."""
    return {
        argument: names[0] for argument, names in _by_argument(inputs).items() if len(names) == 1
    }


def _by_argument(inputs: Iterable[Source]) -> dict[str, list[str]]:
    files: dict[str, list[str]] = {}
    for source in inputs:
        # a word of its own in the usage, such as REFERENCE
        if source.argument.isalpha() and source.argument.isupper():
            files.setdefault(source.argument, []).append(str(source))
    return files


def command_line() -> str:
    """Return what was typed, as it can be typed again."""
    return shlex.join(["shiftmetrics", *sys.argv[1:]])


def check_outputs(
    outputs: Mapping[str, Path | None], inputs: Iterable[Source], *, has_arrays: bool = True
) -> None:
    """Refuse paths that cannot be written, that are one another, or that would replace an input or a foreign file.

    Parameters
    ----------
    outputs : mapping of str to path
        By their options.
    inputs : iterable of Source
        What is read.
    has_arrays : bool, default True
        Whether ``--json`` has arrays, which go to an ``.npz`` file of the same name.

    Raises
    ------
    ValueError
        The first path that is refused.
    """
    # Reversed, so that of two inputs that are one file the first is named.
    taken = {source.path.resolve(): source.argument for source in reversed(list(inputs))}
    options: dict[Path, str] = {}
    printed = ""
    for option, path in outputs.items():
        if path is None:
            continue
        if is_stdout(path):
            if option not in ON_STDOUT:
                raise ValueError(
                    f"{option} must be a file, got the standard output, which takes {' and '.join(ON_STDOUT)} alone."
                )
            if printed:
                raise ValueError(f"{printed} and {option} must not both be the standard output.")
            printed = option
            continue
        got = f"got {str(path)!r}"
        if path.is_dir():
            raise ValueError(f"{option} must be a file, got the folder {str(path)!r}.")
        if path.name.lower().endswith(DATA_SUFFIXES):
            raise ValueError(f"{option} must not end like a data file, {got}.")
        if not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
            raise ValueError(f"{option} must be in a folder that exists and can be written, {got}.")
        targets = [path]
        if option == "--json" and has_arrays and not is_stream(path):
            targets.append(path.with_suffix(".npz"))
        for target in targets:
            if target.resolve() in taken:
                argument = taken[target.resolve()]
                raise ValueError(
                    f"{option} {path} would overwrite {argument}, {target.name}. Choose another name."
                )
        # an empty file and a device, such as /dev/null, hold nothing that could be lost
        foreign = []
        kind = KINDS.get(option) or KINDS.get(path.suffix, "html")
        if path.is_file() and path.stat().st_size > 0 and not is_ours(path, kind):
            foreign.append(path)
        if len(targets) > 1 and has_foreign_archive(path):
            foreign.append(targets[1])
        if foreign:
            raise ValueError(
                f"{option} must not replace a file that shiftmetrics did not write, got {str(foreign[0])!r}. "
                "Move it away, or choose another name."
            )
        # what is written through takes both
        if is_stream(path):
            continue
        same = options.setdefault(path.resolve(), option)
        if same != option:
            raise ValueError(f"{same} and {option} must be two files, {got} twice.")


def is_stdout(path: Path | None) -> bool:
    """Return True for ``-`` and for every other name of standard output, such as /dev/stdout."""
    if path is None:
        return False
    if str(path) == "-":
        return True
    try:
        return os.path.samestat(path.stat(), os.fstat(sys.stdout.fileno()))
    except (AttributeError, OSError, ValueError):  # no such file, or an output that is no file
        return False


def say_files(written: Mapping[str, Path | None]) -> None:
    """Print where the files are."""
    for what, path in written.items():
        if path is not None:
            say(f"{what}: {path}")


def show(
    results: Mapping[str, Result],
    notes: Sequence[str] = (),
    *,
    files: Mapping[str, str] | None = None,
    command: str = "",
    verbose: bool = False,
) -> None:
    """Print the answer of each result with the files that were given, then the notes.

    ``verbose`` adds the numbers of the first screen and the figures behind the answer.
    """
    from shiftmetrics.views.report import answer_of, facts_of

    console = new_console()
    for name, result in results.items():
        if len(results) > 1:
            console.line((name, "bold"))
        answer = answer_of(result).named(files or {}, command)
        show_answer(answer, console)
        lines = []
        if verbose:
            lines = [(tile.name, tile.value, tile.meaning) for tile in answer.tiles]
        for fact in facts_of(result):
            if (verbose or fact.is_answer) and not fact.said:
                lines.append((fact.name, fact.value, fact.meaning))
        console.table(("", "value", "meaning"), lines)
        for sentence in result.details() if verbose else ():
            if not sentence.startswith("Interval:"):  # the table has it
                console.line((sentence, "dim"))
    # two files say the same of a column of one name
    for note in dict.fromkeys(notes):
        console.line((f"Note: {note}", "dim"))


STYLES = {"good": "bold green", "bad": "bold red", "open": "bold yellow", "plain": "bold blue"}
"""Colours of words by the tone of the answer."""


def show_answer(answer: Answer, console: Console) -> None:
    """Print an answer: the word in its colour with one sentence, what was found, and what to do now."""
    for warning in answer.above:
        console.line((f"Warning: {warning}", "yellow"))
    console.line((answer.word, STYLES[answer.tone]), (f"  {answer.sentence}", ""))
    for sentence in answer.findings:
        console.line((sentence, "dim"))
    for step in answer.steps:
        console.line((step, "bold"))
    for warning in answer.warnings:
        console.line((f"Warning: {warning}", "yellow"))
