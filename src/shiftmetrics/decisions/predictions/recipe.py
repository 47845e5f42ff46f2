"""How each part of two large tables is read: as witnesses were, a few rows that show all that the whole shows.

What the columns of tables are taken for depends on all of their cells: one answer that stands in a single row is a
class, and one row of another sum makes probabilities scores. A part shows less. So few rows are read as any table is,
among them one for each distinct word, and those of the least and largest scores; what was decided about them is
kept here and applied to every part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics.decisions.predictions.class_pairs import OTHER_ANSWERS, UNLABELLED, joint_codes_of
from shiftmetrics.decisions.predictions.pairs import ClassPair, MatchedRows
from shiftmetrics.decisions.predictions.predictions import (
    ServedPredictions,
    class_scores,
    second_class,
)
from shiftmetrics.decisions.predictions.witnesses import (
    SINGLE,
    ScoreLimits,
    score_columns,
    witness_limits_of,
)
from shiftmetrics.tables.evidence import Words, cell_texts
from shiftmetrics.tables.reading import FileReading

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, kw_only=True)
class SideRecipe:
    """How the predictions of one model are read.

    Attributes
    ----------
    reading : FileReading
        What the columns are.
    served : ServedPredictions
        Of the witnesses.
    answers : mapping of str to int
        The answers as they are written, as positions among the classes of this side.
    threshold : float or None
    second : str
        The class that a threshold is for.
    limits : ScoreLimits
        Of the scores of the witnesses.
    """

    reading: FileReading
    served: ServedPredictions
    answers: Mapping[str, int]
    threshold: float | None
    second: str
    limits: ScoreLimits

    def takes_answers(self) -> bool:
        """Return True if a column of answers counts, and no scores."""
        return not self.served.has_columns or self.served.form == OTHER_ANSWERS

    def strangers(self, part: pd.DataFrame) -> BoolArray:
        """Return which rows of a part have scores that contradict those of the witnesses."""
        if self.takes_answers():
            return np.zeros(len(part), dtype=bool)
        return self.limits.strangers(self._scores(part))

    def _scores(self, part: pd.DataFrame) -> FloatArray:
        """Return the numbers of a part, which must be finite."""
        columns = score_columns(self.reading)
        scores = part[list(columns)].to_numpy(dtype=np.float64, na_value=np.nan)
        _check_finite(scores, columns, self.reading.name)
        return np.asarray(scores)

    def read(self, part: pd.DataFrame) -> ServedPredictions:
        """Return the answers of one part.

        Raises
        ------
        ValueError
            If a score is missing or infinite, or an answer is none that a witness gave.
        """
        known = self.served
        if self.takes_answers():
            return self._of_answers(part)
        scores = self._scores(part)
        if self.reading.form in SINGLE:
            values = scores[:, 0]
            if self.reading.form == "percentage":
                values = values / 100.0
            return second_class(
                values, known.argument, known.names, self.threshold, form=self.reading.form
            )
        return class_scores(
            scores, known.argument, known.names, self.threshold, self.second, like=known
        )

    def _of_answers(self, part: pd.DataFrame) -> ServedPredictions:
        """Return answers that stand in a column."""
        words = cell_texts(part[self.reading.answer])
        codes = codes_of_words(words, self.answers, self.reading.name, str(self.reading.answer))
        if (codes < 0).any():
            raise ArgumentValueError(
                self.reading.name,
                f"a table with an answer in each row of {self.reading.answer!r}",
                f"{int((codes < 0).sum())} rows without one in one partition",
                "Drop these rows, or predict them again.",
            )
        confidence = None
        if self.served.confidence is not None and self.reading.confidence is not None:
            confidence = part[self.reading.confidence].to_numpy(dtype=np.float64)
        return replace(self.served, codes=codes, confidence=confidence, n_tied=0, scores=None)


@dataclass(frozen=True, eq=False, kw_only=True)
class PairRecipe:
    """How two models' predictions of the same rows are read.

    Attributes
    ----------
    pair : ClassPair
        The witnesses, as they were read.
    sides : tuple of two SideRecipe
    truth : tuple of int and str, or None
        The table that holds the labels, and its column.
    labels : mapping of str to int
        The labels of that column as they are written, as positions among the classes.
    labelled : mapping of id to int, or None
        Labels of a table of their own.
    group : tuple of int and str, or None
        The table that holds the groups, and its column.
    """

    pair: ClassPair
    sides: tuple[SideRecipe, SideRecipe]
    truth: tuple[int, str] | None = None
    labels: Mapping[str, int]
    labelled: Mapping[Any, int] | None = None
    group: tuple[int, str] | None = None

    def read(
        self,
        parts: tuple[pd.DataFrame, pd.DataFrame],
        keys: npt.NDArray[Any],
        ids: npt.NDArray[Any],
        rows: tuple[IntArray, IntArray],
    ) -> ClassPair:
        """Return the pair of one part.

        Parameters
        ----------
        parts : tuple of two DataFrames
            Rows of both tables.
        keys, ids : ndarray of shape (n_matched,)
            What names the matched rows: as it is compared, and as it is shown.
        rows : tuple of two ndarrays of int
            Where the matched rows stand in both parts.
        """
        witnesses = self.pair
        classes = witnesses.classes.tolist()
        old, new = (side.read(part) for side, part in zip(self.sides, parts, strict=True))
        labels = self._labels(parts, keys, rows)
        beside = []
        for side, part in zip(self.sides, parts, strict=True):
            names = {*side.reading.left_out, side.reading.group, side.reading.weight}
            beside.append({name: part[name] for name in part.columns if name in names})
        matched = MatchedRows(
            ids=ids,
            old_rows=rows[0],
            new_rows=rows[1],
            known=labels != UNLABELLED,
            group=self._groups(parts, rows),
            group_name=witnesses.rows.group_name,
            plan=witnesses.rows.plan,
            reading=witnesses.rows.reading,
            warnings=witnesses.rows.warnings,
            beside=tuple(beside),
        )
        return ClassPair(
            rows=matched,
            classes=witnesses.classes,
            old=old,
            new=new,
            # Each side numbers its own classes; compared are the positions among those of both.
            old_codes=joint_codes_of(old, classes)[rows[0]],
            new_codes=joint_codes_of(new, classes)[rows[1]],
            labels=labels,
            threshold=witnesses.threshold,
        )

    def _labels(
        self,
        parts: tuple[pd.DataFrame, pd.DataFrame],
        keys: npt.NDArray[Any],
        rows: tuple[IntArray, IntArray],
    ) -> IntArray:
        """Return the labels as positions among the classes."""
        if self.labelled is not None:
            found = [self.labelled.get(key, UNLABELLED) for key in keys.tolist()]
            return np.array(found, dtype=np.int64)
        if self.truth is None:
            return np.full(len(keys), UNLABELLED, dtype=np.int64)
        place, name = self.truth
        side = self.sides[place].reading.name
        words = cell_texts(parts[place][name])[rows[place]]
        other = parts[1 - place]
        if name in other.columns:
            _check_equal(words, cell_texts(other[name])[rows[1 - place]], name)
        return codes_of_words(words, self.labels, side, name)

    def _groups(
        self, parts: tuple[pd.DataFrame, pd.DataFrame], rows: tuple[IntArray, IntArray]
    ) -> npt.NDArray[Any] | None:
        """Return the group of each matched row."""
        if self.group is None:
            return None
        place, name = self.group
        words = cell_texts(parts[place][name])[rows[place]]
        missing = _gaps(words)
        if missing.any():
            got = f"{int(missing.sum())} rows without one in one partition"
            raise ArgumentValueError("groups", "given in each row", got)
        return words.astype(str)


def recipe_of(
    pair: ClassPair,
    tables: tuple[pd.DataFrame, pd.DataFrame],
    keys: npt.NDArray[Any],
    *,
    has_own_labels: bool,
) -> PairRecipe:
    """Return how parts are read as the witnesses were.

    Parameters
    ----------
    pair : ClassPair
        The witnesses, read as tables in memory are.
    tables : tuple of two DataFrames
        Their rows.
    keys : ndarray of shape (n_witnesses,)
        What names the rows of the old one.
    has_own_labels : bool
        Whether labels stand in a table of their own.
    """
    readings = pair.rows.reading.files[:2]
    # Labels of the pair stand in the order of its matched rows, answers in that of each table.
    matched = []
    for table, rows in zip(tables, (pair.rows.old_rows, pair.rows.new_rows), strict=True):
        matched.append(table.iloc[np.arange(len(table))[rows]])
    sides = []
    for reading, served, table in zip(readings, (pair.old, pair.new), tables, strict=True):
        answers: dict[str, int] = {}
        columns = list(score_columns(reading))
        scores = table[columns].to_numpy(dtype=np.float64, na_value=np.nan)
        # In the single forms the answer is the column of scores itself, and holds no words.
        if reading.answer is not None and reading.form not in SINGLE:
            answers = _learned(cell_texts(table[reading.answer]), served.codes)
        sides.append(
            SideRecipe(
                reading=reading,
                served=replace(served, scores=np.empty(0) if served.has_probabilities else None),
                answers=answers,
                threshold=pair.threshold,
                second=pair.old.names[-1],
                limits=witness_limits_of(reading, served, scores),
            )
        )
    truth = None
    labels: dict[str, int] = {}
    for place, reading in enumerate(readings):
        if reading.truth is not None and truth is None and not has_own_labels:
            truth = place, reading.truth
            labels = _learned(cell_texts(matched[place][reading.truth]), pair.labels)
    labelled = None
    if has_own_labels:
        own = keys[np.arange(len(keys))[pair.rows.old_rows]][pair.rows.known].tolist()
        labelled = dict(zip(own, pair.labels[pair.rows.known].tolist(), strict=True))
    group = None
    for place, reading in enumerate(readings):
        if reading.group is not None and group is None and pair.rows.group is not None:
            group = place, reading.group
    # The recipe goes to every worker, so that it takes no rows with it.
    few = np.empty(0, dtype=np.int64)
    return PairRecipe(
        pair=pair.taken(few),
        sides=(sides[0], sides[1]),
        truth=truth,
        labels=labels,
        labelled=labelled,
        group=group,
    )


def codes_of_words(words: Words, codes: Mapping[str, int], table: str, column: str) -> IntArray:
    """Return words as the positions that witnesses gave them, -1 in gaps.

    Raises
    ------
    ValueError
        If a word has no witness: the table gave other rows before.
    """
    import pandas as pd

    places, distinct = pd.factorize(words)
    strange = [word for word in distinct if word not in codes]
    if strange:
        expected = f"a table that holds the same rows each time that it is read, in {column!r} too"
        raise ArgumentValueError(table, expected, f"{strange[0]!r}, which was not there before")
    lookup = np.array([*(codes[word] for word in distinct), UNLABELLED], dtype=np.int64)
    return lookup[places]


def _learned(words: Words, codes: IntArray) -> dict[str, int]:
    """Return the code of each word."""
    there = ~_gaps(words) & (codes >= 0)
    return dict(zip(words[there].tolist(), codes[there].tolist(), strict=True))


def _gaps(words: Words) -> BoolArray:
    import pandas as pd

    return np.asarray(pd.isna(words))


def _check_equal(own: Words, other: Words, name: str) -> None:
    """Refuse labels that differ between both tables; a gap in one is no difference."""
    differs = (own != other) & ~_gaps(own) & ~_gaps(other)
    if differs.any():
        row = int(np.argmax(differs))
        raise ArgumentValueError(
            "labels",
            "equal in old and new",
            f"{own[row]!r} and {other[row]!r} for one row in the column {name!r}",
        )


def _check_finite(scores: FloatArray, columns: Sequence[str], name: str) -> None:
    """Refuse scores that are missing or infinite."""
    finite = np.isfinite(scores)
    if finite.all():
        return
    row, column = np.argwhere(~finite)[0]
    raise ArgumentValueError(
        name,
        "a table with a finite number in each row",
        f"{scores[row, column]:g} in the column {columns[column]!r}",
        "Drop these rows, or predict them again.",
    )
