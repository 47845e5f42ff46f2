"""Folders of parts, as Spark writes them, and patterns of files: one table."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.cells import INDEX, Cells
from shiftmetrics.tables.content import Content, ReadOptions, UnreadableError
from shiftmetrics.tables.logs import TASK, LogCells, NoScoreError, joined_logs
from shiftmetrics.tables.readers import evaluation_lines, evaluation_objects, lighteval
from shiftmetrics.tables.readers.lm_eval import is_sample_log, read_sample_log
from shiftmetrics.tables.readers.names import checked_names
from shiftmetrics.tables.readers.packed import READERS as PACKED

TABLES = (
    ".parquet",
    ".arrow",
    ".feather",
    ".csv",
    ".tsv",
    ".txt",
    ".jsonl",
    ".ndjson",
    ".json",
    ".npy",
)
"""In a folder of several kinds, the parts are the files of the first of these: the others speak of them."""

MOST_ENTRIES = 100_000
"""Files and folders within a folder."""

LOGS = (lighteval.READER, *evaluation_objects.READERS, *evaluation_lines.READERS)
"""Logs of which a folder holds one for each task, besides those of lm-evaluation-harness."""

_PARTITION = re.compile(r"([^=]+)=(.*)")


def files_of_parts(path: Path, argument: str, options: ReadOptions) -> list[Content] | None:
    """Return the files of a folder or a pattern; None for a single file."""
    if path.is_dir():
        files = _files_among(path.rglob("*"), path, argument)
        base = path
    elif not path.exists() and any(mark in str(path) for mark in "*?["):
        pattern = path.relative_to(path.anchor) if path.anchor else path
        files = _files_among(Path(path.anchor or ".").glob(str(pattern)), path, argument)
        base = None
    else:
        return None
    kept = [file for file in files if not _is_beside(file, base)]
    full = [file for file in kept if file.stat().st_size]
    if not full:
        raise UnreadableError(
            argument, "a folder or a pattern of files with rows", f"{str(path)!r}, which holds none"
        )
    kinds = {_kind(file) for file in full}
    if len(kinds) > 1:
        kind = next((suffix for suffix in TABLES if suffix in kinds), None)
        others = kinds - {kind}
        if kind is None or others - {".json", ".txt", ".md", ""}:
            raise UnreadableError(
                argument,
                "a folder of files of one kind",
                f"{str(path)!r} with {', '.join(sorted(kinds))}",
                f"Name one file, or a pattern such as {path / '*.csv'}.",
            )
        full = [file for file in full if _kind(file) == kind]
    return [_part(file, base, argument, options) for file in full]


def _files_among(entries: Iterable[Path], path: Path, argument: str) -> list[Path]:
    """Return the files in the order of their names; a folder such as ``/`` has no end."""
    found = list(itertools.islice(entries, MOST_ENTRIES + 1))
    if len(found) > MOST_ENTRIES:
        raise UnreadableError(
            argument,
            f"a folder of at most {MOST_ENTRIES:,} files",
            f"{str(path)!r}, which holds more",
            "Name the folder of the rows.",
        )
    return [file for file in sorted(found) if file.is_file()]


class FolderPart(Content):
    """One file of a folder, with what the names of its folders say: ``country=DE``."""

    partition: dict[str, str]


def _part(file: Path, base: Path | None, argument: str, options: ReadOptions) -> Content:
    part = FolderPart(argument, file.name, options, path=file)
    folders = file.relative_to(base).parts[:-1] if base else ()
    found = [_PARTITION.fullmatch(folder) for folder in folders]
    part.partition = {match[1]: unquote(match[2]) for match in found if match}
    return part


def _kind(file: Path) -> str:
    packed = tuple(suffix for reader in PACKED for suffix in reader.suffixes)
    name = file.name.lower()
    while name.endswith(packed):
        name = str(Path(name).with_suffix(""))
    return Path(name).suffix


def _is_beside(file: Path, base: Path | None) -> bool:
    """Return True for what tools write beside the parts: _SUCCESS, checksums, hidden files."""
    parts = file.relative_to(base).parts if base else (file.name,)
    return any(part.startswith(("_", ".")) for part in parts) or file.suffix == ".crc"


def read_parts(parts: list[Content], name: str, read: Callable[[Content], Cells]) -> Cells:
    """Return the rows of all parts, one below the other."""
    from shiftmetrics.tables.readers.text import is_text

    first = parts[0]
    if all(is_sample_log(part) for part in parts):
        # a file for each task, whose name alone says which
        return joined_logs(_with_scores(parts, read_sample_log), name)
    logs = _read_logs(parts)
    if logs is not None:
        return joined_logs(logs, name)
    if (
        all(is_text(part) and not getattr(part, "partition", {}) for part in parts)
        and len(parts) > 1
    ):
        return dataclasses.replace(read(_joined_text(parts, name)), name=name)
    tables = _with_one_index([_with_partition(read(part), part) for part in parts])
    columns = list(tables[0].frame.columns)
    for table in tables[1:]:
        if list(table.frame.columns) != columns:
            raise first.refusal(
                "a folder of files with the same columns",
                f"but {table.name!r} has others",
                "Name one file, or a pattern of those that belong together.",
            )
    return _joined(tables, name, first)


def _read_logs(parts: list[Content]) -> list[LogCells] | None:
    """Return the logs of one tool, the name of each file as its task where it names none; None for other files."""
    reader = next((one for one in LOGS if one.tells(parts[0])), None)
    if reader is None or reader.read is None or not all(map(reader.tells, parts)):
        return None
    read = reader.read

    def named(part: Content) -> LogCells:
        log = read(part)
        assert isinstance(log, LogCells)
        if log.frame[TASK].any():
            return log
        task = part.name.partition(".")[0]
        return dataclasses.replace(log, table=log.frame.assign(**{TASK: task}))

    return _with_scores(parts, named)


def _with_scores(parts: list[Content], read: Callable[[Content], LogCells]) -> list[LogCells]:
    """Return the logs of tasks that score single questions; the others, such as of a BLEU of all texts, are named."""
    logs = []
    without = []
    for part in parts:
        try:
            logs.append(read(part))
        except NoScoreError as error:
            without.append((part.name, error))
    if not logs:
        raise without[0][1]
    if without:
        names = first_few([name for name, _ in without], 3, show=str)
        text = f"left out {names}, whose questions have no scores of their own"
        logs[0] = dataclasses.replace(logs[0], warnings=(*logs[0].warnings, text))
    return logs


def _joined_text(parts: list[Content], name: str) -> Content:
    """Return the texts as one: the line that all begin with is the header, and stands once."""
    first = parts[0]
    total = 0
    texts = []
    for part in parts:
        total += part.size
        first.check_size(2 * total)
        text = part.read().removeprefix(b"\xef\xbb\xbf")
        texts.append(text if text.endswith(b"\n") else text + b"\n")
    lines = {text.partition(b"\n")[0] for text in texts}
    options = first.options
    is_json = all(text.lstrip().startswith((b"{", b"[")) for text in texts)
    if len(lines) == 1 and not is_json:
        texts[1:] = [text.partition(b"\n")[2] for text in texts[1:]]
        options = dataclasses.replace(options, first_line="names")
    elif not is_json and options.first_line is None:
        options = dataclasses.replace(options, first_line="none")
    return Content(first.argument, name, options, data=b"".join(texts))


def _with_partition(cells: Cells, part: Content) -> Cells:
    partition = getattr(part, "partition", {})
    if not partition:
        return cells
    frame = cells.frame.copy()
    checked_names([*map(str, frame.columns), *partition], part)
    for key, value in partition.items():
        frame[key] = None if value == "__HIVE_DEFAULT_PARTITION__" else value
        frame[key] = frame[key].astype(object)
    return dataclasses.replace(
        cells, table=frame, values=None, written=cells.written | set(partition)
    )


def _with_one_index(tables: list[Cells]) -> list[Cells]:
    """Return parts of one frame alike: pandas keeps the counting index of a slice, unless the slice begins at 0."""
    counted = [INDEX in table.index for table in tables]
    if all(counted) or not any(counted):
        return tables
    alike = []
    for table, is_counted in zip(tables, counted, strict=True):
        if is_counted or INDEX in table.frame.columns:
            alike.append(table)
            continue
        frame = table.frame.copy()
        frame.insert(0, INDEX, range(len(frame)))
        alike.append(
            dataclasses.replace(table, table=frame, values=None, index=(INDEX, *table.index))
        )
    places = [place for table in alike for place in table.frame[INDEX]]
    # An index that counts the rows of all parts says nothing, as that of one file.
    if places != list(range(len(places))):
        return alike
    return [
        dataclasses.replace(
            table,
            table=table.frame.drop(columns=INDEX),
            index=tuple(name for name in table.index if name != INDEX),
        )
        for table in alike
    ]


def _joined(tables: list[Cells], name: str, first: Content) -> Cells:
    import pandas as pd

    first.check_size(2 * sum(int(table.frame.memory_usage().sum()) for table in tables))
    written = frozenset().union(*(table.written for table in tables))
    frames = []
    for table in tables:
        frame = table.frame
        # a column that is plainly of numbers in one part and of words in another is one of words
        texts: dict[str, Any] = {
            column: frame[column].astype(str).where(frame[column].notna(), None)
            for column in written - table.written
        }
        frames.append(frame.assign(**texts) if texts else frame)
    levels: dict[str, tuple[str, ...]] = {}
    for table in tables:
        for column, words in table.levels.items():
            levels[column] = tuple(dict.fromkeys((*levels.get(column, ()), *words)))
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return dataclasses.replace(
        tables[0],
        name=name,
        table=pd.concat(frames, ignore_index=True),
        values=None,
        written=written,
        levels=levels,
        notes=notes,
    )
