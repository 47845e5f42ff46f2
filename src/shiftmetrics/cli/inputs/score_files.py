"""Files of scores of the same rows, for commands of posterior agreement: read by evidence, as `diff` reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentTypeError
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import first_few
from shiftmetrics.cli.inputs.chunked_files import fit_at_once
from shiftmetrics.cli.inputs.chunked_scores import read_chunked_scores
from shiftmetrics.cli.inputs.prediction_files import (
    names_file,
    predicted_cells,
    read_cells,
    typed_roles,
    typed_source,
)
from shiftmetrics.cli.inputs.row_values import values_of_rows
from shiftmetrics.cli.inputs.sources import Source, parquet_files
from shiftmetrics.cli.options import ColumnOptions
from shiftmetrics.tables.array_scores import scores_of_arrays, under_names
from shiftmetrics.tables.ask import UnreadableTableError
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.prediction_tables import PredictionTable, PredictionTables
from shiftmetrics.tables.predictions import read_predictions
from shiftmetrics.tables.reading import as_sentence

SUM_OF_PERCENTAGES = 100.0


@dataclass(frozen=True, kw_only=True)
class ScoreFiles:
    """The scores of several files, with their rows and classes in one order.

    Attributes
    ----------
    sources : tuple of Source
    scores : tuple of array
        For each file of shape (n_samples, n_classes), or (n_samples,) of margins, or rows in chunks.
    classes : tuple of str or None
    ids : list of str or None
        None where rows go by their place.
    labels : ndarray of str or None
        True classes, empty where not known.
    weights, groups : ndarray or None
    said : tuple of str
        What was taken for what.
    notes : tuple of str
    """

    sources: tuple[Source, ...]
    scores: tuple[Any, ...]
    classes: tuple[str, ...] | None = None
    ids: list[str] | None = None
    labels: npt.NDArray[Any] | None = None
    weights: npt.NDArray[Any] | None = None
    groups: npt.NDArray[Any] | None = None
    said: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def under(self, classes: tuple[str, ...] | None) -> ScoreFiles:
        """Return the same scores with their columns in the order of other files.

        Raises
        ------
        ValueError
            If these have other classes.
        """
        if classes is None or self.classes is None or classes == self.classes:
            return self
        if set(classes) != set(self.classes):
            raise ValueError(
                f"{self.sources[0]} must have the classes of the other files, {first_few(classes, 6)}, got "
                f"{first_few(self.classes, 6)}."
            )
        order = [self.classes.index(name) for name in classes]
        return replace(self, scores=tuple(part[:, order] for part in self.scores), classes=classes)

    def label_places(self) -> npt.NDArray[Any] | None:
        """Return the true classes as columns of the scores.

        Raises
        ------
        ValueError
            If some are not known.
        """
        if self.labels is None or self.classes is None:
            return None
        missing = self.labels == ""
        if missing.any():
            row = int(np.argmax(missing))
            name = row if self.ids is None else self.ids[row]
            raise ValueError(
                f"--label must be given for each row, got none for {int(missing.sum())} of {len(missing)}, such as "
                f"{name}."
            )
        places = {name: place for place, name in enumerate(self.classes)}
        return np.array([places[label] for label in self.labels])


def read_score_files(
    typed: Sequence[tuple[str, str]],
    roles: ColumnOptions,
    *,
    weight: str | None = None,
    groups: str | None = None,
    align: Align = "labels",
    models: Sequence[Any] = (),
    must_know: bool = True,
    answers: bool = False,
) -> ScoreFiles:
    """Read files of scores of the same rows, in the order of the first one.

    Parameters
    ----------
    typed : sequence of two strings
        What was typed, and what messages call it.
    roles : ColumnOptions
        What was typed of the columns.
    weight, groups : str, optional
        A column of a file, or a file of one value a row.
    align : {"labels", "position"}
        "position" takes rows as they stand, and columns where their names differ.
    models : sequence of object, optional
        For each file the model that is asked for its probabilities at the rows of the file.
    must_know : bool, default True
        Whether labels that are found and do not fit are refused, rather than left out.
    answers : bool, default False
        Whether files may hold answers alone.

    Raises
    ------
    ValueError
        If no reading fits, two do, or files hold no scores of classes.
    """
    folders = [text for text, _ in typed if parquet_files(text)]
    if folders and not fit_at_once(folders):
        given = {"--weight": weight, "--groups": groups, "--model": list(models)}
        return _in_chunks(typed, roles, given)
    sources = []
    contents: dict[str, Cells] = {}
    files = []
    for text, argument in typed:
        source = typed_source(text, argument)
        sources.append(source)
        if text not in contents:
            contents[text] = read_cells(source, roles.header)
        files.append(replace(contents[text], argument=argument))
    beside = {"weight": weight, "group": groups}
    if models:
        named = [roles.id_column, roles.label, weight, groups]
        files = [
            _asked(model, cells, [name for name in named if name and name in cells.frame.columns])
            for model, cells in zip(models, files, strict=True)
        ]
    in_files = {name: text for name, text in beside.items() if _is_column(text, files)}
    options, label_source = typed_roles(roles, **in_files)
    if models and options.columns is None:
        # What a model says needs no evidence: its probabilities are those of its classes.
        from shiftmetrics.decisions.predictions.model_outputs import said_classes

        options = replace(options, columns=said_classes(models[0]))
    truth = None if label_source is None else read_cells(label_source, roles.header)
    if label_source is not None:
        sources.append(label_source)
    if align == "position":
        options = replace(options, id=options.id or "none")
        files = _by_place(files)
    _check_arrays(files)
    files, options = scores_of_arrays(files, options)
    found = None if truth is not None or in_files else _plain_arrays(files, options)
    if found is None:
        tables = _tables(files, truth, options, must_know=must_know)
        found = _of_tables(tables, answers=answers)
    others = {name: text for name, text in beside.items() if text and name not in in_files}
    if "weight" not in in_files:
        found = replace(found, weights=None)
    found = _with_vectors(found, files, others)
    return replace(found, sources=tuple(sources))


def _tables(
    files: Sequence[Cells], truth: Cells | None, options: RoleOptions, *, must_know: bool
) -> PredictionTables:
    """Read the files; labels that nobody named and that do not fit are no reason to refuse them.

    Agreement needs no labels; a comparison of models says other things with them.
    """
    options = replace(options, task="scores")
    try:
        return read_predictions(files, labels=truth, options=options, reading=options.reading)
    except UnreadableTableError:
        if must_know or truth is not None or options.label or options.reading:
            raise
        try:
            return read_predictions(files, options=replace(options, without_truth=True))
        except UnreadableTableError:
            pass
        raise


def _asked(model: Any, cells: Cells, named: Sequence[str]) -> Cells:
    """Return the probabilities of a classifier at the rows of a file."""
    if not hasattr(model, "predict_proba"):
        got = type(model).__name__
        raise ArgumentTypeError("--model", "a classifier with predict_proba", got)
    return replace(predicted_cells(model, cells, cells.argument, named), name=cells.name)


def _is_column(text: str | None, files: Sequence[Cells]) -> bool:
    return text is not None and any(text in cells.frame.columns for cells in files)


def _by_place(files: list[Cells]) -> list[Cells]:
    """Return tables of as many columns under the names of the first one, where theirs are others."""
    names = tuple(map(str, files[0].frame.columns))
    return [
        cells if set(cells.frame.columns) == set(names) else under_names(cells, names)
        for cells in files
    ]


def _check_arrays(files: Sequence[Cells]) -> None:
    """Refuse arrays that hold no scores: of more axes, or of labels."""
    for cells in files:
        values = cells.values
        if values is None:
            continue
        if values.ndim > 2:
            raise ValueError(
                f"{cells.argument} must have shape (n_samples, n_classes), got {values.shape}."
            )
        if values.ndim == 1 and values.dtype.kind != "f":
            raise ValueError(
                f"{cells.argument} must hold scores of classes, got {len(values)} labels, such as {values[0]!s}. "
                "Labels have no scores: for predicted classes there is `shiftmetrics diff REFERENCE SHIFTED`."
            )


def _plain_arrays(files: Sequence[Cells], options: RoleOptions) -> ScoreFiles | None:
    """Return arrays with a column for each class as they are, so that large ones stay where they lie."""
    arrays = [cells.values for cells in files]
    is_told = options.classes or options.prediction or options.reading or options.exclude
    if is_told or options.id not in (None, "none") or options.label:
        return None
    if any(values is None or values.dtype.kind not in "fiu" for values in arrays):
        return None
    shapes = {values.shape for values in arrays if values is not None}
    first = arrays[0]
    if len(shapes) > 1 or first is None:
        return None
    if first.ndim == 1:
        # one column is a margin; whole numbers are labels, which the measure refuses
        return ScoreFiles(sources=(), scores=tuple(arrays))
    if options.columns != tuple(map(str, files[0].frame.columns)):
        return None
    n_classes = first.shape[1]
    names = " and ".join(dict.fromkeys(map(str, files)))
    said = f"Read {names}: rows by their place, {n_classes} columns of scores, classes 0 to {n_classes - 1}."
    return ScoreFiles(
        sources=(),
        scores=tuple(arrays),
        classes=tuple(map(str, range(n_classes))),
        said=(said,),
    )


def _of_tables(tables: PredictionTables, *, answers: bool = False) -> ScoreFiles:
    """Return the scores of what was read, in the classes of the first file; where some hold answers alone, in all."""
    alone = [file for file in tables.files if file.form == "answers"] if answers else []
    classes = tables.classes if alone else tables.files[0].classes
    scores = [
        _ones(file, classes) if file in alone else _scores(file, classes) for file in tables.files
    ]
    if all(len(part.shape) == 2 and _are_percentages(part) for part in scores):
        scores = [part / SUM_OF_PERCENTAGES for part in scores]
    _refuse_rows_of_data(tables, scores[0])
    labels = None
    if tables.truth is not None:
        labels = np.where(tables.known, tables.truth, "").astype(str)
    has_ids = bool(tables.reading.files[0].id)
    reading = tables.reading
    warnings = [f"Warning: {as_sentence(text)}" for text in reading.warnings]
    return ScoreFiles(
        sources=(),
        scores=tuple(scores),
        classes=classes,
        ids=list(map(str, tables.ids)) if has_ids else None,
        labels=labels,
        weights=tables.weight,
        groups=_whole(tables.group),
        said=(*reading.sentences(), *warnings),
    )


def _ones(file: PredictionTable, classes: tuple[str, ...]) -> FloatArray:
    """Return 1 for the answer of each row and 0 for the other classes: right for whatever goes by classes alone."""
    return np.asarray(file.answers()[:, None] == np.array(classes, dtype=object), dtype=np.float64)


def _scores(file: PredictionTable, classes: tuple[str, ...]) -> FloatArray:
    """Return the scores of one file, its columns in the order of the classes."""
    name = file.name or file.argument
    if file.scores is None or file.form == "answers":
        raise ValueError(
            f"{name} must hold scores of classes, got answers alone. For predicted classes without scores there is "
            "`shiftmetrics diff REFERENCE SHIFTED`, and of several models `shiftmetrics compare` by vote or "
            "accuracy, without --reference."
        )
    if file.form == "outputs":
        raise ValueError(
            f"{name} must hold scores of classes, got one column of numbers, {file.columns[0]!r}. For outputs of a "
            "regression there is `shiftmetrics diff REFERENCE SHIFTED`."
        )
    scores = file.scores[file.rows]
    if file.form == "margin":
        return scores if file.classes == classes else -scores
    if file.form in ("probability", "percentage"):
        scores = np.column_stack([1.0 - scores, scores])
    if file.classes == classes:
        return scores
    return scores[:, [file.classes.index(name) for name in classes]]


def _refuse_rows_of_data(tables: PredictionTables, scores: FloatArray) -> None:
    """Refuse whole numbers of no common sum: the rows of a data set, not what a model says of them."""
    if scores.ndim == 1 or (scores != np.round(scores)).any() or (scores < 0.0).any():
        return
    if np.ptp(scores.sum(axis=1)) > 0.0:
        file = tables.files[0]
        raise ValueError(
            f"{file.name or file.argument} must hold scores of classes, got columns that look like the rows of a "
            "data set: whole numbers in every column. Write the model's probabilities, or give the model: agreement "
            "SHIFTED REFERENCE --model FILE."
        )


def _whole(words: Any) -> Any:
    """Return groups that are whole numbers as numbers, so that they come in their order."""
    if words is None or not all(isinstance(word, str) and word.isdigit() for word in words):
        return words
    numbers = np.array([int(word) for word in words])
    return numbers if all(map(str.__eq__, map(str, numbers), words)) else words


def _are_percentages(scores: FloatArray) -> bool:
    """Return True for columns that add up to 100 in every row."""
    sums = scores.sum(axis=1)
    return bool((scores >= 0.0).all() and np.allclose(sums, SUM_OF_PERCENTAGES, atol=0.5))


def _with_vectors(
    found: ScoreFiles, files: Sequence[Cells], others: Mapping[str, str]
) -> ScoreFiles:
    """Return the scores with weights and groups that stand in files of their own."""
    n_rows = len(found.scores[0])
    for name, text in others.items():
        option = {"weight": "--weight", "group": "--groups"}[name]
        if not names_file(text):
            names = " or ".join(dict.fromkeys(cells.argument for cells in files))
            known = first_few(list(files[0].frame.columns), 8)
            raise ValueError(
                f"{option} must name a column of {names}, or a file, got {text!r}; {files[0]} has {known}."
            )
        values = values_of_rows(text, option, found.ids, n_rows)
        found = (
            replace(found, weights=values) if name == "weight" else replace(found, groups=values)
        )
    return found


def _in_chunks(
    typed: Sequence[tuple[str, str]], roles: ColumnOptions, given: Mapping[str, Any]
) -> ScoreFiles:
    """Return large folders of parquet files in chunks: their rows go by their place."""
    columns = {f"--{name.removesuffix('_column')}": value for name, value in vars(roles).items()}
    refused = {**columns, **given}
    wanted = refused.pop("--columns")
    for option, value in refused.items():
        if value:
            raise ValueError(
                f"{option} must be left out for several parquet files, whose rows pair by their place."
            )
    found = read_chunked_scores(typed, wanted)
    return ScoreFiles(
        sources=tuple(file.source for file in found.files),
        scores=tuple(file.values for file in found.files),
        classes=found.classes,
        said=found.said,
    )
