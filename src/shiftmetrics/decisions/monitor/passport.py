"""The passport: a small frozen profile of a reference, without its rows, that later batches are held against."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.calibration import Calibration
from shiftmetrics.decisions.monitor.alarm import Alarm, part_of_start
from shiftmetrics.decisions.monitor.column_profiles import ColumnProfile
from shiftmetrics.decisions.monitor.model_digest import model_digest
from shiftmetrics.decisions.monitor.order import DateSpan, spans_of, united
from shiftmetrics.decisions.monitor.records import FileRecord, canonical
from shiftmetrics.decisions.monitor.repeats import add_digests, rows_digest
from shiftmetrics.decisions.monitor.row_tests import (
    Count,
    RowTest,
    readings_of,
    unsure_of,
)
from shiftmetrics.decisions.monitor.season_hints import SeasonHint
from shiftmetrics.decisions.monitor.seasons import Seasons
from shiftmetrics.decisions.predictions.model_outputs import ModelOutputs, model_outputs
from shiftmetrics.decisions.right_or_wrong import RightOrWrong, right_or_wrong
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.column_kinds import ColumnKind
from shiftmetrics.tables.encoder import TableEncoder
from shiftmetrics.tables.encoder.date_ranges import DateRange, date_ranges, in_wrong_order
from shiftmetrics.tables.encoder.model_rows import model_rows
from shiftmetrics.tables.encoder.roles import as_cells
from shiftmetrics.tables.kinds import decide_kinds
from shiftmetrics.tables.label_cells import as_strings

if TYPE_CHECKING:
    import pandas as pd

_ENOUGH_LABELS = 5
"""Labels of which none is a class that is predicted: then they are of other words."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Passport(FileRecord):
    """A frozen profile of a labelled or unlabelled reference, of at most 100 kB.

    It holds the encoder of the columns, up to 100 centres of one random half of the reference, how far the other
    half lies from them, how sure the model is of that half, and how often it is wrong on all of it. No row is kept.

    Attributes
    ----------
    encoder : TableEncoder
        Turns a batch into features.
    centres : array of shape (n_centres, n_features)
        k-means centres of one half.
    tests : tuple of RowTest
        What is counted of each batch, with the counts of the other half. With seasons the thresholds are theirs, and
        here is none (NaN).
    errors : Count or None
        Errors of the model on the labelled reference.
    calibration : Calibration or None
        Makes the model's confidence comparable.
    label, prediction : str or None
        Columns of labels and of predictions, where a table holds them.
    alpha : float
        Probability of ever raising an alarm without a change, over all tests and all batches.
    rows_armed : bool
        Whether the samples are watched: False where the reference itself, replayed in its order, raises an alarm.
    note : str
        Why the samples are not watched.
    n_reference : int
        Size of the reference.
    dates : tuple of DateRange
        When its samples were taken, by each of its columns of dates.
    kinds : mapping of str to ColumnKind
        What its columns are: a batch is read by them.
    model : str
        A hash of the model, by which another one is found out; empty where it cannot be hashed.
    columns : tuple of ColumnProfile
        How often the values of each column fall into a few cells, by which an alarm names the columns that moved.
    seasons : Seasons or None
        The seasons that are told apart: then ``centres`` has none, and each season its own.
    hints : tuple of SeasonHint
        Seasons by which the reference differs and that are not told apart: batches of single ones are warned of.
    """

    argument: ClassVar[str] = "passport"
    readable: ClassVar[tuple[int, ...]] = (2, 3)
    version: int = 2
    """3 where it has seasons: releases that do not know them would count nothing."""

    encoder: TableEncoder
    centres: FloatArray
    tests: tuple[RowTest, ...]
    errors: Count | None
    calibration: Calibration | None
    label: str | None
    prediction: str | None
    alpha: float
    rows_armed: bool
    note: str
    n_reference: int
    dates: tuple[DateRange, ...] = ()
    kinds: Mapping[str, ColumnKind] = field(default_factory=dict)
    model: str = ""
    columns: tuple[ColumnProfile, ...] = ()
    seasons: Seasons | None = None
    hints: tuple[SeasonHint, ...] = ()

    def count(self, batch: Any, *, model: Any = None) -> BatchCounts:
        """Count one batch, or one part of it: the counts of the parts add up.

        Parameters
        ----------
        batch : DataFrame or array of shape (n_samples, n_columns)
            New samples.
        model : object, optional
            The classifier that the passport was made with. Needed where it counts confidences, or errors of
            predictions that are no column of the batch.

        Raises
        ------
        TypeError, ValueError
            If a column is missing or unreadable, or the model refuses the batch.
        """
        # The encoder was fitted on the reference: what it cannot read of a batch is an error, and no change.
        cells = as_cells(batch, "batch")
        typed = decide_kinds([cells], known=self.kinds)
        features = self.encoder.encoded(self.encoder.checked(cells, typed))
        given = model_rows(batch, typed, 0)
        outputs = self._outputs(given, model)
        frame = typed.frames[0]
        ranges = self._ranges(cells, frame)
        spans = spans_of(frame, [each.column for each in self.dates])
        above = [*self._other_model(model), *in_wrong_order(self.dates, ranges, "the batch")]
        # Without labels, which may have come meanwhile.
        names = [name for name in frame if name in self.kinds and name != self.label]
        digest = rows_digest(frame[names])
        if self.rows_armed:
            above += [text for hint in self.hints for text in hint.warnings(frame)]
        of_seasons = np.zeros((0, 0, 2), dtype=np.int64)
        right = labelled(outputs, given, self.label)
        if self.seasons is None:
            readings = readings_of(features, self.centres, self.calibration, outputs)
            rows = tuple(test.count(readings) for test in self.tests)
            errors = errors_of(right)
        else:
            above += self.seasons.warnings(frame)
            places = self.seasons.places(frame)
            of_seasons = self._counts_of_seasons(places, features, outputs, right)
            *rows_of, errors = (Count(*each) for each in of_seasons.sum(axis=0).tolist())
            rows = tuple(rows_of)
            # Cells of columns are counted of the samples that have a season, as in the profiles.
            frame = frame[places >= 0]
        # A batch may lack a column that is the same in all of the reference: nothing else needs it.
        cells_of_columns = [
            profile.count(frame[profile.column]) if profile.column in frame else 0 * profile.counts
            for profile in self.columns
        ]
        counted = np.concatenate([np.zeros(0, dtype=np.int64), *cells_of_columns])
        return BatchCounts(rows, errors, tuple(above), digest, counted, of_seasons, spans)

    def _counts_of_seasons(
        self,
        places: IntArray,
        features: FloatArray,
        outputs: ModelOutputs | None,
        right: RightOrWrong | None,
    ) -> IntArray:
        """Return hits and samples of each test, and at last of the errors, for each season."""
        assert self.seasons is not None
        readings = unsure_of(self.calibration, outputs)
        readings["far"] = self.seasons.distances(places, features)
        errors = np.zeros((len(self.seasons.profiles), 1, 2), dtype=np.int64)
        if right is not None:
            for place in range(len(errors)):
                n_right, n = right.counts(places == place)
                errors[place, 0] = n - n_right, n
        return np.concatenate([self.seasons.count(places, readings), errors], axis=1)

    def _other_model(self, model: Any) -> tuple[str, ...]:
        """Warn of a model that is not the one of the passport."""
        if model is None or not self.model or model_digest(model) in (self.model, ""):
            return ()
        return (
            "The model is not the one that the passport was made with, or was fitted again: its confidence "
            "and errors are held against those of another.",
        )

    def _ranges(self, cells: Cells, frame: pd.DataFrame) -> tuple[DateRange, ...]:
        """Return when the samples of a batch were taken."""
        names = [each.column for each in self.dates if each.column in cells.frame]
        return date_ranges(frame, [name for name in names if frame[name].dtype.kind == "M"])

    def _outputs(self, frame: pd.DataFrame, model: Any) -> ModelOutputs | None:
        """Return what the model says of a batch, where the passport needs that."""
        has_labels = self.errors is not None and self.label in frame
        if self.calibration is None and not has_labels:
            return None
        if self.prediction is not None:
            model = self.prediction
        if model is None:
            remedy = "Its confidence or its errors are watched."
            raise ArgumentValueError("model", "the one of the passport", "None", remedy)
        return model_outputs(model, frame, not_features=[self.label])

    def alarms(self) -> tuple[Alarm | None, tuple[Alarm, ...]]:
        """Return the alarms at their start: of labelled errors, and of each test of the samples.

        Half of alpha goes to the errors, half to the samples, where both are watched; of each half, one half is kept
        for alarms that are started again.
        """
        # Bonferroni: the parts of alpha sum to all of it, so that any alarm at all has that probability.
        rows = self.tests if self.rows_armed else ()
        part = self.alpha * part_of_start(0)
        if rows and self.errors is not None:
            part = 0.5 * part
        errors = None
        if self.errors is not None:
            errors = self._alarm("errors", self.errors, -1, part)
        watched = tuple(
            self._alarm(test.name, test.reference, place, part / len(rows))
            for place, test in enumerate(rows)
        )
        return errors, watched

    def _alarm(self, name: str, count: Count, place: int, alpha: float) -> Alarm:
        """Start the alarm of a test, or at -1 of the errors."""
        if self.seasons is None:
            return Alarm.against(name, count.hits, count.n, alpha=alpha)
        profiles = self.seasons.profiles
        if place < 0:
            nothing = Count(0, 0)
            errors = [profile.errors or nothing for profile in profiles]
            pairs = [(each.hits, each.n) for each in errors]
            return Alarm.against_seasons(name, pairs, alpha=alpha)
        counts = [profile.tests[place].reference for profile in profiles]
        return Alarm.against_readings(name, [(each.hits, each.n) for each in counts], alpha=alpha)

    @cached_property
    def digest(self) -> str:
        """A hash of the content, which states of a monitor carry."""
        content = json.loads(self.text)
        # One that was written before these were kept has the digest that it had.
        for name in ("columns", "seasons", "hints"):
            if not content[name]:
                del content[name]
        for column in content.get("columns", ()):
            if not column["has_infinite"]:
                del column["has_infinite"]
        text = canonical(content) + "\n"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class BatchCounts(Record):
    """The counts of one batch for every test; those of its parts add up.

    Attributes
    ----------
    rows : tuple of Count
        Of each test of the samples.
    errors : Count
        Of labelled errors.
    above : tuple of str
        Warnings of a batch that was taken before the reference, or of another model.
    digest : int
        A sum of hashes of its rows, by which a batch is known again; 0 where none is known.
    columns : array of int of shape (n_cells,)
        The cells of all profiles of columns, one after the other; empty where the passport has none.
    seasons : array of int of shape (n_seasons, n_tests + 1, 2)
        Hits and samples of each test and at last of the errors, by season; empty where the passport has none.
    dates : tuple of DateSpan
        Its first and last days.
    """

    rows: tuple[Count, ...]
    errors: Count
    above: tuple[str, ...] = ()
    digest: int = 0
    columns: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    seasons: IntArray = field(default_factory=lambda: np.zeros((0, 0, 2), dtype=np.int64))
    dates: tuple[DateSpan, ...] = ()

    def __add__(self, other: BatchCounts) -> BatchCounts:
        rows = tuple(mine + theirs for mine, theirs in zip(self.rows, other.rows, strict=True))
        above = tuple(dict.fromkeys((*self.above, *other.above)))
        digest = add_digests(self.digest, other.digest)
        # Counts that were made elsewhere may lack those of columns.
        both = self.columns.size == other.columns.size
        columns = self.columns + other.columns if both else np.zeros(0, dtype=np.int64)
        # Those of seasons cannot be left out: parts of different passports raise an error here.
        seasons = self.seasons + other.seasons
        dates = united(self.dates, other.dates)
        return BatchCounts(rows, self.errors + other.errors, above, digest, columns, seasons, dates)

    def of_test(self, place: int) -> tuple[int | IntArray, int | IntArray]:
        """Return hits and samples of a test, or at -1 of the errors; with seasons, those of each."""
        if self.seasons.size:
            return self.seasons[:, place, 0], self.seasons[:, place, 1]
        count = self.errors if place < 0 else self.rows[place]
        return count.hits, count.n

    @property
    def of_season(self) -> IntArray:
        """How many samples each season has; empty where the passport has none."""
        most: IntArray = self.seasons[:, :-1, 1].max(axis=1, initial=0)
        return most

    @property
    def n_samples(self) -> int:
        """How many samples it has; without tests of the samples, how many labels."""
        return max([count.n for count in self.rows], default=self.errors.n)


def errors_of(right: RightOrWrong | None) -> Count:
    """Count the errors among the samples that have a label."""
    if right is None:
        return Count(0, 0)
    n_right, n = right.counts()
    return Count(n - n_right, n)


def labelled(
    outputs: ModelOutputs | None, frame: pd.DataFrame, label: str | None
) -> RightOrWrong | None:
    """Return which predictions are right, as far as labels say so; None without predictions or labels."""
    if outputs is None or label is None or label not in frame:
        return None
    labels = frame[label].to_numpy()
    found = right_or_wrong(outputs.predicted, labels)
    if _are_other_words(outputs, labels, found.known):
        expected = (
            f"labels among the classes that are predicted ({first_few(outputs.classes.tolist())})"
        )
        got = first_few(list(dict.fromkeys(labels[found.known].tolist())))
        remedy = "Write them in the words of the classes: else every row would be an error."
        raise ArgumentValueError(f"column {label!r}", expected, got, remedy, verb="hold")
    return found


def _are_other_words(outputs: ModelOutputs, labels: npt.NDArray[Any], is_known: BoolArray) -> bool:
    """Return True for labels that say the same classes in other words: yes and no, or 1 and 2, for 0 and 1.

    A class that the model does not know is no other word for one that it does: then its own classes are labels too.
    """
    known = labels[is_known]
    places = outputs.places(known)
    if not (places < 0).any():
        return False
    if (places < 0).all():
        are_words = not any(_is_number(label) for label in known.tolist())
        of_numbers = all(_is_number(label) for label in outputs.classes.tolist())
        # A few labels may all be of a new class, but not words where the classes are numbers.
        return len(known) >= _ENOUGH_LABELS or (are_words and of_numbers)
    # Some are classes, as 1 of 1 and 2: then one that is often predicted is never a label, and has another word.
    predicted = outputs.places(outputs.predicted[is_known])
    times = np.bincount(predicted[predicted >= 0], minlength=len(outputs.classes))
    times[places[places >= 0]] = 0
    n_labels = len(np.unique(as_strings(known)))
    return bool(times.max() >= _ENOUGH_LABELS) and n_labels <= len(outputs.classes)


def _is_number(label: Any) -> bool:
    try:
        float(label)
    except (TypeError, ValueError):
        return False
    return True
