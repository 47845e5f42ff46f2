"""Answers of several commands in one folder and on one page: what ``shiftmetrics run`` puts together."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftmetrics._core.result import has_foreign_archive, names_arrays
from shiftmetrics.tools.cli.sources import Source

if TYPE_CHECKING:
    from shiftmetrics._core.result import Result
    from shiftmetrics.views import Context


class InputsRead(Exception):  # noqa: N818 - a command that got this far is in order
    """Ends a command whose inputs are read and right, before it computes anything."""


@dataclass(frozen=True, kw_only=True)
class Folder:
    """Where results go.

    Attributes
    ----------
    path : Path
        The folder, absolute.
    """

    path: Path

    def result(self, name: str) -> Path:
        """Return the JSON file of a measurement."""
        return self.path / f"{name}.json"

    @property
    def report(self) -> Path:
        """The page."""
        return self.path / "report.html"

    @property
    def junit(self) -> Path:
        """The outcomes of rules."""
        return self.path / "junit.xml"

    def files(self, names: Sequence[str]) -> dict[Path, str]:
        """Return all files that a run may write, with the measurement that each belongs to.

        Raises
        ------
        ValueError
            If the folder cannot be one, or a file of another origin stands where one of ours would.
        """
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"The output must be a folder, got the file {str(self.path)!r}.")
        if self.path.exists() and not os.access(self.path, os.W_OK):
            raise ValueError(f"The output must be a folder that can be written, got {str(self.path)!r}.")
        results = {self.result(name): name for name in names}
        archives = {file.with_suffix(".npz"): name for file, name in results.items()}
        pages = {self.report: "", self.junit: ""}
        foreign = [file for file in (*results, *pages) if file.exists() and not _is_ours(file)]
        foreign += [file.with_suffix(".npz") for file in results if has_foreign_archive(file)]
        if foreign:
            raise ValueError(
                f"The output folder must not hold files of other origin under our names, got {str(foreign[0])!r}. "
                "Move it away, or choose another folder."
            )
        return {**results, **archives, **pages}

    def others(self, written: Container[Path]) -> list[Path]:
        """Return results in the folder that are not among those ``written``, such as those of another name."""
        return [file for file in sorted(self.path.glob("*.json")) if file not in written and _is_ours(file)]

    def make(self) -> None:
        """Make the folder, if it is not there."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The output folder must be one that can be made, got {str(self.path)!r} ({error.strerror})."
            ) from error

    def remove(self, name: str) -> None:
        """Remove what an earlier run measured under ``name``, so that nobody takes it for new."""
        file = self.result(name)
        if file.is_file():
            has_arrays = names_arrays(file)
            file.unlink()
            if has_arrays:
                file.with_suffix(".npz").unlink(missing_ok=True)


def _is_ours(file: Path) -> bool:
    """Tell whether a file was written by this package: by the marks that all its files carry."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    if file.suffix != ".json":
        return "shiftmetrics" in text[:1000]
    try:
        document = json.loads(text)
    except json.JSONDecodeError:
        return False
    return (
        isinstance(document, Mapping)
        and "schema_version" in document
        and not document.keys().isdisjoint(("measure", "results", "outcomes"))
    )


@dataclass(kw_only=True)
class Answer:
    """Takes the answer of one command; a receiver of `shiftmetrics.tools.cli.outputs`.

    Attributes
    ----------
    name : str
        The measurement.
    written : dict of Path to str
        All files that this run writes, and the measurement of each.
    earlier : sequence of str
        The measurements whose results it may read.
    only_inputs : bool
        Whether the command ends once its inputs are read.
    """

    name: str
    written: Mapping[Path, str]
    earlier: Sequence[str] = ()
    only_inputs: bool = False
    results: dict[str, Result] = field(default_factory=dict)
    context: Context | None = None
    notes: Sequence[str] = ()

    def check(self, inputs: Sequence[Source]) -> None:
        """Refuse inputs that this run would overwrite; results of earlier measurements may be read."""
        for source in inputs:
            path = source.path.resolve()
            owner = self.written.get(path)
            if owner is not None and not (owner in self.earlier and path.suffix == ".json"):
                raise ValueError(
                    f"{source.argument} must not be a file that this run has yet to write, got {source}. "
                    "Choose another name or output folder; results of earlier measurements may be read."
                )
            if any(path == file.parent for file in self.written):
                raise ValueError(f"{source.argument} must not be the output folder, got {source}.")
            if owner is None and not path.exists() and not source.is_attribute:
                raise ValueError(f"{source.argument} must be there, got {source}, which does not exist.")
        if self.only_inputs:
            raise InputsRead

    def receive(self, results: Mapping[str, Result], *, context: Context, notes: Sequence[str] = ()) -> None:
        """Keep the results: the main one under the name of the measurement, what goes beside it by its title."""
        names = dict(
            zip(
                results, [self.name, *(f"{self.name}: {beside}" for beside in list(results)[1:])], strict=True
            )
        )
        self.results = {names[key]: result for key, result in results.items()}
        self.context = _renamed(context, names)
        self.notes = notes

    def write(self, path: Path) -> None:
        """Write the results as the command itself would."""
        if len(self.results) == 1:
            next(iter(self.results.values())).to_json(path)
            return
        from shiftmetrics._core.collection import write_results

        write_results(self.results, path)


def one_context(contexts: Mapping[str, Context], **whole: Any) -> Context:
    """Return the context of one page for the answers of several commands: what each says goes to its own section.

    ``whole`` is what the context says of all of them, such as its description.
    """
    from shiftmetrics.views import Context

    rows: dict[str, Any] = {}
    remarks: dict[str, str] = {}
    conclusions: dict[str, str] = {}
    for name, context in contexts.items():
        rows |= context.rows
        remarks |= {name: _said(context), **context.remarks}
        conclusions |= context.conclusions
    return Context(rows=rows, remarks=remarks, conclusions=conclusions, **whole)


def _renamed(context: Context, names: Mapping[str, str]) -> Context:
    from dataclasses import replace

    def under(parts: Mapping[str, Any]) -> dict[str, Any]:
        return {names.get(key, key): part for key, part in parts.items()}

    return replace(
        context,
        rows=under(context.rows),
        remarks=under(context.remarks),
        conclusions=under(context.conclusions),
    )


def _said(context: Context) -> str:
    """Return the description, and after it the facts that it does not hold."""
    said = context.description.casefold()
    facts = [f"{name}: {value}." for name, value in context.facts.items() if value.casefold() not in said]
    return " ".join([context.description, *facts])
