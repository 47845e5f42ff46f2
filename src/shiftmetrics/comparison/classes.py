"""Predicted classes of several models on the same rows, and labels, all in one numbering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import BoolArray, FloatArray, IntArray, is_labelled, to_float64
from shiftmetrics._core.blocks import map_blocks
from shiftmetrics._core.chunk_readers import in_chunks
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError, error_at
from shiftmetrics._core.tables import Align, align_tables, label_codes, match_labels
from shiftmetrics.agreement.predictions import (
    class_names,
    label_columns,
)
from shiftmetrics.agreement.scores import ScorePairs, align_rows, prepare_pairs
from shiftmetrics.agreement.statistic import limits_of
from shiftmetrics.comparison.models import check_sizes

THIRDS = 3
"""Parts by confidence that a prediction is split into: what it means depends on how sure the model is."""

ROUNDING = 1e-9
"""Scores, or logarithms of probabilities, that differ by less are equal."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledPredictions:
    """Predictions on labelled rows other than the pairs, and what is needed to carry their meaning over.

    Attributes
    ----------
    predictions : ndarray of shape (n_models, n_labelled)
        Predicted classes.
    states, pair_states : ndarray of shape (n_models, n_labelled) or (n_models, n_samples)
        ``THIRDS * class + third`` on the labelled rows, and on the pairs before the shift: the third of confidence,
        among the labelled rows of the model.
    """

    predictions: IntArray
    states: IntArray
    pair_states: IntArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes:
    """Predicted classes of all models, numbered from 0, and labels.

    Attributes
    ----------
    n_classes : int
    columns : list of ndarray of shape (n_classes_of_model,)
        The class of each column of a model's scores.
    shifted, before : ndarray of shape (n_models, n_samples)
        Predictions after and before the shift; the same where there are none from before.
    varies : tuple of bool
        Whether the scores of each model differ from row to row.
    weights : ndarray of shape (n_samples,)
        Of the pairs.
    labelled : LabelledPredictions or None
        Labelled rows other than the pairs.
    labels : ndarray or None
        Of the labelled rows where there are some, else of the pairs.
    ties : ndarray of shape (2, n_models, n_samples), or None
        The last of the classes that score the same, after and before the shift: ``shifted`` and ``before`` hold the
        first one.
    """

    n_classes: int
    columns: list[IntArray]
    shifted: IntArray
    before: IntArray
    varies: tuple[bool, ...]
    weights: FloatArray
    labelled: LabelledPredictions | None = None
    labels: Any = None
    ties: IntArray | None = None

    @property
    def is_tied(self) -> BoolArray:
        """Whether the largest score of a model is that of two classes or more: (n_models, n_samples)."""
        if self.ties is None:
            return np.zeros(self.shifted.shape, bool)
        return np.asarray((self.ties[0] != self.shifted) | (self.ties[1] != self.before))


def read_model_classes(
    scores: Mapping[str, Any],
    pairs: Mapping[str, ScorePairs],
    labels: Any,
    labelled_scores: Mapping[str, Any] | None,
    pairing: Align,
) -> Classes:
    """Return the predicted classes of checked pairs, whose tables of ``scores`` name the classes.

    Raises
    ------
    TypeError, ValueError
        If labels are missing, or no class of the scores, or models have other rows or kinds of classes.
    """
    # One numbering of the classes of all models, from the names of their columns.
    named = [(class_names(scores[name], part.n_classes), name) for name, part in pairs.items()]
    columns, classes = label_codes(*named)
    both = []
    tied = []
    for codes, part in zip(columns, pairs.values(), strict=True):
        first_class, last_class = _largest_columns(part)
        both.append(codes[first_class])
        tied.append(codes[last_class])
    shifted, before = np.stack(both, axis=1)  # each of shape (n_models, n_samples)
    first = next(iter(scores.values()))
    labelled = None
    if labelled_scores is not None:
        others = same_rows("labelled_scores", labelled_scores, pairing)
        first = others[next(iter(scores))]
        labelled = _labelled_rows(others, scores, pairs, columns, before)
    if labels is not None:
        # Labels are classes of the model with most of them.
        widest = int(np.argmax([len(codes) for codes in columns]))
        codes = columns[widest]
        table = list(scores.values())[widest]
        labels = align_rows(first, labels, "labels", pairing)
        labels = codes[label_columns(labels, "labels", table, len(codes), len(first))]
    part = next(iter(pairs.values()))
    return Classes(
        n_classes=len(classes),
        columns=columns,
        shifted=shifted,
        before=before,
        varies=tuple(_varies(part) for part in pairs.values()),
        weights=np.ones(part.n_samples) if part.weights is None else part.weights,
        labelled=labelled,
        labels=labels,
        ties=np.stack(tied, axis=1),
    )


def same_rows(argument: str, tables: Mapping[str, Any], pairing: Align) -> dict[str, Any]:
    """Bring the rows of labelled tables into the order of the first model's; out-of-core data become `Chunks`."""
    ordered = {}
    for name, table in tables.items():
        called = f"{argument}[{name!r}]"
        ordered[name] = in_chunks(table, called)
        try:
            len(ordered[name])
        except TypeError as error:
            got = f"a {type(table).__name__}, which has no rows"
            raise ArgumentTypeError(called, "an array of scores", got) from error
    # The first model's table sets the order.
    name_first, first = next(iter(tables.items()))
    for name, table in tables.items():
        if pairing == "labels" and is_labelled(first) and is_labelled(table):
            called = f"{argument}[{name!r}]"
            called_first = f"{argument}[{name_first!r}]"
            order = match_labels(
                list(first.index), list(table.index), called_first, called, "rows", "pairing"
            )
            ordered[name] = table.iloc[order]
    # Tables without labels are taken as they stand, and must then be of one length.
    check_sizes(argument, {name: len(table) for name, table in ordered.items()})
    return ordered


def same_scores(pairs: ScorePairs) -> bool:
    """Return True if both samples of the pairs are the same rows, up to a constant in each."""
    return limits_of(pairs).n_identical == pairs.n_samples


def _labelled_rows(
    others: Mapping[str, Any],
    scores: Mapping[str, Any],
    pairs: Mapping[str, ScorePairs],
    columns: list[IntArray],
    before: IntArray,
) -> LabelledPredictions:
    """Read the predictions on labelled rows, by thirds of confidence."""
    predictions = []
    parts = []
    pair_parts = []
    for codes, (name, part) in zip(columns, pairs.items(), strict=True):
        called = f"labelled_scores[{name!r}]"
        _, value = align_tables(
            scores[name], others[name], f"scores[{name!r}]", called, rows=False, option=None
        )
        try:
            own = prepare_pairs(value, value, kind=part.kind, pairing="position")
        except (TypeError, ValueError) as error:
            raise error_at(error, called) from error
        if own.n_classes != part.n_classes:
            raise ArgumentValueError(called, f"of {part.n_classes} classes", own.n_classes)
        predictions.append(codes[_largest_columns(own)[0][1]])
        # How sure the model is, among the labelled rows.
        confidence = _confidence(own)
        cuts = np.quantile(confidence, np.arange(1, THIRDS) / THIRDS)
        parts.append(np.searchsorted(cuts, confidence, side="right"))
        pair_parts.append(np.searchsorted(cuts, _confidence(part), side="right"))
    # A state is a prediction and a third: what it means is read from the labelled rows.
    predicted = np.stack(predictions)
    return LabelledPredictions(
        predictions=predicted,
        states=THIRDS * predicted + np.stack(parts),
        pair_states=THIRDS * before + np.stack(pair_parts),
    )


def _confidence(pairs: ScorePairs) -> FloatArray:
    """Return the posterior of the predicted class at beta = 1, of each reference row."""

    def kernel(rows: slice) -> FloatArray:
        # The largest score is 0, and so its term 1.
        terms = np.exp(to_float64(pairs.block(rows)[1, ...]))
        return np.asarray(1.0 / terms.sum(axis=1))

    return np.concatenate(list(map_blocks(kernel, pairs.slices())))


def _largest_columns(pairs: ScorePairs) -> tuple[IntArray, IntArray]:
    """Return the first and the last column of the largest score of each shifted and each reference row.

    Scores that differ by rounding alone are equal: 0.5 beside 0.5 is a tie in a file and in the model that wrote it.
    """

    def ends(rows: slice) -> IntArray:
        # The largest score of each row is 0.
        is_largest = to_float64(pairs.block(rows)[:2, ...]) >= -ROUNDING
        last = is_largest.shape[2] - 1 - is_largest[..., ::-1].argmax(axis=2)
        return np.stack([is_largest.argmax(axis=2), last])

    first, last = np.concatenate(list(map_blocks(ends, pairs.slices())), axis=2)
    if pairs.classes is None:
        return first, last
    return pairs.classes[first], pairs.classes[last]


def _varies(pairs: ScorePairs) -> bool:
    """Return True if the shifted scores of some rows differ by more than a constant."""
    # The first block of rows tells enough: where it is constant, so is the model in all likelihood.
    block = to_float64(pairs.block(pairs.slices()[0])[0, ...])
    return bool(np.ptp(block, axis=0).max() > 1e-9)
