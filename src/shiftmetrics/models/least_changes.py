"""The least change of one feature that flips the prediction for a row; no labels needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.options import Computing
from shiftmetrics.models.features import answers_of, parts_of
from shiftmetrics.models.moves import Moves, Search, moves_of, search_of
from shiftmetrics.models.question import question_of
from shiftmetrics.stability.losses import CandidateLoss, Loss, ZeroOneLoss


def least_changes(
    model: Any, X: Any, *, moves: Moves | None = None, computing: Search | Computing | None = None
) -> Any:
    """Return the least change of a single feature that flips the model's prediction, for each row.

    Exact for linear models, models of trees and categories, as in `feature_stability`; for other models and numbers
    the nearest that a grid with bisection finds.

    Parameters
    ----------
    model : object
        A fitted classifier; see `model_stability`.
    X : array_like or DataFrame of shape (n_samples, n_features)
        Rows as the model takes them.
    moves : Moves, optional
        Which features may change, within which bounds and at what cost. By default numbers stay within the data, in
        whole steps where they are whole, and a distance of 1 is a standard deviation; see `feature_stability`.
    computing : Search or Computing, optional
        How to search, and how to compute.

    Returns
    -------
    DataFrame of shape (n_samples, 5)
        With the index of ``X``: the ``feature``, its values before and after (``value``, ``changed_to``; tuples for a
        one-hot or other group), the ``distance``, and the ``prediction`` there. A row whose prediction no single
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

    moves, search = moves_of(moves), replace(search_of(computing), progress=False)
    question = question_of(model, X, None, theta2=np.inf, moves=moves, search=search, everything=True)
    n_samples = question.n_samples
    best, points = np.full(n_samples, np.inf), question.codes.copy()
    parts = parts_of(question, moves.features)
    which = np.full(n_samples, -1)
    for part, found in answers_of(question, parts, search.method):
        distances, choices = _nearest_error(found.loss)
        nearer = np.flatnonzero(distances < best)
        best[nearer], which[nearer] = distances[nearer], parts.index(part)
        points[nearer] = found.points(nearer, distances[nearer], choices[nearer])
    before, after = (
        np.asarray(question.table.decode(codes), dtype=object) for codes in (question.codes, points)
    )
    names = {-1: None} | {number: part.name for number, part in enumerate(parts)}
    frame = pd.DataFrame({"feature": pd.Series([names[k] for k in which.tolist()], dtype=object)})
    for name, cells in (("value", before), ("changed_to", after)):
        frame[name] = pd.Series([None] * n_samples, dtype=object)
        for number, part in enumerate(parts):
            rows, columns = np.flatnonzero(which == number), question.domain.positions(part.columns)
            held = [
                line[0] if len(line) == 1 else tuple(line) for line in cells[np.ix_(rows, columns)].tolist()
            ]
            frame.loc[rows, name] = pd.Series(held, index=rows, dtype=object)
    assert question.classes is not None
    told = pd.Series(question.classes[question.predict(points)], dtype=object)
    frame["distance"], frame["prediction"] = best, told.where(which >= 0, None)
    return frame if question.table.labels is None else frame.set_index(question.table.labels)


def _nearest_error(loss: Loss) -> tuple[Any, Any]:
    """Return how far the nearest error of each row is, and which choice it is."""
    if isinstance(loss, ZeroOneLoss):
        distances = np.asarray(loss.distances)
        return distances, np.zeros(len(distances), dtype=np.int64)
    assert isinstance(loss, CandidateLoss)
    reached = np.where(loss.losses > 0.0, loss.distances, np.inf)
    choices = reached.argmin(axis=1)
    return reached[np.arange(len(reached)), choices], choices
