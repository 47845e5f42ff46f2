"""Feature stability of sums of trees: all cells of all features from leaf boxes, against predicting one by one."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _machine import header, table
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from shiftmetrics.models import feature_stability, model_stability
from shiftmetrics.models.forests import forest_of
from shiftmetrics.models.measures.routes import worst_cases_by_group
from shiftmetrics.models.reading.model import problem_of

N_FEATURES, N_ROWS = 76, 2000
N_CALLS, N_TRIED = 100, 10


def main() -> None:
    print(header("xgboost-cpu", "lightgbm"))
    X, y = make_classification(
        2 * N_ROWS, N_FEATURES, n_informative=20, n_redundant=10, flip_y=0.05, random_state=0
    )
    rows = []
    for name, model in models().items():
        model.fit(X[:N_ROWS], y[:N_ROWS])
        rows.append([name, *timed(model, X[N_ROWS:], y[N_ROWS:])])
    columns = [
        "model",
        "trees",
        "thresholds",
        "seconds",
        "all free",
        "scan",
        "by rows",
        "ratio",
        "by thresholds",
        "ratio",
    ]
    print(table(columns, rows, title=f"0/1 loss, {N_FEATURES} features, {N_ROWS:,} rows; seconds"))
    print("seconds: all of feature_stability; scan: its exact distances for all features.")
    print("all free: seconds of model_stability, where all features move together.")
    print(
        f"by rows: predict for each row at each threshold, from {N_CALLS} calls; by thresholds: predict for all rows"
    )
    print(f"at each threshold, from {N_TRIED} calls.")


def models() -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "gradient boosting": GradientBoostingClassifier(random_state=0),
        "histogram boosting": HistGradientBoostingClassifier(random_state=0),
        "random forest, leaves of 5": RandomForestClassifier(
            100, min_samples_leaf=5, random_state=0
        ),
        "random forest": RandomForestClassifier(100, random_state=0),
    }
    try:
        from lightgbm import LGBMClassifier
        from xgboost import XGBClassifier
    except ImportError:
        return chosen
    chosen["XGBoost"] = XGBClassifier(n_jobs=1)
    chosen["LightGBM"] = LGBMClassifier(n_jobs=1, verbose=-1)
    return chosen


def timed(model: Any, X: np.ndarray, y: np.ndarray) -> list[object]:
    start = time.perf_counter()
    result = feature_stability(model, X, y, 0.4)
    whole = time.perf_counter() - start
    assert {part.kind for part in result.features} == {"exact"}
    start = time.perf_counter()
    together = model_stability(model, X, y, 0.4)
    free = time.perf_counter() - start
    assert together.lower_bound <= together.value <= min(part.value for part in result.features)
    problem = problem_of(model, X, y)
    start = time.perf_counter()
    answers = dict(worst_cases_by_group(problem, [(k,) for k in range(N_FEATURES)]))
    scanning = time.perf_counter() - start
    forest = forest_of(model)
    edges = [np.unique(forest.threshold[forest.feature == k]) for k in range(N_FEATURES)]
    n_edges = sum(map(len, edges))
    start = time.perf_counter()
    for row in range(N_CALLS):
        model.predict(X[row : row + 1])
    one_row = (time.perf_counter() - start) / N_CALLS * n_edges * len(X)
    # All rows at once, at some thresholds: the rival with the least overhead, and a check of our distances.
    feature = max(range(N_FEATURES), key=lambda k: len(edges[k]))
    tried = edges[feature][:: max(1, len(edges[feature]) // N_TRIED)][:N_TRIED]
    ours = answers[feature].loss.distances
    start = time.perf_counter()
    for value in tried:
        points = X.copy()
        points[:, feature] = value
        wrong = model.predict(points) != y
        nearer = wrong & (np.abs(value - X[:, feature]) / X[:, feature].std() < ours * (1 - 1e-9))
        assert not nearer.any()
    all_rows = (time.perf_counter() - start) / len(tried) * n_edges
    return [
        forest.n_trees,
        n_edges,
        whole,
        free,
        scanning,
        one_row,
        one_row / scanning,
        all_rows,
        all_rows / scanning,
    ]


if __name__ == "__main__":
    main()
