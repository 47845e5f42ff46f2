"""Results that other commands have written, read from files and folders into one mapping with a name for each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shiftmetrics._core.documents import read_results
from shiftmetrics._core.result import Result
from shiftmetrics.cli.inputs.sources import Source


@dataclass(frozen=True, kw_only=True)
class ResultFiles:
    """What was read.

    Attributes
    ----------
    results : dict of str to Result
        The file of a single result gives it its name; results in one file keep theirs. Where names repeat,
        the path of the file comes before them.
    sources : tuple of Source
        The files, with the arrays beside them: outputs must not replace them.
    notes : tuple of str
        JSON files in the folders that are no results.
    """

    results: dict[str, Result]
    sources: tuple[Source, ...]
    notes: tuple[str, ...] = ()


def read_result_files(paths: Sequence[str | Path]) -> ResultFiles:
    """Read results from JSON files, and from folders of them.

    Parameters
    ----------
    paths : sequence of path
        Files, which must hold results, or folders, in which other JSON files are named in a note.

    Raises
    ------
    ValueError
        If a path is missing, a file named by the user is no result, one that should be is damaged, or there are none.
    """
    files, notes = _files_of(map(Path, paths))
    found: dict[Path, dict[str, Result]] = {}
    for file in files:
        try:
            results = read_results(file)
        except ValueError as error:
            raise ValueError(
                f"RESULTS must be files of results, got {str(file)!r}. {error}"
            ) from error
        # a result that is alone in its file goes by the name of the file
        found[file] = results
        for name, result in results.items():
            if len(results) == 1 and name == result.title:
                found[file] = {file.stem: result}
    if not any(found.values()):
        where = ", ".join(map(str, paths)) or "nothing"
        raise ValueError(f"RESULTS must hold at least one result, got none in {where}.")
    written = [part for file in files for part in (file, file.with_suffix(".npz"))]
    return ResultFiles(
        results=_named_apart(found),
        sources=tuple(Source(argument="RESULTS", path=path) for path in written),
        notes=tuple(notes),
    )


def _files_of(paths: Iterable[Path]) -> tuple[list[Path], list[str]]:
    """Return the files to read, each once, and what to say of the others in the folders."""
    files: dict[Path, Path] = {}
    notes = []
    for path in paths:
        if not path.exists():
            raise ValueError(f"RESULTS must be an existing file or folder, got {str(path)!r}.")
        if not path.is_dir():
            files.setdefault(path.resolve(), path)
            continue
        # names that begin with a dot are files that are being written, or were cut off
        for file in sorted(path.glob("[!.]*.json")):
            if file.is_file() and _holds_results(file):
                files.setdefault(file.resolve(), file)
            elif file.is_file():
                notes.append(f"{file} holds no results and is left out.")
    return list(files.values()), notes


def _holds_results(file: Path) -> bool:
    """Return True if a JSON file holds results. A file that is no JSON is damaged: reading it raises."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return True
    # outcomes of rules are JSON of ours too, and are no results
    is_versioned = isinstance(document, Mapping) and "schema_version" in document
    return is_versioned and ("results" in document or "measure" in document)


def _named_apart(found: Mapping[Path, Mapping[str, Result]]) -> dict[str, Result]:
    """Give every result a name of its own, the same whatever the order of the files."""
    # names that repeat are told apart by the paths of their files
    times = Counter(name for results in found.values() for name in results)
    named = {}
    for file, results in found.items():
        path = str(file.with_suffix(""))  # as typed, so never twice
        for name, result in results.items():
            if times[name] > 1:
                name = path if name == file.stem else f"{path}: {name}"
            named[name] = result
    return named
