"""Models on columns of few integers: every row can be enumerated, so that the least cost of a shift is known.

`certificates.py` searches these cases too. What a route calls exact must be the exact value; an upper bound must
not lie below it, and a certified lower bound not above.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import mpmath
import numpy as np
from mpmath import mpf
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from certificates import DIGITS, Case, least_cost
from shiftmetrics import Computing, model_stability
from shiftmetrics.models import Perturbation

ROUTES: dict[str, Callable[[int], Any]] = {
    "linear": lambda seed: LogisticRegression(C=10.0 ** (seed % 5 - 2)),
    "tree": lambda seed: DecisionTreeClassifier(max_depth=1 + seed % 4, random_state=seed),
    "forest": lambda seed: RandomForestClassifier(1 + seed % 6, max_depth=3, random_state=seed),
    "boosting": lambda seed: GradientBoostingClassifier(
        n_estimators=1 + seed % 5, max_depth=2, random_state=seed
    ),
    "blackbox": lambda seed: KNeighborsClassifier(1 + 2 * (seed % 3)),
}
_LEVELS = 4


def route_cases(name: str, n_cases: int, seed: int = 0) -> Iterator[Case]:
    """Yield stabilities of small models of one kind, with the exact value from all rows that there are."""
    rng = np.random.default_rng([seed, *name.encode()])
    for number in range(n_cases):
        n_rows = int(rng.integers(8, 25))
        n_columns = int(rng.integers(1, 4))
        X = rng.integers(0, _LEVELS, size=(n_rows, n_columns)).astype(float)
        slopes = rng.normal(size=n_columns)
        noise = rng.normal(size=n_rows)
        y = (X @ slopes + noise > np.median(X @ slopes + noise)).astype(int)
        if len(np.unique(y)) < 2:
            continue
        model = ROUTES[name](number).fit(X, y)
        risk = float(np.mean(model.predict(X) != y))
        threshold = float(risk + (1.0 - risk) * rng.uniform(0.05, 0.95))
        prices = {
            "theta1": float(10.0 ** rng.uniform(-2, 1)),
            "theta2": float(10.0 ** rng.uniform(-2, 1)),
            "divergence": ("kl", "chi2")[number % 2],
        }
        if threshold <= risk:
            continue
        words = f"{name} {number} seed {seed}: {model!r}, {threshold!r}, {prices}"
        result = model_stability(
            model, X, y, threshold, **prices, resampling=None,
            perturbation=Perturbation(
                cost="unit", bounds=(0, _LEVELS - 1), integer=list(range(n_columns))
            ),
            computing=Computing(progress=False),
        )  # fmt: skip
        if not result.status.ok:
            continue
        exact = _enumerated(model, X, y, threshold, prices)
        yield from _held_against(result, exact, words)


def _held_against(result: Any, exact: Any, words: str) -> Iterator[Case]:
    """Yield a case that is wrong where the value, or its bound on one side, contradicts the exact value."""
    if result.kind == "exact":
        yield Case(result.value, result.error_bound, exact, f"{words} (exact)")
        return
    # An upper bound is wrong by what it lies below.
    below = exact if mpf(result.value) < exact else mpf(result.value)
    yield Case(result.value, result.error_bound, below, f"{words} (upper bound)")
    lower = getattr(result, "lower_bound", None)
    if lower is not None and math.isfinite(lower):
        above = exact if mpf(lower) > exact else mpf(lower)
        yield Case(lower, result.error_bound, above, f"{words} (lower bound)")


def _enumerated(
    model: Any, X: np.ndarray, y: np.ndarray, threshold: float, prices: dict[str, Any]
) -> Any:
    """Return the exact least cost: each row may become any row of the grid."""
    grid = np.array(list(itertools.product(range(_LEVELS), repeat=X.shape[1])), dtype=float)
    predicted = model.predict(grid)
    places = []
    for row, label in zip(X, y, strict=True):
        squared = ((grid - row) ** 2).sum(axis=1)
        is_wrong = predicted != label
        # One unit of distance in a column costs 1: only the nearest right and wrong row can be the worst.
        points = [
            (mpf(int(wrong)), mpf(int(squared[is_wrong == wrong].min())))
            for wrong in (False, True)
            if (is_wrong == wrong).any()
        ]
        places.append(_place(points))
    with mpmath.workdps(DIGITS):
        return least_cost(places, np.ones(len(X)), threshold, **prices, guess=1.0, upper=math.inf)


def _place(points: list[tuple[Any, Any]]) -> Callable[[Any, Any], Any]:
    return lambda h, theta1: max((h * loss - theta1 * squared, loss) for loss, squared in points)
