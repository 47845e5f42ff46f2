"""The least change of a single feature that flips the prediction of each sample."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.chunk_readers import gathered
from shiftmetrics._core.options import Computing
from shiftmetrics.models.domain.perturbation import Perturbation, Search, perturbation_of
from shiftmetrics.models.measures.features import feature_groups
from shiftmetrics.models.measures.routes import search_options, worst_cases_by_group
from shiftmetrics.models.reading.model import problem_of
from shiftmetrics.stability.losses import CandidateLoss, Loss, ZeroOneLoss


def least_changes(
    model: Any,
    X: Any,
    *,
    perturbation: Perturbation | None = None,
    computing: Search | Computing | None = None,
) -> Any:
    """Return the least change of a single feature that flips the model's prediction, for each sample.

    Exact for linear models, models of trees and categories, as in `feature_stability`; for other models and numbers
    the nearest that a grid with bisection finds.

    Parameters
    ----------
    model : object
        A fitted classifier; see `model_stability`.
    X : array_like or DataFrame of shape (n_samples, n_features)
        Samples as the model takes them.
    perturbation : Perturbation, optional
        Which features may change, within which bounds and at what cost. By default numbers stay within the data, by
        integer steps where they are integers, and a distance of 1 is a standard deviation; see `feature_stability`.
    computing : Search or Computing, optional
        How to search, and how to compute.

    Returns
    -------
    DataFrame of shape (n_samples, 5)
        With the index of ``X``: the ``feature``, its values before and after (``value``, ``changed_to``; tuples for a
        one-hot or other group), the ``distance``, and the ``prediction`` there. A sample whose prediction no single
        feature flips has None, and an infinite distance.

    Raises
    ------
    TypeError, ValueError
        As `feature_stability`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from shiftmetrics.models import least_changes
    >>> X = pd.DataFrame({"age": [20, 30, 60, 70], "dose": [1.0, 2.0, 2.0, 1.0]})
    >>> model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    >>> least_changes(model, X)[["feature", "value", "changed_to"]]
      feature value changed_to
    0     age  20.0       46.0
    1     age  30.0       46.0
    2     age  60.0       45.0
    3     age  70.0       45.0
    """
    import pandas as pd

    perturbation = perturbation_of(perturbation)
    search = replace(search_options(computing), progress=False)
    X = gathered(X, "X", search.memory_limit)
    problem = problem_of(
        model,
        X,
        None,
        perturbation=perturbation,
        search=search,
        everything=True,
    )
    n_samples = problem.n_samples
    groups = feature_groups(problem.domain, perturbation.features)
    best = np.full(n_samples, np.inf)
    which = np.full(n_samples, -1)
    points = problem.codes.copy()
    # The nearest error of each sample over all features.
    cases = worst_cases_by_group(problem, [group.columns for group in groups])
    for number, found in cases:
        found = found.at_any_price()
        distances, choices = _nearest_error(found.loss)
        nearer = np.flatnonzero(distances < best)
        if not nearer.size:
            continue
        best[nearer] = distances[nearer]
        which[nearer] = number
        points[nearer] = found.points(nearer, distances[nearer], choices[nearer])
    before = np.asarray(problem.table.decode(problem.codes), dtype=object)
    after = np.asarray(problem.table.decode(points), dtype=object)
    frame = pd.DataFrame({"feature": pd.Series([None] * n_samples, dtype=object)})
    frame["value"] = frame["feature"]
    frame["changed_to"] = frame["feature"]
    for number, group in enumerate(groups):
        rows = np.flatnonzero(which == number)
        cells = np.ix_(rows, problem.domain.positions(group.columns))
        frame.loc[rows, "feature"] = group.name
        frame.loc[rows, "value"] = _as_cells(before[cells], rows)
        frame.loc[rows, "changed_to"] = _as_cells(after[cells], rows)
    assert problem.classes is not None
    predictions = pd.Series(problem.classes[problem.predict(points)], dtype=object)
    frame["distance"] = best
    frame["prediction"] = predictions.where(which >= 0, None)
    if problem.table.labels is None:
        return frame
    return frame.set_index(problem.table.labels)


def _as_cells(held: npt.NDArray[Any], rows: IntArray) -> Any:
    """Return what samples hold in some columns as one cell each: the value of a single column, or a tuple."""
    import pandas as pd

    cells = [tuple(line) for line in held.tolist()]
    if held.shape[1] == 1:
        cells = [cell for (cell,) in cells]
    return pd.Series(cells, index=rows, dtype=object)


def _nearest_error(loss: Loss) -> tuple[FloatArray, IntArray]:
    """Return how far the nearest error of each sample is, and which choice it is."""
    if isinstance(loss, ZeroOneLoss):
        distances = np.asarray(loss.distances)
        return distances, np.zeros(len(distances), dtype=np.int64)
    assert isinstance(loss, CandidateLoss)
    reached = np.where(loss.losses > 0.0, loss.distances, np.inf)
    choices = reached.argmin(axis=1)
    return reached[np.arange(len(reached)), choices], choices
