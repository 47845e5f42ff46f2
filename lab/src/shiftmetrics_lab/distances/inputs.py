"""Validate paired outputs of a model, and the features of two samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import Array, FloatArray, float64_rows, namespace
from shiftmetrics._core.blocks import map_blocks, row_blocks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.probabilities import check_probabilities
from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics._core.validation import (
    check_choice,
    check_matrix,
    check_number,
    check_same_library,
    check_same_shape,
)

Kind = Literal["scores", "probabilities"]

PAIRING_REMEDY = (
    "Rows are pairs: see shiftmetrics.agreement.pair_samples for samples that are not paired."
)


@dataclass(frozen=True, eq=False)
class OutputPairs:
    """Paired class distributions of a model on a sample and on its reference."""

    outputs: Array
    reference_outputs: Array
    kind: Kind
    beta: float

    @property
    def n_samples(self) -> int:
        """Number of pairs."""
        return int(self.outputs.shape[0])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.outputs.shape[1])

    def map_rows(self, kernel: Any) -> FloatArray:
        """Return the rows of ``kernel(p, log p, q, log q)``, NumPy arrays of shape (n_rows, k), for all pairs."""

        def map_block(rows: slice) -> Any:
            first = distributions(self.outputs, rows, kind=self.kind, beta=self.beta)
            second = distributions(self.reference_outputs, rows, kind=self.kind, beta=self.beta)
            return kernel(*first, *second)

        blocks = row_blocks(self.n_samples, 8 * self.n_classes)
        return np.concatenate(list(map_blocks(map_block, blocks)))


def distributions(
    array: Array, rows: slice, *, kind: Kind, beta: float = 1.0
) -> tuple[Array, Array]:
    """Return the class distributions of a slice of rows and their logarithms, -inf where they are 0."""
    block = float64_rows(array, rows)
    xp = namespace(block)
    if kind == "probabilities":
        p = xp.clip(block, min=0.0)
        p = p / xp.sum(p, axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            return p, xp.log(p)
    scaled = beta * (block - xp.max(block, axis=1, keepdims=True))
    log_p = scaled - xp.log(xp.sum(xp.exp(scaled), axis=1, keepdims=True))
    return xp.exp(log_p), log_p


def check_outputs(
    scores: Any, reference_scores: Any, *, kind: str, beta: float, align: Align
) -> OutputPairs:
    """Return paired outputs, or raise an error that names the argument."""
    kind = check_choice(kind, "kind", ("scores", "probabilities"))
    beta = check_number(beta, "beta", low=0.0)
    if kind == "probabilities" and beta != 1.0:
        raise ArgumentValueError(
            "beta", "1 for probabilities", beta, 'It is the temperature of kind="scores".'
        )
    first, second = check_pairs(
        scores, reference_scores, "scores", "reference_scores", align=align, min_columns=2
    )
    if kind == "probabilities":
        check_probabilities((first, "scores"), (second, "reference_scores"), floor=None)
    return OutputPairs(first, second, "scores" if kind == "scores" else "probabilities", beta)


def check_pairs(
    first: Any,
    second: Any,
    first_name: str,
    second_name: str,
    *,
    align: Align,
    min_rows: int = 1,
    min_columns: int = 1,
) -> tuple[Array, Array]:
    """Return two matrices of one shape and library whose rows are pairs."""
    first, second = align_tables(first, second, first_name, second_name, align=align)
    a = check_matrix(first, first_name, min_rows=min_rows, min_columns=min_columns)
    b = check_matrix(second, second_name, min_rows=min_rows, min_columns=min_columns)
    check_same_library(a, b, first_name, second_name)
    if a.shape[0] != b.shape[0]:
        expected = f"of as many rows as {first_name}, {a.shape[0]}"
        raise ArgumentValueError(second_name, expected, f"{b.shape[0]}", PAIRING_REMEDY)
    check_same_shape(a, b, first_name, second_name)
    return a, b


def check_samples(
    features: Any, reference: Any, *, align: Align, min_rows: int = 1
) -> tuple[Array, Array]:
    """Return the features of two samples that are not paired: as many columns, of one library."""
    features, reference = align_tables(
        features, reference, "features", "reference", align=align, rows=False
    )
    a = check_matrix(features, "features", min_rows=min_rows)
    b = check_matrix(reference, "reference", min_rows=min_rows)
    check_same_library(a, b, "features", "reference")
    if a.shape[1] != b.shape[1]:
        expected = f"of as many columns as features, {a.shape[1]}"
        remedy = "Compute both by the same features, and drop columns of labels."
        raise ArgumentValueError("reference", expected, f"{b.shape[1]}", remedy)
    return a, b
