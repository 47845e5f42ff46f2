"""Which raw columns a fitted pipeline takes as categories, and which ones its encoders know."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shiftmetrics.models.forests.categories import known_categories


def encoded_categories(model: Any, names: Sequence[Any]) -> dict[int, list[Any]]:
    """Return the categories of the columns that encoders in the first step of a pipeline take, by position.

    Encoders are transformers with ``categories_``, such as `sklearn.preprocessing.OneHotEncoder`, alone, in a
    pipeline of their own, in a `ColumnTransformer`, or inside histogram gradient boosting. Alone, an XGBoost model
    knows its categories, too.

    Parameters
    ----------
    model : object
        A fitted model; anything but a pipeline of scikit-learn has none.
    names : sequence
        Labels of the columns of the table.
    """
    if "sklearn" not in sys.modules:
        return {}
    first = next(steps_of(model), None)
    if first is None:
        final = final_step(model)
        first = getattr(final, "_preprocessor", None)
        if first is None:
            return known_categories(final)
    found: dict[int, list[Any]] = {}
    for transformer, columns in _parts(first, names):
        encoder = next(
            (step for step in steps_of(transformer, last=True) if hasattr(step, "categories_")), None
        )
        if encoder is None or len(encoder.categories_) != len(columns):
            continue
        for place, categories in zip(columns, encoder.categories_, strict=True):
            known = [
                value for value in np.asarray(categories).tolist() if value is not None and value == value
            ]
            found[place] = known
    return found


def steps_of(model: Any, *, last: bool = False) -> Iterator[Any]:
    """Yield the steps of a pipeline; ``last`` includes the final one, or the model itself where it is no pipeline."""
    model = unwrapped(model)
    steps = getattr(model, "steps", None)
    if steps is None:
        if last:
            yield model
        return
    for _, step in steps if last else steps[:-1]:
        if step is None or isinstance(step, str):  # "passthrough"
            continue
        yield from steps_of(step, last=True)


def final_step(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    steps = list(steps_of(model, last=True))
    return steps[-1] if steps else model


def unwrapped(model: Any) -> Any:
    """Return the model inside a search over parameters."""
    return getattr(model, "best_estimator_", model)


def _parts(step: Any, names: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """Yield each transformer of a step with the positions of its columns."""
    if not hasattr(step, "transformers_"):
        yield step, list(range(len(names)))
        return
    for _, transformer, columns in step.transformers_:
        if not isinstance(transformer, str):
            yield transformer, _positions(columns, list(names))


def _positions(columns: Any, names: list[Any]) -> list[int]:
    if isinstance(columns, slice):
        start, stop = columns.start, columns.stop
        if isinstance(start, str) or isinstance(stop, str):  # both ends count
            low = 0 if start is None else names.index(start)
            high = len(names) if stop is None else names.index(stop) + 1
            return list(range(low, high))[:: columns.step]
        return list(range(len(names)))[columns]
    if isinstance(columns, str | int):
        columns = [columns]
    if len(columns) == len(names) and all(isinstance(column, bool | np.bool_) for column in columns):
        return np.flatnonzero(columns).tolist()
    return [
        names.index(column) if isinstance(column, str) else int(column) % len(names) for column in columns
    ]
