"""What the columns of a file of predictions are: ids, labels, groups, answers, and scores.

They are found by name and by what they hold, and what was found is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, is_labelled, is_table, to_numpy
from shiftmetrics._core.class_names import class_key, column_classes
from shiftmetrics._core.exceptions import ArgumentValueError, Setting, Wording
from shiftmetrics._core.validation import first_few

ID_NAMES = {
    "id", "ids", "idx", "index", "row", "row_id", "rowid", "key", "uuid", "guid", "name", "filename",
    "file", "image", "path",
}  # fmt: skip
LABEL_NAMES = {
    "label", "labels", "target", "targets", "y", "y_true", "truth", "ground_truth", "gold", "actual", "class",
    "category",
}  # fmt: skip
ANSWER_NAMES = {
    "prediction", "predictions", "predicted", "pred", "preds", "y_pred", "answer", "output", "decision",
}  # fmt: skip
CONFIDENCE_NAMES = {"confidence", "conf", "max_probability", "top_probability"}


@dataclass(kw_only=True)
class FileColumns:
    """One file of predictions, taken apart.

    Attributes
    ----------
    argument : str
        What messages call it.
    scores : DataFrame or ndarray
        What is left: one column of answers or outputs, or a column for each class.
    ids, labels, group : ndarray or None
        One entry for each row.
    confidence : ndarray or None
        How sure each answer was, where it stands beside it.
    found : list of str
        What was taken for what, for people.
    """

    argument: str
    scores: Any
    ids: npt.NDArray[Any] | None = None
    labels: npt.NDArray[Any] | None = None
    group: npt.NDArray[Any] | None = None
    confidence: FloatArray | None = None
    found: list[str] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.scores)


def take_apart(
    old: Any, new: Any, *, ids: Any, labels: Any, groups: Any
) -> tuple[FileColumns, FileColumns]:
    """Split both files into ids, labels, groups and predictions; arrays are predictions as they stand.

    Parameters
    ----------
    old, new : DataFrame, Series, array or list
        Predictions, perhaps with other columns beside them.
    ids, labels, groups : str or other
        Names of columns; anything else is not for this function.

    Raises
    ------
    TypeError, ValueError
        If a named column is in neither file, ids are in one file alone, or a column cannot be told.
    """
    sides = [_side(old, "old"), _side(new, "new")]
    tables = [side.scores for side in sides if is_table(side.scores)]
    # What the caller names is not searched.
    id_name = _named(ids, "ids", tables)
    label_name = _named(labels, "labels", tables)
    group_name = _named(groups, "groups", tables)
    if id_name is None and ids is None and len(tables) == 2:
        id_name = _id_column(*tables)
    if label_name is None:
        label_name = _label_column(tables, {id_name, group_name})
    taken = {id_name, label_name, group_name}
    for side in sides:
        if not is_table(side.scores):
            continue
        names = list(side.scores.columns)
        if id_name in names:
            side.ids = _values(side, id_name, "the id")
        elif id_name is not None and len(tables) == 2:
            remedy = f"Known: {first_few(names, 6)}."
            raise ArgumentValueError(side.argument, f"with the column {id_name!r}", "none", remedy)
        if label_name in names:
            side.labels = _values(side, label_name, "the label")
        if group_name in names:
            side.group = _values(side, group_name, "the group")
        # What is left must be predictions.
        _find_scores(side, [name for name in names if name not in taken])
    return sides[0], sides[1]


def _side(value: Any, argument: str) -> FileColumns:
    """Wrap one file: tables stay tables, everything else becomes a NumPy array; an index that is set gives ids."""
    scores = value
    if not is_table(value) and hasattr(value, "to_numpy"):
        scores = value.to_numpy()
    elif not is_table(value):
        scores = np.asarray(to_numpy(value))
    side = FileColumns(argument=argument, scores=scores)
    # An index that only counts the rows says nothing.
    if is_labelled(value) and type(value.index).__name__ != "RangeIndex":
        side.ids = np.asarray(value.index)
        side.found.append("the index as the id")
    if np.ndim(side.scores) not in (1, 2):
        expected = "predictions of shape (n_samples,) or (n_samples, n_classes)"
        raise ArgumentValueError(argument, expected, f"shape {np.shape(side.scores)}")
    if len(side.scores) == 0:
        raise ArgumentValueError(argument, "of at least one row", "none")
    if is_table(side.scores) and not len(side.scores.columns):
        raise ArgumentValueError(argument, "with at least one column", "none")
    return side


def _plain(name: Any) -> str:
    """Return a name as it is compared: in small letters, with underscores."""
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")


def looks_like_id(name: Any) -> bool:
    """Return True if a column has the name of an id, or none: pandas writes its index so."""
    plain = _plain(name)
    if plain in ID_NAMES or plain.endswith("_id"):
        return True
    return plain.startswith("unnamed:") or not plain


def looks_like_label(name: Any) -> bool:
    """Return True if a column has the name of a label."""
    plain = _plain(name)
    return plain in LABEL_NAMES or plain.endswith("_label")


def names_rows(column: Any) -> bool:
    """Return True for words that differ in all rows; numbers that are written oddly are no words."""
    if column.dtype.kind in "biufM" or len(column) < 3 or not column.is_unique:
        return False
    return bool(column.astype(str).str.contains(r"[^\W\d_]").all())


def is_fractional(column: Any) -> bool:
    """Return True for numbers that are not all whole: no ids, and rarely labels; a class may have any name."""
    if column.dtype.kind != "f":
        return False
    known = column.dropna()
    return bool((known % 1 != 0).any())


def _named(value: Any, argument: str, tables: Sequence[Any]) -> str | None:
    """Return the column that an argument names, which must be in one of the tables."""
    if not isinstance(value, str):
        return None
    known = [str(name) for table in tables for name in table.columns]
    if value not in known:
        listed = first_few(list(dict.fromkeys(known)), 8) or "no named columns"
        raise ArgumentValueError(
            argument, "a column of the files", value=value, remedy=f"Known: {listed}."
        )
    return value


def _id_column(old: Any, new: Any) -> str | None:
    """Return the first column with the name of an id that both tables have, and whose values are distinct."""
    if len(old.columns) == 1:
        return None
    common = [name for name in old.columns if name in new.columns]
    for name in common:
        # Repeated in one file alone, it is an id whose repetition will be refused.
        is_id = looks_like_id(name) and not is_fractional(old[name])
        if is_id and (old[name].is_unique or new[name].is_unique):
            return str(name)
    # Words that differ in all rows of both files name them, whatever they are called.
    for name in common:
        if all(names_rows(table[name]) for table in (old, new)):
            return str(name)
    return None


def _label_column(tables: Sequence[Any], taken: set[str | None]) -> str | None:
    """Return the column with the name of a label, where another column is left for the predictions."""
    for table in tables:
        left = [name for name in table.columns if name not in taken]
        named = [name for name in left if looks_like_label(name)]
        for name in named if len(left) > 1 else []:
            # Fractions are true values beside one column of outputs, and the score of a class among several.
            if len(left) == 2 or not is_fractional(table[name]):
                return str(name)
    return None


def _values(side: FileColumns, name: Any, role: str) -> npt.NDArray[Any]:
    """Take a column out of a table, and say what for."""
    side.found.append(f"{name} as {role}")
    return np.asarray(side.scores[name].to_numpy())


def _find_scores(side: FileColumns, names: list[Any]) -> None:
    """Leave what the model predicts: one column, or those of the scores.

    An answer that stands beside scores is what was served. Where it is the class of the largest
    score in each row, the scores say all of it; else the scores are left out.
    """
    table = side.scores
    answers = [name for name in names if _plain(name) in ANSWER_NAMES]
    if len(answers) == 1 and len(names) > 1:
        confidences = [name for name in names if _plain(name) in CONFIDENCE_NAMES]
        names = [name for name in names if name not in {*answers, *confidences}]
        served = _values(side, answers[0], "the answer")
        if len(names) > 1:
            side.scores = table[names]
            _check_scores(side)
            if _are_largest(side.scores, served):
                return
            side.found[-1] += ", which is not always the class of the largest score"
        elif names and _find_probability(side, table[names[0]], served):
            return
        side.scores = served
        if len(confidences) == 1:
            side.found.append(f"{confidences[0]} as its confidence")
            side.confidence = table[confidences[0]].to_numpy(dtype=np.float64)
    elif len(names) == 1:
        side.scores = np.asarray(table[names[0]].to_numpy())
        side.found.append(f"{names[0]} as the prediction")
    else:
        side.scores = table[names]
        _check_scores(side)


def _find_probability(side: FileColumns, column: Any, answers: npt.NDArray[Any]) -> bool:
    """Return True where the one number beside an answer of 0 or 1 is the probability that it follows, and take it.

    Answers that were cut elsewhere than at one half are what was served: the number is left out, which is said.
    """
    if column.dtype.kind not in "biuf":
        _refuse(side, column.name)
    second = [class_key(answer) == "1" for answer in answers.tolist()]
    if column.between(0.0, 1.0).all() and np.array_equal(column > 0.5, second):
        side.scores = column.to_numpy(dtype=np.float64)
        side.found.append(f"{column.name} as the probability that it follows")
        return True
    side.found.append(f"{column.name} as no part of it: the answer does not follow it at one half")
    return False


def _are_largest(scores: Any, answers: npt.NDArray[Any]) -> bool:
    """Return True if each answer is the name of the column of the largest score."""
    classes = np.array(column_classes(scores, {class_key(answer) for answer in answers.tolist()}))
    largest = classes[scores.to_numpy().argmax(axis=1)]
    return all(
        class_key(answer) == name for answer, name in zip(answers.tolist(), largest, strict=True)
    )


def _check_scores(side: FileColumns) -> None:
    """Refuse columns among scores that look like something else: words, or integers among fractions."""
    kinds = {name: side.scores[name].dtype.kind for name in side.scores.columns}
    if not kinds:
        remedy = "Give the file that holds predictions."
        raise ArgumentValueError(side.argument, "with a column of predictions", "none", remedy)
    for name, kind in kinds.items():
        if kind not in "biuf":
            _refuse(side, name)
    # One column of integers among fractions is a label or a number of the row.
    whole = [name for name, kind in kinds.items() if kind in "iu"]
    if len(kinds) == 2:
        # Beside one column of probabilities, 0 and 1 are no scores either; a constant may be that of a margin.
        whole = [name for name in kinds if not is_fractional(side.scores[name])]
        whole = [name for name in whole if side.scores[name].nunique() > 1]
    if len(whole) == 1:
        _refuse(side, whole[0])
    for name in kinds:
        if looks_like_id(name) and not is_fractional(side.scores[name]):
            _refuse(side, name)


def _refuse(side: FileColumns, name: Any) -> None:
    """Raise a ValueError that names a column of which nobody knows what it is, and a value of it."""
    remedy = Wording(
        "Say what it is with ",
        Setting("ids"),
        ", ",
        Setting("labels"),
        " or ",
        Setting("groups"),
        ", or leave it out.",
    )
    expected = "ids, labels, groups and predictions only"
    got = f"the column {str(name)!r}, which is none of them"
    column = side.scores[name] if is_table(side.scores) and name in side.scores.columns else None
    if column is not None and column.dtype.kind not in "biuf":
        got = f"the column {str(name)!r} that holds {str(column.iloc[0])[:60]!r}"
    raise ArgumentValueError(side.argument, expected, got, remedy)
