"""Two files side by side: rows by id, columns by name, and labels and weights that fit both."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.tables import Align, align_tables
from shiftmetrics.tools.cli.samples import Sample


def align_samples(first: Sample, second: Sample, *, align: Align, rows: bool) -> None:
    """Bring the rows and columns of ``second`` into the order of ``first``, in place.

    Raises
    ------
    ValueError
        If names differ, or one of two paired files has ids and the other has not.
    """
    if rows and align == "labels" and (first.row_names is None) != (second.row_names is None):
        without = second if second.row_names is None else first
        raise ValueError(
            f"--id must name a column of both files, but {without.source.argument} has no named columns. "
            "Give tables on both sides, or --align position to take rows as they stand."
        )
    if first.row_names is None or not rows:
        # Without ids the rows pair by place; pandas' default index would say the same, less plainly.
        if rows and len(first.values) != len(second.values):
            remedy = " Name the id column with --id." if first.is_table and second.is_table else ""
            raise ValueError(
                f"{first.source.argument} and {second.source.argument} must have the same rows, got "
                f"{len(first.values)} and {len(second.values)}.{remedy}"
            )
        rows = False
    order = np.arange(len(second.values))
    if rows and align == "labels":
        import pandas as pd

        places = pd.Series(order, index=second.values.index)
        _, places = align_tables(
            first.values.iloc[:, 0], places, first.source.argument, second.source.argument, rows=True
        )
        order = places.to_numpy()
    if first.is_table and second.is_table:
        _, second.values = align_tables(
            first.values, second.values, first.source.argument, second.source.argument, align=align, rows=rows
        )
    if second.label is not None:
        second.label = second.label[order]
    if second.weight is not None:
        second.weight = second.weight[order]


def same_labels(first: Sample, second: Sample, option: str | None) -> npt.NDArray[Any] | None:
    """Return the labels of two paired samples, which must agree where both files have them.

    Raises
    ------
    ValueError
        If the labels differ, or no file has the column.
    """
    check_labels(option, first, second)
    labels = first.label if first.label is not None else second.label
    if labels is not None and first.label is not None and second.label is not None:
        differ = np.flatnonzero(first.label != second.label)
        if len(differ):
            raise ValueError(
                f"--label must agree in paired rows, but {len(differ)} of {len(labels)} rows differ, "
                f"the first at row {differ[0]}: {first.label[differ[0]]} and {second.label[differ[0]]}. "
                "Name the id column with --id."
            )
    return labels


def check_labels(option: str | None, *samples: Sample) -> None:
    """Make sure that some sample has the labels that were asked for, one for each row.

    Raises
    ------
    ValueError
        If no sample has them, or their number is another one.
    """
    if option is not None and all(sample.label is None for sample in samples):
        names = " or ".join(sample.source.argument for sample in samples)
        raise ValueError(f"--label must name a column of {names}, got {option!r}.")
    for sample in samples:
        if sample.label is not None:
            _check_length(sample.label, sample, "--label")


def shared_weights(first: Sample, second: Sample, option: str | None) -> npt.NDArray[Any] | None:
    """Return the weights of the rows of a pair: those of the first file, else those of the second.

    Raises
    ------
    ValueError
        If no file has the column.
    """
    if option is None:
        return None
    weights = first.weight if first.weight is not None else second.weight
    if weights is None:
        raise ValueError(
            f"--weight must name a column of {first.source.argument} or {second.source.argument}, got "
            f"{option!r}."
        )
    _check_length(weights, first, "--weight")
    return weights


def _check_length(values: npt.NDArray[Any], sample: Sample, option: str) -> None:
    if len(values) != len(sample.values):
        raise ValueError(
            f"{option} must have a value for each row of {sample.source.argument}, got {len(values)} for "
            f"{len(sample.values)} rows."
        )
