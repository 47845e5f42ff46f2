"""Two files as samples of features: what is measured of their rows, and beside it ids, labels and groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import as_array, is_in_chunks
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.inputs.chunked_files import (
    first_rows,
    fit_at_once,
    read_in_chunks,
    selected,
)
from shiftmetrics.cli.inputs.prediction_files import listed, names_file, read_cells, typed_source
from shiftmetrics.cli.inputs.row_values import Values, require_column, row_values
from shiftmetrics.cli.inputs.sources import Source, parquet_files
from shiftmetrics.cli.options import OPENING
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import DateOrder, TypedTables
from shiftmetrics.tables.kinds import decide_kinds
from shiftmetrics.tables.roles.names import has_name_of

if TYPE_CHECKING:
    import pandas as pd

MOST_LABELS = 50
"""Distinct values of a column that is taken for labels by its name."""


@dataclass(kw_only=True)
class FeatureSample:
    """What one file holds.

    Attributes
    ----------
    source : Source
        The file.
    values : DataFrame, ndarray, list or Chunks
        What is measured, one row for each observation.
    label, groups : ndarray or None
        One entry for each row.
    ids : list of str or None
    table : DataFrame or None
        Columns that describe the rows, where the measure reads them itself.
    images, texts : array or list, or None
        What the rows are where the values are features of it.
    notes : list of str
        What the user should know about how the file was read.
    """

    source: Source
    values: Any
    label: Values | None = None
    groups: Values | None = None
    ids: list[str] | None = None
    table: Any = None
    images: Any = None
    texts: Any = None
    notes: list[str] = field(default_factory=list)

    @property
    def is_table(self) -> bool:
        """Whether columns have names."""
        return hasattr(self.values, "columns")


@dataclass(frozen=True, kw_only=True)
class FeatureOptions:
    """What was typed of the columns of two samples.

    Attributes
    ----------
    id_column, columns, exclude, label, groups : str or None
    date_order : {"day", "month", "year"} or None
    align : {"labels", "position"}
    paired : bool
        Whether the rows of both samples are pairs.
    """

    id_column: str | None = None
    columns: str | None = None
    exclude: str | None = None
    label: str | None = None
    groups: str | None = None
    date_order: DateOrder | None = None
    align: Align = "labels"
    paired: bool = False

    @property
    def label_column(self) -> str | None:
        """The column of labels; a file of labels is none."""
        return None if self.label is None or names_file(self.label) else self.label

    def of_tables(self) -> dict[str, str | None]:
        """Return the options that name columns."""
        return {
            "--id": self.id_column,
            "--columns": self.columns,
            "--exclude": self.exclude,
            "--groups": self.groups,
            "--date-order": self.date_order,
        }


def read_feature_samples(test: str, reference: str, options: FeatureOptions) -> list[FeatureSample]:
    """Read two files of features: tables, arrays, or folders of parquet files.

    Raises
    ------
    ValueError
        If a column is missing, stands in one file alone, or holds what cannot be measured.
    """
    typed = [(test, "TEST"), (reference, "REFERENCE")]
    folders = [text for text, _ in typed if parquet_files(text)]
    if folders and not fit_at_once(folders):
        return _in_chunks(typed, options)
    sources = [typed_source(text, argument) for text, argument in typed]
    cells = [read_cells(source) for source in sources]
    if any(part.values is not None for part in cells):
        return _of_arrays(sources, cells, options)
    decided = decide_kinds(cells, decimal=OPENING.get().decimal, date_order=options.date_order)
    return _of_tables(sources, cells, decided, options)


def _in_chunks(typed: Sequence[tuple[str, str]], options: FeatureOptions) -> list[FeatureSample]:
    """Return large folders of parquet files in chunks, which hold numbers alone."""
    refused = {**options.of_tables(), "--label": options.label}
    del refused["--columns"]
    refuse_options(refused, "be left out for several parquet files, whose rows pair by their place")
    found = [read_in_chunks(text, argument, options.columns) for text, argument in typed]
    notes: list[str] = []
    # Without names the first rows tell which columns are ids and labels.
    if options.columns is None and all(part.names is not None for part in found):
        cells = [
            first_rows(text, argument, part)
            for (text, argument), part in zip(typed, found, strict=True)
        ]
        decided = decide_kinds(cells, decimal=OPENING.get().decimal)
        heads = _of_tables([part.source for part in found], cells, decided, FeatureOptions())
        if heads[0].table is not None:
            raise ValueError(
                "TEST and REFERENCE must hold numbers alone in large folders, got words, dates or gaps among them. "
                "Name columns of numbers: --columns a,b,c."
            )
        found = [selected(part, list(heads[0].values.columns)) for part in found]
        notes = heads[0].notes
    samples = [FeatureSample(source=part.source, values=part.values) for part in found]
    samples[0].notes = notes
    return samples


def _of_arrays(
    sources: Sequence[Source], cells: Sequence[Cells], options: FeatureOptions
) -> list[FeatureSample]:
    """Return arrays as they are; a table beside an array must hold numbers alone."""
    for source, part in zip(sources, cells, strict=True):
        if part.values is not None:
            rule = f"go with tables that have named columns, but {source.argument} is {source}"
            refuse_options(options.of_tables(), rule)
    samples = []
    for place, (source, part) in enumerate(zip(sources, cells, strict=True)):
        values: Any = part.values
        frame = None
        if values is None:
            frame = decide_kinds([part], decimal=OPENING.get().decimal).frames[0]
            label = options.label_column
            values = frame.drop(columns=[label] if label in frame.columns else [])
            _refuse_words(values, source.argument)
        # a file of labels goes with the sample under test
        text = options.label if place == 0 or options.label_column else None
        samples.append(
            FeatureSample(
                source=source,
                values=as_array(values, source.argument) if frame is None else values,
                label=row_values(text, "--label", frame),
            )
        )
    return samples


def _of_tables(
    sources: Sequence[Source],
    cells: Sequence[Cells],
    typed: TypedTables,
    options: FeatureOptions,
) -> list[FeatureSample]:
    """Return two tables: as numbers where they hold nothing else, else for the measure to read."""
    from shiftmetrics.tables.encoder.encoder import is_mixed

    frames = typed.frames
    notes: list[str] = []
    _check_names(frames, sources, options)
    label = options.label_column
    shown = [_shown(frame, options) for frame in frames]
    id_column = options.id_column or _found_id(shown, typed)
    if label is None and options.columns is None:
        label = _found_label(shown)
        if label is not None:
            notes.append(f"Took {label} as the label.")
            shown = [frame.drop(columns=label) for frame in shown]
    if options.align == "labels":
        _refuse_other_columns(shown, sources, id_column)
    without_id = [frame.drop(columns=id_column or [], errors="ignore") for frame in shown]
    # Words, dates and gaps are encoded by the measure, from both tables as they are. Numbers alone
    # are aligned here, by their names and ids.
    is_encoded = options.align == "labels" and any(is_mixed(frame) for frame in without_id)
    if is_encoded:
        typed.check(shown[0].columns)
    elif id_column is not None and options.id_column is None:
        notes.append(f"Took {id_column} as the id.")
    samples = []
    for place, (source, frame) in enumerate(zip(sources, frames, strict=True)):
        ids = None
        if id_column is not None:
            column = require_column(frame.columns, id_column, "--id", source.argument)
            ids = frame[column].astype(str).tolist()
        text = label if label is not None else options.label
        sample = FeatureSample(
            source=source,
            values=shown[place] if is_encoded else without_id[place],
            # a file of labels goes with the sample under test
            label=row_values(text, "--label", frame, ids) if place == 0 or label else None,
            groups=row_values(options.groups, "--groups", frame),
            ids=ids,
            table=without_id[place] if is_encoded else None,
        )
        if not is_encoded:
            _refuse_words(sample.values, source.argument)
        samples.append(sample)
    samples[0].notes = [*notes, *(note for part in cells for note in part.notes), *typed.notes]
    if not is_encoded:
        _align(samples, options)
    return samples


def _check_names(
    frames: Sequence[pd.DataFrame], sources: Sequence[Source], options: FeatureOptions
) -> None:
    """Refuse names that were typed and stand in no file."""
    known = list(dict.fromkeys(name for frame in frames for name in frame.columns))
    both = " or ".join(source.argument for source in sources)
    for option in ("columns", "exclude"):
        for name in listed(getattr(options, option)) or ():
            require_column(known, name, f"--{option}", both)
    label = options.label_column
    if label is not None:
        require_column(known, label, "--label", both)
    for source, frame in zip(sources, frames, strict=True):
        if options.id_column is not None:
            require_column(frame.columns, options.id_column, "--id", source.argument)


def _shown(frame: pd.DataFrame, options: FeatureOptions) -> pd.DataFrame:
    """Return the columns that may be measured."""
    taken = {options.groups, options.label_column, *(listed(options.exclude) or ())}
    if options.columns is not None:
        wanted: Iterable[str] = listed(options.columns) or ()
    else:
        wanted = frame.columns
    return frame[[name for name in wanted if name in frame.columns and name not in taken]]


def _found_id(frames: Sequence[pd.DataFrame], typed: TypedTables) -> str | None:
    """Return the column that names the rows of both files."""
    from shiftmetrics.tables.encoder.roles import role_of

    first, second = frames
    for name in first.columns:
        if name not in second.columns:
            continue
        role = role_of(name, typed.kinds[str(name)].kind, second[name], first[name])
        if role.role == "id":
            return str(name)
    return None


def _found_label(frames: Sequence[pd.DataFrame]) -> str | None:
    """Return the column of both files with the name of labels and few values; y beside x is a coordinate."""
    first, second = frames
    for name in first.columns:
        if name not in second.columns or not has_name_of(str(name), "truth"):
            continue
        if str(name) in ("y", "Y") and {"x", "X"} & set(first.columns):
            continue
        values = first[name].dropna()
        is_fractional = values.dtype.kind == "f" and bool((values % 1 != 0).any())
        if first.shape[1] > 1 and not is_fractional and values.nunique() <= MOST_LABELS:
            return str(name)
    return None


def _refuse_other_columns(
    frames: Sequence[pd.DataFrame], sources: Sequence[Source], id_column: str | None
) -> None:
    """Refuse columns that one file alone has: labels that were not named, most likely."""
    first, second = (set(frame.columns) - {id_column} for frame in frames)
    if first == second:
        return
    sides = zip((first - second, second - first), sources, strict=True)
    parts = [
        f"{source.argument} alone has the column {first_few(sorted(names))}"
        for names, source in sides
        if names
    ]
    name = sorted(first ^ second)[0]
    raise ValueError(
        f"TEST and REFERENCE must have the same columns, but {' and '.join(parts)}. If it holds labels, give --label "
        f"{name}; else --exclude {name}, or the columns to take with --columns."
    )


def _refuse_words(frame: pd.DataFrame, argument: str) -> None:
    """Name the first cell that is no number."""
    for name in frame.columns:
        if frame[name].dtype.kind in "biuf":
            continue
        cell = next((str(value) for value in frame[name] if value is not None), "")
        raise ValueError(
            f"{argument} must hold numbers beside an array, got {cell[:60]!r} in column {str(name)!r}."
        )


def _align(samples: Sequence[FeatureSample], options: FeatureOptions) -> None:
    """Bring the rows and columns of the second sample into the order of the first, in place."""
    first, second = samples
    rows = options.paired and first.ids is not None and second.ids is not None
    # Pairs that go by place shift from the first row on that one side lacks.
    if options.paired and not rows and len(first.values) != len(second.values):
        raise ValueError(
            f"TEST and REFERENCE must have the same rows, got {len(first.values)} and {len(second.values)}. "
            "Name the id column with --id."
        )
    named = [
        sample.values.set_axis(sample.ids, axis=0) if rows else sample.values for sample in samples
    ]
    _, aligned = align_tables(
        named[0],
        named[1],
        "TEST",
        "REFERENCE",
        align=options.align,
        rows=rows,
        option="--align",
    )
    if rows and options.align == "labels":
        # Labels and groups have no index of their own, and follow the rows by hand.
        order = named[1].index.get_indexer(aligned.index)
        for part in ("label", "groups"):
            if getattr(second, part) is not None:
                setattr(second, part, getattr(second, part)[order])
        second.ids = [str(name) for name in aligned.index]
    second.values = aligned.reset_index(drop=True)


def refuse_options(given: dict[str, Any], rule: str) -> None:
    """Raise a ValueError for the first option that was given."""
    for option, value in given.items():
        if value:
            raise ValueError(f"{option} must {rule}.")


def array_of_sample(sample: FeatureSample) -> Any:
    """Return the values as an array of numbers, or rows in parts."""
    if is_in_chunks(sample.values):
        return sample.values
    return np.asarray(as_array(sample.values, sample.source.argument))
