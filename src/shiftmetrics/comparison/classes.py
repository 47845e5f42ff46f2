"""Predicted classes of several models on the same rows, and labels, all in one numbering."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray, is_labelled
from shiftmetrics._core.chunk_readers import in_chunks
from shiftmetrics._core.tables import Align, label_codes, match_labels
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement.predictions import (
    check_predictions,
    class_names,
    label_columns,
    predicted_columns,
)
from shiftmetrics.agreement.scores import ScorePairs, align_rows
from shiftmetrics.comparison.models import check_sizes


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes:
    """Predicted classes of all models, numbered from 0, and labels.

    Attributes
    ----------
    n_classes : int
    columns : list of ndarray of shape (n_classes_of_model,)
        The class of each column of a model's scores.
    shifted, before : ndarray of shape (n_models, n_samples)
        Predictions after and before the shift.
    weights : ndarray of shape (n_samples,)
        Of the pairs.
    labelled : ndarray of shape (n_models, n_labelled) or None
        Predictions on labelled rows other than the pairs.
    labels : ndarray or None
        Of the labelled rows where there are some, else of the pairs.
    """

    n_classes: int
    columns: list[IntArray]
    shifted: IntArray
    before: IntArray
    weights: FloatArray
    labelled: Any = None
    labels: Any = None


def read_classes(
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
    for codes, part in zip(columns, pairs.values(), strict=True):
        both.append(codes[np.stack(predicted_columns(part))])
    shifted, before = np.stack(both, axis=1)
    first = next(iter(scores.values()))
    labelled = None
    if labelled_scores is not None:
        others = same_rows("labelled_scores", labelled_scores, pairing)
        first = others[next(iter(scores))]
        predicted = []
        for codes, (name, part) in zip(columns, pairs.items(), strict=True):
            predicted.append(codes[_columns_of(others[name], name, scores[name], part)])
        labelled = np.stack(predicted)
    if labels is not None:
        # Labels are classes of the model with most of them.
        widest = int(np.argmax([len(codes) for codes in columns]))
        codes = columns[widest]
        table = list(scores.values())[widest]
        labels = align_rows(first, labels, "labels", pairing)
        labels = codes[label_columns(labels, "labels", table, len(codes), len(first))]
    part = next(iter(pairs.values()))
    weights = np.ones(part.n_samples) if part.weights is None else part.weights
    return Classes(
        n_classes=len(classes), columns=columns, shifted=shifted, before=before, weights=weights,
        labelled=labelled, labels=labels,
    )  # fmt: skip


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
            raise TypeError(describe(called, "an array of scores", got)) from error
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


def _columns_of(value: Any, name: str, scores: Any, pairs: ScorePairs) -> IntArray:
    """Return the columns of the predicted classes: from scores, from margins like those of the pairs, or classes."""
    if np.ndim(value) == 1 and pairs.scores.ndim == 1:
        return (np.asarray(value) > (0.5 if pairs.kind == "probabilities" else 0.0)).astype(
            np.int64
        )
    argument = f"labelled_scores[{name!r}]"
    found = check_predictions(value, argument)
    return label_columns(found, argument, scores, pairs.n_classes, len(found))
