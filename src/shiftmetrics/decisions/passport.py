"""The passport: a small frozen profile of a reference, without its rows, that later batches are held against."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray
from shiftmetrics._core.files import write_text
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import describe
from shiftmetrics.decisions.alarm import Alarm
from shiftmetrics.decisions.matching import as_strings
from shiftmetrics.decisions.model_outputs import ModelOutputs, model_outputs
from shiftmetrics.decisions.records import read_record, to_text
from shiftmetrics.decisions.unlabelled import Calibration
from shiftmetrics.encoding import TableEncoder
from shiftmetrics.encoding.roles import as_frame

if TYPE_CHECKING:
    import pandas as pd

PASSPORT_VERSION = 1


@dataclass(frozen=True, eq=False)
class Count(Record):
    """How many of n samples count, for one test."""

    hits: int
    n: int

    def __add__(self, other: Count) -> Count:
        return Count(self.hits + other.hits, self.n + other.n)


@dataclass(frozen=True, eq=False)
class RowTest(Record):
    """What is counted of the samples: those beyond a distance, or below a confidence."""

    kind: str
    quantile: float
    threshold: float
    reference: Count

    def counted(self, far: FloatArray, unsure: FloatArray | None) -> BoolArray:
        """Return which samples count, from their distances and from the model's confidence in them."""
        if self.kind == "far":
            return far > self.threshold
        assert (
            unsure is not None
        )  # a passport with such a test has a calibration, and asks for the model
        return unsure < self.threshold

    @property
    def name(self) -> str:
        """What is counted, in words."""
        if self.kind == "far":
            return f"samples farther from the reference than {100 * self.quantile:g} % of it"
        return f"predictions less sure than {100 * (1 - self.quantile):g} % of the reference's"


@dataclass(frozen=True, eq=False)
class Passport(Record):
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
    """

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
    version: int = PASSPORT_VERSION

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
        frame = as_frame(batch, "batch")
        features = self.encoder.transform(frame, "batch")
        outputs = _outputs(self, model, frame)
        far = distances(features, self.centres)
        unsure = confidence_of(self.calibration, outputs)
        counts = []
        for test in self.tests:
            hits = test.counted(far, unsure)
            counts.append(Count(int(hits.sum()), len(hits)))
        return BatchCounts(tuple(counts), errors_of(self.label, self.prediction, outputs, frame))

    def alarms(self) -> tuple[Alarm | None, tuple[Alarm, ...]]:
        """Return the alarms at their start: of labelled errors, and of each test of the samples.

        Half of alpha goes to the errors, half to the samples, where both are watched.
        """
        rows = self.tests if self.rows_armed else ()
        part = 0.5 * self.alpha if rows and self.errors is not None else self.alpha
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
        return hashlib.sha256(to_text(self).encode()).hexdigest()[:16]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the passport as JSON, all of it or nothing."""
        write_text(path, to_text(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Passport:
        """Read a passport file.

        Raises
        ------
        ValueError
            If the file holds no passport, or one of another version.
        """
        return read_record(path, cls, "passport", PASSPORT_VERSION)


@dataclass(frozen=True, eq=False)
class BatchCounts(Record):
    """The counts of one batch for every test; those of its parts add up."""

    rows: tuple[Count, ...]
    errors: Count

    def __add__(self, other: BatchCounts) -> BatchCounts:
        rows = tuple(mine + theirs for mine, theirs in zip(self.rows, other.rows, strict=True))
        return BatchCounts(rows, self.errors + other.errors)


def distances(features: FloatArray, centres: FloatArray) -> FloatArray:
    """Return the distance of each sample to its nearest centre."""
    from sklearn.metrics import pairwise_distances_argmin_min

    return np.asarray(pairwise_distances_argmin_min(features, centres)[1], dtype=np.float64)


def _outputs(passport: Passport, model: Any, frame: pd.DataFrame) -> ModelOutputs | None:
    """Return the outputs of the model where the passport needs them."""
    needs_errors = passport.errors is not None and passport.prediction is None
    has_labels = passport.label is not None and passport.label in frame
    if passport.calibration is None and not (needs_errors and has_labels):
        return None
    if model is None:
        remedy = "Its confidence or its errors are watched."
        raise ValueError(describe("model", "the one of the passport", "None", remedy))
    not_features = [name for name in (passport.label, passport.prediction) if name is not None]
    return model_outputs(model, frame, not_features=not_features)


def confidence_of(
    calibration: Calibration | None, outputs: ModelOutputs | None
) -> FloatArray | None:
    """Return the model's calibrated confidence in each sample, where both are known."""
    if calibration is None or outputs is None or outputs.probabilities is None:
        return None
    return calibration.confidence(outputs.probabilities)


def errors_of(
    label: str | None, prediction: str | None, outputs: ModelOutputs | None, frame: pd.DataFrame
) -> Count:
    """Count the errors among the samples that have a label; cells that are missing have none."""
    if label is None or label not in frame:
        return Count(0, 0)
    if prediction is not None and prediction in frame:
        predicted = frame[prediction].to_numpy()
    elif outputs is not None:
        predicted = outputs.predicted
    else:
        return Count(0, 0)
    truth = frame[label]
    known = truth.notna().to_numpy()
    wrong = as_strings(truth.to_numpy()[known]) != as_strings(predicted[known])
    return Count(int(wrong.sum()), int(known.sum()))
