"""Linear models of scikit-learn: exact distances and losses, for every kind of model, in the raw columns."""

import itertools
import tracemalloc

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from oracles import valid_moves
from shiftmetrics import HingeLoss, LogisticLoss, SquaredLoss, ZeroOneLoss, stability_criterion
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.models.linear import nearest
from shiftmetrics.models.linear.scores import AdditiveScores
from shiftmetrics.models.measures.result import ModelStabilityResult
from shiftmetrics.models.reading.model import problem_of

CLASSIFIERS = [
    LogisticRegression(max_iter=2000),
    LinearSVC(random_state=0),
    SGDClassifier(random_state=0),
    RidgeClassifier(),
    Perceptron(random_state=0),
    LinearDiscriminantAnalysis(),
    OneVsRestClassifier(LogisticRegression(max_iter=2000)),
]


REGRESSIONS = [
    LinearRegression(),
    Ridge(),
    Lasso(0.1),
    ElasticNet(0.01),
    SGDRegressor(random_state=0),
]


def named(models: list[object]) -> dict[str, object]:
    return {"argvalues": models, "ids": [type(model).__name__ for model in models]}


@pytest.fixture(scope="module")
def cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :8], y[:200]


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


def check_places(
    result: ModelStabilityResult, model: object, X: object, y: object, **options: object
) -> None:
    """Recompute distances and losses at the moved rows with the model itself."""
    problem = problem_of(model, X, y, **options)
    assert result.changed.codes is not None
    assert valid_moves(problem.domain, result.changed.codes, problem.codes).all()
    distances = problem.domain.distances(result.changed.codes, problem.codes)
    np.testing.assert_allclose(distances, result.plan.distances, rtol=1e-5, atol=1e-9)
    losses = problem.losses(result.changed.codes, slice(None))
    np.testing.assert_allclose(losses, result.plan.losses, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler(), RobustScaler(), PCA(5)]
)
def test_a_pipeline_with_a_scaler_is_followed_exactly(
    scaler: object, cancer: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = cancer
    model = make_pipeline(StandardScaler(), scaler, LogisticRegression()).fit(X, y)
    margins = model.decision_function(X) * (2 * y - 1)
    # The weights of the raw columns, from the scores of unit moves; in units of standard deviations.
    origin = model.decision_function(np.zeros((1, 8)))
    weights = (model.decision_function(np.eye(8)) - origin) * X.std(axis=0)
    norm = np.linalg.norm(weights)
    expected = {
        "zero_one": ZeroOneLoss(np.maximum(margins, 0.0) / norm),
        "hinge": HingeLoss(margins, norm),
        "log_loss": LogisticLoss(margins, norm),
    }
    for name, loss in expected.items():
        base = loss.base(slice(0, 200)).mean()
        one = model_stability(model, X, y, base + 0.2, loss=name)
        assert one.value == pytest.approx(stability_criterion(loss, base + 0.2).value, rel=1e-6)
        assert (one.kind, one.search.route) == ("exact", "linear")
        check_places(one, model, X, y, loss=name)


@pytest.mark.parametrize("model", **named(REGRESSIONS))
def test_regressions_by_the_squared_loss(model: object) -> None:
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:150] * 100, y[:150]
    model.fit(X, y)
    residuals = model.predict(X) - y
    threshold = 1.3 * (residuals**2).mean()
    free = Perturbation(bounds=None)
    result = model_stability(model, X, y, threshold, loss="squared", perturbation=free)
    plain = SquaredLoss(residuals, float(np.linalg.norm(model.coef_ * X.std(axis=0))))
    assert result.value == pytest.approx(stability_criterion(plain, threshold).value, rel=1e-6)
    check_places(result, model, X, y, loss="squared", perturbation=free)
    bounded = model_stability(model, X, y, threshold, loss="squared")
    assert bounded.value >= result.value
    assert bounded.kind == "exact"
    check_places(bounded, model, X, y, loss="squared")


@pytest.mark.parametrize("model", **named(CLASSIFIERS))
def test_several_classes_have_a_nearest_rival(
    model: object, iris: tuple[np.ndarray, np.ndarray]
) -> None:
    X, y = iris
    model.fit(X, y)
    scores, y_at = model.decision_function(X), np.searchsorted(model.classes_, y)
    origin = model.decision_function(np.zeros((1, 4)))
    weights = (model.decision_function(np.eye(4)) - origin) * X.std(axis=0)[:, None]
    nearest = np.full(len(X), np.inf)
    for rival in range(3):
        other = y_at != rival
        lead = scores[np.arange(len(X)), y_at] - scores[:, rival]
        norm = np.maximum(np.linalg.norm(weights[:, y_at] - weights[:, [rival]], axis=0), 1e-300)
        nearest[other] = np.minimum(nearest[other], (np.maximum(lead, 0.0) / norm)[other])
    free = Perturbation(bounds=None)
    result = model_stability(model, X, y, 0.5, perturbation=free)
    assert result.value == pytest.approx(
        stability_criterion(ZeroOneLoss(nearest), 0.5).value, rel=1e-6
    )
    assert result.kind == "exact"
    check_places(result, model, X, y, perturbation=free)


def test_the_hinge_loss_of_several_classes(iris: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = iris
    model = LinearSVC(random_state=0).fit(X, y)
    result = model_stability(model, X, y, 1.5, loss="hinge")
    assert result.kind == "exact"
    check_places(result, model, X, y, loss="hinge")


def test_the_logistic_loss_of_several_classes_is_searched_between_bounds(
    iris: tuple[np.ndarray, np.ndarray],
) -> None:
    X, y = iris
    model = LogisticRegression(max_iter=2000).fit(X, y)
    result = model_stability(model, X, y, 0.8, loss="log_loss")
    assert result.kind == "upper_bound"
    assert result.lower_bound is not None
    assert 0.5 * result.value < result.lower_bound <= result.value
    assert result.search.trace is not None
    assert list(result.search.trace.values) == sorted(result.search.trace.values, reverse=True)
    assert "Certified lower bound" in result.summary()
    check_places(result, model, X, y, loss="log_loss")


def test_a_search_over_parameters_is_its_best_model(cancer: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = cancer
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [1.0]}
    )
    search.fit(X, y)
    assert (
        model_stability(search, X, y, 0.3).value
        == model_stability(search.best_estimator_, X, y, 0.3).value
    )


@pytest.mark.parametrize("loss", ["zero_one", "hinge", "log_loss"])
def test_stability_falls_as_more_may_move(loss: str, cancer: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = cancer
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    frozen, *grown = [
        model_stability(
            model, X, y, 0.6, loss=loss, perturbation=Perturbation(features=range(k))
        ).value
        for k in range(9)
    ]
    reweighted = model_stability(model, X, y, 0.6, loss=loss, theta1=np.inf).value
    assert frozen == pytest.approx(reweighted, rel=1e-9)
    assert all(
        after <= before * (1 + 1e-9) for before, after in zip([frozen, *grown], grown, strict=False)
    )


@pytest.mark.parametrize("loss", ["zero_one", "hinge", "log_loss"])
def test_stability_rises_as_bounds_close(loss: str, cancer: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = cancer
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    middle, width = X.mean(axis=0), X.std(axis=0)
    values = []
    for reach in (np.inf, 3.0, 1.0, 0.3, 0.0):
        low, high = middle - reach * width, middle + reach * width
        moves = Perturbation(bounds={k: (low[k], high[k]) for k in range(8)})
        values.append(model_stability(model, X, y, 0.6, loss=loss, perturbation=moves).value)
    assert all(after >= before * (1 - 1e-9) for before, after in itertools.pairwise(values))
    assert values[-1] > values[0]


def test_nearest_errors_take_blocks_of_rows(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20))
    y = (X @ rng.normal(size=20) + rng.normal(size=len(X)) > 0).astype(int)
    model = LogisticRegression().fit(X[:2000], y[:2000])
    problem = problem_of(model, X, y)
    scores = AdditiveScores.of(problem)
    at_once = nearest.nearest_errors(problem, scores)
    monkeypatch.setattr(nearest, "BLOCK_BYTES", 1 << 20)
    tracemalloc.start()
    in_blocks = nearest.nearest_errors(problem, scores)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes
    np.testing.assert_allclose(in_blocks.loss.distances, at_once.loss.distances, rtol=1e-12)
    rows = np.flatnonzero(at_once.loss.distances > 0.0)[:2500]
    expected = at_once.points(rows, at_once.loss.distances[rows], None)
    np.testing.assert_allclose(in_blocks.points(rows, None, None), expected, atol=1e-9)
    # On the boundary a prediction depends on the rows beside it, by rounding.
    lead = model.decision_function(expected) * (2 * y[rows] - 1)
    assert (lead < 1e-12).all()
