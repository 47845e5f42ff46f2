"""Linear models of pairs of classes: who is predicted, and what is nearest, on grids and by quadratic programs."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from shiftmetrics import Perturbation, model_stability
from shiftmetrics.models.linear.duels import duels_of
from shiftmetrics.models.reading.estimators import last_step

MODELS = {
    "SVC": SVC(kernel="linear"),
    "SVC by sums": SVC(kernel="linear", break_ties=True),
    "SVC by pairs": SVC(kernel="linear", decision_function_shape="ovo"),
    "NuSVC": make_pipeline(StandardScaler(), NuSVC(kernel="linear", nu=0.1)),
    "OneVsOne": OneVsOneClassifier(LinearSVC()),
    "OneVsOne, probabilities": OneVsOneClassifier(LogisticRegression()),
}


def cyclic(n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a sample whose classes lie around a centre, so that pairs contradict each other there."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=60)
    angle = 2.0 * np.pi * y / n_classes
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return X + rng.normal(0.0, 0.6, X.shape), y


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("n_classes", [3, 5])
def test_what_is_predicted(model: Any, n_classes: int) -> None:
    X, y = cyclic(n_classes)
    model.fit(X, y)
    rng = np.random.default_rng(1)
    points = rng.normal(0.0, 2.0, (3000, 2))
    rows = points
    if hasattr(model, "steps"):
        rows = model[:-1].transform(points)
    duels = duels_of(last_step(model))
    np.testing.assert_array_equal(duels.predict(duels.values(rows)), model.predict(points))


def nearest_on_a_grid(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the distance of each row to the nearest error on a fine grid, and how far that may be off."""
    axes = [np.linspace(column.min(), column.max(), 300) for column in X.T]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    labels = model.predict(points)
    unit = X.std(axis=0)
    nearest = np.empty(len(X))
    for row, start in enumerate(X):
        apart = np.linalg.norm((points - start) / unit, axis=1)
        nearest[row] = apart[labels != y[row]].min()
    nearest[model.predict(X) != y] = 0.0
    return nearest, max(np.ptp(axis) / 299 / s for axis, s in zip(axes, unit, strict=True)) * 1.5


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_distances_are_those_of_a_grid(model: Any) -> None:
    X, y = cyclic(6, seed=2)  # some rows stand where pairs contradict each other
    model.fit(X, y)
    result = model_stability(model, X, y, 0.9, resampling=None)
    assert (result.kind, result.search.route) == ("exact", "pairs")
    ours = np.asarray(result.loss.distances)
    nearest, step = nearest_on_a_grid(model, X, y)
    assert (ours <= nearest + 1e-9).all()
    assert (nearest <= ours + step).all()
    changed = np.asarray(result.plan.distances)[:60] > 0.0
    assert (model.predict(result.changed_rows()) != y)[:60][changed].all()


def by_programs(model: Any, start: np.ndarray, label: int, X: np.ndarray) -> float:
    """Return the distance to the nearest piece of another class, by a program for each pattern of wins."""
    members = model.estimators_
    weights = np.concatenate([member.coef_ for member in members]) * X.std(axis=0)
    here = np.array([member.decision_function(start[None])[0] for member in members])
    nearest = np.inf
    for signs in itertools.product([-1.0, 1.0], repeat=len(members)):
        for extra in (None, 0, 1, 2):
            wins = np.zeros(3)
            sums = np.zeros((3, len(members)))
            for sign, (number, pair) in zip(
                signs, enumerate([(0, 1), (0, 2), (1, 2)]), strict=True
            ):
                wins[pair[1] if sign > 0 else pair[0]] += 1
                sums[pair[1], number] += 1.0
                sums[pair[0], number] -= 1.0
            rows = [(sign * w, sign * h) for sign, w, h in zip(signs, weights, here, strict=True)]
            if wins[label] == wins.max():
                if extra is None or extra == label or wins[extra] < wins.max():
                    continue
                lead = sums[extra] - sums[label]
                rows.append((lead @ weights, float(lead @ here)))
            elif extra is not None:
                continue
            limits = [
                {"type": "ineq", "fun": lambda z, w=w, h=h: w @ z + h, "jac": lambda z, w=w: w}
                for w, h in rows
            ]
            ends = (np.stack([X.min(axis=0), X.max(axis=0)]) - start) / X.std(axis=0)
            found = minimize(
                lambda z: z @ z, ends.mean(axis=0), jac=lambda z: 2 * z, constraints=limits,
                bounds=ends.T, method="SLSQP", options={"maxiter": 300, "ftol": 1e-14},
            )  # fmt: skip
            if found.success and all(w @ found.x + h > -1e-7 for w, h in rows):
                nearest = min(nearest, float(np.linalg.norm(found.x)))
    return nearest


def test_more_columns_agree_with_a_program_for_each_piece() -> None:
    X, y = load_wine(return_X_y=True)
    X = X[::6, [0, 6, 9]] + np.random.default_rng(0).normal(0.0, 0.5, (30, 3))
    y = y[::6]
    model = OneVsOneClassifier(LogisticRegression()).fit(X, y)
    result = model_stability(model, X, y, 0.9, resampling=None)
    assert (result.kind, result.search.route) == ("exact", "pairs")
    right = model.predict(X) == y
    expected = np.zeros(30)
    for row in np.flatnonzero(right).tolist():
        expected[row] = by_programs(model, X[row], int(y[row]), X)
    np.testing.assert_allclose(result.loss.distances, expected, atol=1e-4)


def test_categories_flip_with_the_numbers() -> None:
    X, y = cyclic(3)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["c"] = rng.choice(["u", "v"], 60)
    frame["a"] += (frame["c"] == "u") * 1.0
    encode = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    model = make_pipeline(encode, SVC(kernel="linear")).fit(frame, y)
    result = model_stability(model, frame, y, 0.9, resampling=None)
    assert (result.kind, result.search.route) == ("exact", "pairs")
    apart = np.sqrt(2.0 / (2.0 * (frame["c"] == "u").mean() * (frame["c"] == "v").mean()))
    axes = [np.linspace(frame[name].min(), frame[name].max(), 200) for name in ("a", "b")]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    unit = frame[["a", "b"]].std(ddof=0).to_numpy()
    labels = {
        word: model.predict(pd.DataFrame({"a": grid[:, 0], "b": grid[:, 1], "c": word}))
        for word in ("u", "v")
    }
    ours = np.asarray(result.loss.distances)
    right = model.predict(frame) == y
    for row in np.flatnonzero(right).tolist():
        step = np.linalg.norm((grid - frame.iloc[row, :2].to_numpy(float)) / unit, axis=1)
        nearest = np.inf
        for word, predicted in labels.items():
            cost = 0.0 if frame["c"].iloc[row] == word else apart
            nearest = min(nearest, np.hypot(step, cost)[predicted != y[row]].min())
        assert ours[row] <= nearest + 1e-9
        assert nearest <= ours[row] + 0.06


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_integers_are_counted(model: Any) -> None:
    X, y = cyclic(3)
    rows = np.rint(3.0 * X)
    model.fit(rows, y)
    options = Perturbation(integer=[0, 1])
    result = model_stability(model, rows, y, 0.9, resampling=None, perturbation=options)
    axes = [np.arange(column.min(), column.max() + 1.0) for column in rows.T]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    apart = np.linalg.norm((points - rows[:, None]) / rows.std(axis=0), axis=2)
    wrong = model.predict(points) != y[:, None]
    expected = np.where(wrong, apart, np.inf).min(axis=1)
    ours = np.asarray(result.loss.distances)
    assert (ours >= expected - 1e-9).all()
    if result.kind == "exact":
        np.testing.assert_allclose(ours, expected, atol=1e-9)
    changed = np.asarray(result.plan.distances)[:60] > 0.0
    assert (model.predict(result.changed_rows()) != y)[:60][changed].all()


@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        OneVsOneClassifier(SVC()),
        LogisticRegression(),
        SVC(kernel="linear").fit(*cyclic(2)),
    ],
    ids=["kernel", "kernels", "linear", "two"],
)
def test_others_have_no_pairs(model: Any) -> None:
    if not hasattr(model, "classes_"):
        model.fit(*load_iris(return_X_y=True))
    assert duels_of(model) is None
