"""The nearest point of half-spaces against a general solver; a search that ends early has bounds that hold."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.svm import SVC

from shiftmetrics import model_stability
from shiftmetrics.models.linear import piece_search


def refuse(*_: object) -> None:
    """Stand for the solver of SciPy 1.12, which stops where half-spaces depend on each other."""
    raise np.linalg.LinAlgError("Matrix is singular.")


@pytest.mark.parametrize("solver", [piece_search.nnls, refuse], ids=["first", "second"])
@pytest.mark.parametrize("seed", range(20))
def test_the_nearest_point_of_half_spaces(
    seed: int, solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piece_search, "nnls", solver)
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 5))
    normals = rng.normal(size=(int(rng.integers(1, 7)), n_columns))
    inside = rng.normal(size=n_columns)
    least = normals @ inside - rng.random(len(normals)) * 0.2
    apart, step = piece_search._nearest_point(normals, least)
    assert (normals @ step >= least - 1e-9).all()
    assert apart == pytest.approx(np.linalg.norm(step), abs=1e-7)
    limits = [
        {"type": "ineq", "fun": lambda z, w=w, h=h: w @ z - h}
        for w, h in zip(normals, least, strict=True)
    ]
    found = minimize(lambda z: z @ z, inside, constraints=limits, method="SLSQP", tol=1e-14)
    assert apart == pytest.approx(np.linalg.norm(found.x), abs=1e-5)


@pytest.mark.parametrize("solver", [piece_search.nnls, refuse], ids=["first", "second"])
def test_half_spaces_without_a_common_point_have_none(
    solver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piece_search, "nnls", solver)
    normals = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert piece_search._nearest_point(normals, np.array([1.0, 1.0])) is None


def six_classes() -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a model whose pairs contradict each other in the middle, where some rows stand."""
    rng = np.random.default_rng(2)
    y = rng.integers(6, size=60)
    angle = 2.0 * np.pi * y / 6
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) + rng.normal(0.0, 0.6, (60, 2))
    return SVC(kernel="linear", break_ties=True).fit(X, y), X, y


def test_a_search_that_ends_early_has_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    model, X, y = six_classes()
    exact = model_stability(model, X, y, 0.9, resampling=None)
    assert exact.kind == "exact"
    monkeypatch.setattr(piece_search, "_MOST_IN_ALL", 0)
    short = model_stability(model, X, y, 0.9, resampling=None)
    assert short.kind == "upper_bound"
    told = np.asarray(exact.loss.distances)
    assert (np.asarray(short.loss.distances) >= told - 1e-9).all()
    assert short.lower_bound <= exact.value <= short.value
    changed = np.asarray(short.plan.distances)[:60] > 0.0
    assert (model.predict(short.changed_rows()) != y)[:60][changed].all()
