"""The passport: a small frozen profile of a reference, without its rows, that later batches are held against."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from shiftmetrics.decisions.monitor.records import FileRecord
from shiftmetrics.decisions.monitor.repeats import add_digests, rows_digest
from shiftmetrics.decisions.predictions.model_outputs import ModelOutputs, model_outputs
from shiftmetrics.decisions.right_or_wrong import right_or_wrong
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

Readings = Mapping[str, FloatArray]
"""What is read off each sample: "far", the distance to the nearest centre, and "unsure", minus the confidence."""


@dataclass(frozen=True, eq=False)
class Count(Record):
    """How many of n samples count, for one test."""

    hits: int
    n: int

    def __add__(self, other: Count) -> Count:
        return Count(self.hits + other.hits, self.n + other.n)


@dataclass(frozen=True, eq=False)
class RowTest(Record):
    """What is counted of the samples: readings beyond a quantile of the reference."""

    kind: str
    quantile: float
    threshold: float
    reference: Count

    def count(self, readings: Readings) -> Count:
        """Count the samples whose reading lies beyond the threshold."""
        beyond = readings[self.kind] > self.threshold
        return Count(int(beyond.sum()), len(beyond))

    @property
    def name(self) -> str:
        """What is counted, in words that follow "samples that are"."""
        if self.kind == "far":
            return f"farther from the reference than {100 * self.quantile:g} % of its own samples"
        return f"predicted with less confidence than {100 * self.quantile:g} % of the reference"


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
        What is counted of each batch, with the counts of the other half.
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
    """

    argument: ClassVar[str] = "passport"
    version: int = 2

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
        readings = readings_of(features, self.centres, self.calibration, outputs)
        counts = tuple(test.count(readings) for test in self.tests)
        ranges = self._ranges(cells, typed.frames[0])
        order = in_wrong_order(self.dates, ranges, called="the batch")
        errors = errors_of(outputs, given, self.label)
        above = (*self._other_model(model), *order)
        # Without labels, which may have come meanwhile.
        names = [name for name in typed.frames[0] if name in self.kinds and name != self.label]
        cells_of_columns = [
            profile.count(typed.frames[0][profile.column]) for profile in self.columns
        ]
        return BatchCounts(
            counts,
            errors,
            above,
            rows_digest(typed.frames[0][names]),
            np.concatenate(cells_of_columns) if cells_of_columns else np.zeros(0, dtype=np.int64),
        )

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
            errors = Alarm.against("errors", self.errors.hits, self.errors.n, alpha=part)
        watched = tuple(
            Alarm.against(test.name, test.reference.hits, test.reference.n, alpha=part / len(rows))
            for test in rows
        )
        return errors, watched

    @property
    def digest(self) -> str:
        """A hash of the content, which states of a monitor carry."""
        text = self.text
        if (
            not self.columns
        ):  # one that was written before they were kept has the digest that it had
            text = text.replace(',"columns":[]}', "}")
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
    """

    rows: tuple[Count, ...]
    errors: Count
    above: tuple[str, ...] = ()
    digest: int = 0
    columns: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def __add__(self, other: BatchCounts) -> BatchCounts:
        rows = tuple(mine + theirs for mine, theirs in zip(self.rows, other.rows, strict=True))
        above = tuple(dict.fromkeys((*self.above, *other.above)))
        digest = add_digests(self.digest, other.digest)
        # Counts that were made elsewhere may lack those of columns.
        both = self.columns.size == other.columns.size
        columns = self.columns + other.columns if both else np.zeros(0, dtype=np.int64)
        return BatchCounts(rows, self.errors + other.errors, above, digest, columns)

    @property
    def n_samples(self) -> int:
        """How many samples it has; without tests of the samples, how many labels."""
        return max([count.n for count in self.rows], default=self.errors.n)


def readings_of(
    features: FloatArray,
    centres: FloatArray,
    calibration: Calibration | None,
    outputs: ModelOutputs | None,
) -> dict[str, FloatArray]:
    """Read off how far each sample lies from its nearest centre, and how unsure the model is of it."""
    from sklearn.metrics import pairwise_distances_argmin_min

    # Distance to a centre stands for density: far samples are those of which the reference has few like them.
    distances = pairwise_distances_argmin_min(features, centres)[1]
    readings = {"far": np.asarray(distances, dtype=np.float64)}
    if calibration is not None and outputs is not None and outputs.probabilities is not None:
        # The negative confidence, so that what is unusual lies beyond a quantile as distances do.
        readings["unsure"] = -calibration.confidence(outputs.probabilities)
    return readings


def errors_of(outputs: ModelOutputs | None, frame: pd.DataFrame, label: str | None) -> Count:
    """Count the errors among the samples that have a label."""
    if outputs is None or label is None or label not in frame:
        return Count(0, 0)
    labels = frame[label].to_numpy()
    found = right_or_wrong(outputs.predicted, labels)
    if _are_other_words(outputs, labels, found.known):
        expected = (
            f"labels among the classes that are predicted ({first_few(outputs.classes.tolist())})"
        )
        got = first_few(list(dict.fromkeys(labels[found.known].tolist())))
        remedy = "Write them in the words of the classes: else every row would be an error."
        raise ArgumentValueError(f"column {label!r}", expected, got, remedy, verb="hold")
    n_right, n = found.counts()
    return Count(n - n_right, n)


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
