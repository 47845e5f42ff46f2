"""Folders of parts, as Spark writes them, and patterns of files: one table."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from shiftmetrics._core.validation import first_few
from shiftmetrics.tables.cells import INDEX, Cells
from shiftmetrics.tables.content import Content, Reader, ReadOptions, UnreadableError
from shiftmetrics.tables.logs import TASK, LogCells, NoScoreError, joined_logs
from shiftmetrics.tables.readers import (
    evaluation_lines,
    evaluation_objects,
    inspect_ai,
    lighteval,
    lm_eval,
)
from shiftmetrics.tables.readers.header import is_number
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

LOGS = (
    lighteval.READER,
    lm_eval.READER,
    *inspect_ai.READERS,
    *evaluation_objects.READERS,
    *evaluation_lines.READERS,
)
"""Logs of which a folder holds one for each task."""

OBJECTS = (".json", ".jsonl", ".eval")
"""How logs end that are told from other files of their tool by their first bytes alone."""

MOST_OBJECTS = 10_000
"""In folders of more of them no logs are looked for."""

MOST_JUDGED = 20
"""Parts whose first lines are looked at for names, and lines of each, where the first lines differ."""

_MODEL = re.compile(r"[:,]model(_deployment)?=[^,:/]+|(?<=/)model=[^/]+/|^model=[^/]+/")
"""As in the folders of HELM: ``boolq:model=openai_gpt2``."""

_PARTITION = re.compile(r"([^=]+)=(.*)")


def files_of_parts(path: Path, argument: str, options: ReadOptions) -> list[FolderPart] | None:
    """Return the files of a folder or a pattern; None for a single file."""
    if path.is_dir():
        files = _files_among(path.rglob("*"), path, argument)
        base = path
    elif not path.exists() and any(mark in str(path) for mark in "*?["):
        # Path.glob takes no absolute pattern, so it starts from the root.
        pattern = path.relative_to(path.anchor) if path.anchor else path
        files = _files_among(Path(path.anchor or ".").glob(str(pattern)), path, argument)
        base = None
    else:
        return None
    kept = [file for file in files if not _is_beside(file, base)]
    # Spark writes an empty file for a part without rows, which cannot be read as a table.
    full = [file for file in kept if file.stat().st_size]
    if not full:
        raise UnreadableError(
            argument, "a folder or a pattern of files with rows", f"{str(path)!r}, which holds none"
        )
    logs = _logs_among([_part(file, base, argument, options) for file in full])
    if logs is not None:
        return logs
    kinds = {_kind(file) for file in full}
    if len(kinds) > 1:
        kind = next((suffix for suffix in TABLES if suffix in kinds), None)
        others = kinds - {kind}
        # Files of text or JSON beside a table describe it; any other kind may hold more rows.
        if kind is None or others - {".json", ".txt", ".md", ""}:
            raise UnreadableError(
                argument,
                "a folder of files of one kind",
                f"{str(path)!r} with {', '.join(sorted(kinds))}",
                f"Name one file, or a pattern such as {path / '*.csv'}.",
            )
        full = [file for file in full if _kind(file) == kind]
    return [_part(file, base, argument, options) for file in full]


def _logs_among(parts: list[FolderPart]) -> list[FolderPart] | None:
    """Return the logs of one tool that lie among its settings, totals and reports; None where all are of one form.

    Tools keep a folder for each run, in which one file has a row for each answer.
    """
    objects = [part for part in parts if part.name.lower().endswith(OBJECTS)]
    # Each reader opens each file, which takes too long where there are very many.
    if len(parts) == 1 or not objects or len(objects) > MOST_OBJECTS:
        return None
    found = []
    for reader in LOGS:
        told = [part for part in objects if _tells(reader, part)]
        if told:
            found.append(told)
    if not found or len(found[0]) == len(parts):
        return None
    # Two readers may tell the same files; only other files are those of another tool.
    if any(told != found[0] for told in found[1:]):
        first = next(told[0] for told in found[1:] if told != found[0])
        raise first.refusal(
            "a folder with the logs of one tool",
            f"beside {found[0][0].name!r} of another",
            "Name one file, or a pattern of those that belong together.",
        )
    others = [part.name for part in parts if part not in found[0]]
    for part in found[0]:
        part.beside = tuple(others)
    return found[0]


def _tells(reader: Reader, part: Content) -> bool:
    """Return whether a part is of a reader's form; one too damaged to be looked into is of none."""
    try:
        return reader.tells(part)
    except Exception:
        return False


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
    beside: tuple[str, ...] = ()


def _part(file: Path, base: Path | None, argument: str, options: ReadOptions) -> FolderPart:
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


def read_parts(parts: Sequence[Content], name: str, read: Callable[[Content], Cells]) -> Cells:
    """Return the rows of all parts, one below the other."""
    from shiftmetrics.tables.readers.text import is_text

    first = parts[0]
    logs = _read_logs(parts)
    if logs is not None:
        joined = joined_logs(logs, name)
        beside = getattr(first, "beside", ())
        if beside:
            text = f"left out {first_few(sorted(set(beside)), 3, show=str)}, which are no logs of {joined.tool}"
            joined = dataclasses.replace(joined, notes=(*joined.notes, text))
        return joined
    # Texts are joined before they are read, so that all rows say what a column holds.
    if (
        all(is_text(part) and not getattr(part, "partition", {}) for part in parts)
        and len(parts) > 1
    ):
        return dataclasses.replace(read(_joined_text(parts, name, read)), name=name)
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


def _read_logs(parts: Sequence[Content]) -> list[LogCells] | None:
    """Return the logs of one tool, the name of each file as its task where it names none; None for other files."""
    reader = next((one for one in LOGS if _tells(one, parts[0])), None)
    if reader is None or reader.read is None or not all(_tells(reader, part) for part in parts):
        return None
    read = reader.read
    tasks = iter(_task_names(parts))

    def named(part: Content) -> LogCells:
        task = next(tasks)
        log = read(part)
        if not isinstance(log, LogCells):
            raise part.refusal(reader.name, "which is another table")
        if log.frame[TASK].any():
            return log
        return dataclasses.replace(log, table=log.frame.assign(**{TASK: task}))

    return _with_scores(parts, named)


def _task_names(parts: Sequence[Content]) -> list[str]:
    """Return what names the task of each log: its file, or its folders where files of several have one name.

    The model that the name of a folder gives is left out, so that the runs of two models have the same tasks.
    """
    stems = [part.name.partition(".")[0] for part in parts]
    if len(set(stems)) == len(stems):
        return stems
    folders = [part.path.parent.parts if part.path else () for part in parts]
    n_common = 0
    while len({names[n_common : n_common + 1] for names in folders}) == 1 and folders[0][n_common:]:
        n_common += 1
    inner = [names[n_common:] for names in folders]
    if len(set(stems)) > 1:
        inner = [(*names, stem) for names, stem in zip(inner, stems, strict=True)]
    whole = ["/".join(names) for names in inner]
    plain = [_MODEL.sub("", name) for name in whole]
    return plain if len(set(plain)) == len(plain) else whole


def _with_scores(parts: Sequence[Content], read: Callable[[Content], LogCells]) -> list[LogCells]:
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


def _joined_text(parts: Sequence[Content], name: str, read: Callable[[Content], Cells]) -> Content:
    """Return the texts as one: the line that all begin with is the header, and stands once."""
    first = parts[0]
    total = 0
    texts = []
    for part in parts:
        total += part.size
        first.check_size(2 * total)
        text = part.read().removeprefix(b"\xef\xbb\xbf")
        texts.append(text if text.endswith(b"\n") else text + b"\n")
    lines = [text.partition(b"\n")[0] for text in texts]
    options = first.options
    is_json = all(text.lstrip().startswith((b"{", b"[")) for text in texts)
    if len(set(lines)) == 1 and not is_json:
        texts[1:] = [text.partition(b"\n")[2] for text in texts[1:]]
        options = dataclasses.replace(options, first_line="names")
    elif not is_json and options.first_line != "none":
        told = [k for k, text in enumerate(texts[:MOST_JUDGED]) if _has_names(text, first, read)]
        other = next((k for k in told if lines[k] != lines[told[0]]), None)
        if other is not None:
            raise first.refusal(
                "a folder of files with the same columns",
                f"but {parts[other].name!r} has others",
                "Name one file, or a pattern of those that belong together.",
            )
        if told[:1] == [0]:
            # What `split` cuts has names in its first part alone: it is judged as one file.
            for k in range(1, len(texts)):
                texts[k] = texts[k].removeprefix(lines[0] + b"\n")
        elif options.first_line is None:
            options = dataclasses.replace(options, first_line="none")
    return Content(first.argument, name, options, data=b"".join(texts))


def _has_names(text: bytes, first: Content, read: Callable[[Content], Cells]) -> bool:
    """Return True if the first line of a text has a word above a column of numbers."""
    options = dataclasses.replace(first.options, first_line=None)
    head = b"\n".join(text.split(b"\n", MOST_JUDGED)[:MOST_JUDGED]) + b"\n"
    try:
        cells = read(Content(first.argument, first.name, options, data=head))
    except UnreadableError:
        return False
    names = set(cells.frame.columns) - cells.written
    return cells.header == "names" and not all(map(is_number, names))


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
