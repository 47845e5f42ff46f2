"""Models on the command line: what they are called, and which columns of a table they predict on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shiftmetrics._core.validation import first_few
from shiftmetrics.models.forests.reading import estimator_of


def name_of(model: Any) -> str:
    """Return what kind of model this is; of a pipeline, its steps."""
    steps = [step for _, step in getattr(model, "steps", [])]
    return " then ".join(type(step).__name__ for step in steps) or type(model).__name__


def columns_of(model: Any, frame: Any, target: str, aside: Sequence[str | None]) -> tuple[Any, list[Any]]:
    """Return what the model predicts on, and the names of the other columns.

    A model that was fitted on a table names its columns; any other gets all of them, as an array if it was fitted on
    one. Columns of ``aside``, those of ``--groups`` and ``--by``, are left out until the number of columns is right.

    Raises
    ------
    ValueError
        If the table lacks a column of the model, or the target is one of them.
    """
    model = estimator_of(model)
    known = getattr(model, "feature_names_in_", None)
    if known is not None:
        if target in set(known):
            raise ValueError(
                f"--target must name what --model predicts, got {target!r}, which it predicts from."
            )
        missing = [str(name) for name in known if name not in set(frame.columns)]
        if missing:
            raise ValueError(
                f"FILE must have the columns that --model was fitted on, got none called {first_few(missing, 8)}; "
                f"it has {first_few(map(str, frame.columns), 8)}."
            )
        return frame[list(known)], [name for name in frame.columns if name not in set(known)]
    width = getattr(model, "n_features_in_", None)
    unseen: list[Any] = []
    for name in dict.fromkeys(aside):
        if name in frame.columns and frame.shape[1] - len(unseen) != width:
            unseen.append(name)
    rest = frame.drop(columns=unseen)
    numeric = all(rest[name].dtype.kind in "iuf" for name in rest.columns)
    return (rest.to_numpy(dtype=np.float64) if width is not None and numeric else rest), unseen
