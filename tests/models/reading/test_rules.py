"""Decisions of real models: thresholds, calibrations, costs of errors; and predictions that are none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from optional import by_temperature
from shiftmetrics import Result, feature_stability, model_stability
from shiftmetrics.models import Decision, Perturbation, Search
from shiftmetrics.models.reading.rules import behind
from shiftmetrics.stability import CandidateLoss, ZeroOneLoss, stability_criterion

QUIET = Search(progress=False)


Sample = tuple[pd.DataFrame, np.ndarray]


@pytest.fixture(scope="module")
def sample() -> Sample:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(240, 3)) * [1.0, 5.0, 0.2] + [0.0, 20.0, 1.0], columns=["a", "b", "c"]
    )
    score = X["a"] + 0.3 * (X["b"] - 20.0) + rng.normal(size=240)
    return X, np.where(score > 0.5, "ill", "well")


@pytest.fixture(scope="module")
def logistic(sample: Sample) -> Any:
    X, y = sample
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(
        X, np.where(y == "ill", "sick", "fine")
    )


def stability(model: Any, sample: Sample, threshold: float = 0.4, **options: Any) -> Any:
    X, y = sample
    options = {"perturbation": Perturbation(bounds=None), "computing": QUIET, **options}
    return model_stability(model, X, np.where(y == "ill", "sick", "fine"), threshold, **options)


def distances_of(model: Any, X: pd.DataFrame, y: np.ndarray, cut: float) -> np.ndarray:
    """Return the distance of each row to where the margin of a scaled logistic regression is ``cut``."""
    weights, margin = model[-1].coef_[0], model.decision_function(X) - cut
    wrong = (margin >= 0.0) != (y == "ill")
    return np.where(wrong, 0.0, np.abs(margin) / np.linalg.norm(weights))


RULES: dict[str, Callable[[Any, Any, Any], tuple[Any, float]]] = {
    "probability": lambda m, X, y: (Decision(m, 0.2), np.log(0.2 / 0.8)),
    "fixed": lambda m, X, y: (
        FixedThresholdClassifier(FrozenEstimator(m), threshold=0.2).fit(X, y), np.log(0.2 / 0.8),
    ),
    "score": lambda m, X, y: (
        FixedThresholdClassifier(m, threshold=-0.7, response_method="decision_function").fit(X, y), -0.7,
    ),
    "first class": lambda m, X, y: (
        FixedThresholdClassifier(m, threshold=0.8, pos_label="fine").fit(X, y), np.log(0.2 / 0.8),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_a_threshold_on_a_linear_score_is_exact(sample: Sample, logistic: Any, rule: str) -> None:
    X, y = sample
    model, cut = RULES[rule](logistic, X, np.where(y == "ill", "sick", "fine"))
    result = stability(model, sample)
    expected = stability_criterion(ZeroOneLoss(distances_of(logistic, X, y, cut)), 0.4)
    assert (result.search.route, result.kind) == ("linear", "exact")
    assert result.value == pytest.approx(expected.value, rel=1e-9)
    moved = model.predict(result.changed_rows()) != np.where(y == "ill", "sick", "fine")
    assert result.plan.weights @ moved / len(y) == pytest.approx(0.4, abs=0.02)


@pytest.mark.parametrize(
    "method", ["sigmoid", "isotonic", pytest.param("temperature", marks=by_temperature)]
)
def test_a_calibration_of_one_linear_model_is_exact(
    sample: Sample, logistic: Any, method: Any
) -> None:
    X, y = sample
    sick = np.where(y == "ill", "sick", "fine")
    model = CalibratedClassifierCV(FrozenEstimator(logistic), method=method, cv=3).fit(X, sick)
    for decided, level in ((model, 0.5), (Decision(model, 0.3), 0.3)):
        scores = np.linspace(-6.0, 6.0, 200_001)
        calibrator = model.calibrated_classifiers_[0].calibrators[0]
        calibrated = calibrator.predict(scores)
        if calibrated.ndim == 2:  # of both classes, by temperature
            calibrated = calibrated[:, 1]
        cut = scores[(calibrated > level).argmax()]
        result = stability(decided, sample)
        expected = stability_criterion(ZeroOneLoss(distances_of(logistic, X, y, cut)), 0.4)
        assert (result.search.route, result.kind) == ("linear", "exact")
        assert result.value == pytest.approx(expected.value, rel=5e-3)


@by_temperature
@pytest.mark.parametrize(
    ("inner", "route"),
    [
        (LogisticRegression(), "linear"),
        (RandomForestClassifier(4, max_depth=3, random_state=0), "ensemble"),
    ],
)
def test_one_temperature_for_three_classes_changes_no_decision(inner: Any, route: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=150), [0.0, 1.5])
    fitted = inner.fit(X, y)
    model = CalibratedClassifierCV(FrozenEstimator(fitted), method="temperature").fit(X, y)
    result = model_stability(model, X, y, 0.5, computing=QUIET)
    plain = model_stability(fitted, X, y, 0.5, computing=QUIET)
    assert (result.search.route, result.kind) == (route, "exact")
    assert result.value == pytest.approx(plain.value, rel=1e-9)
    changed = np.asarray(result.plan.distances)[: len(y)] > 0.0
    wrong = model.predict(result.changed_rows())[: len(y)] != y
    assert wrong[changed].all()


@by_temperature
def test_a_calibration_with_other_classes_than_its_model_is_searched(sample: Sample) -> None:
    X, y = sample
    three = np.where(X["c"] > 1.2, "new", y)
    inner = LogisticRegression(max_iter=500).fit(X, three)
    model = CalibratedClassifierCV(FrozenEstimator(inner), method="temperature").fit(X, three)
    model.calibrated_classifiers_[0].estimator = LogisticRegression().fit(X, y)
    assert behind(model, decides=True) == (model, None)


@pytest.mark.slow
def test_an_average_of_calibrated_models_is_searched(sample: Sample, logistic: Any) -> None:
    X, y = sample
    model = CalibratedClassifierCV(logistic, cv=3).fit(X, np.where(y == "ill", "sick", "fine"))
    result = stability(model, sample)
    assert (result.search.route, result.kind) == ("blackbox", "upper_bound")
    assert any("ensemble=False" in text for text in result.warnings)


def test_a_tuned_threshold_at_the_end_of_a_pipeline(sample: Sample) -> None:
    X, y = sample
    tuned = TunedThresholdClassifierCV(LogisticRegression(), cv=3)
    model = make_pipeline(StandardScaler(), tuned).fit(X, np.where(y == "ill", "sick", "fine"))
    same = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        X, np.where(y == "ill", "sick", "fine")
    )
    result, expected = (
        stability(model, sample),
        stability(Decision(same, model[-1].best_threshold_), sample),
    )
    assert (result.kind, result.value) == ("exact", pytest.approx(expected.value, rel=1e-9))


@pytest.mark.parametrize(
    "forest",
    [
        RandomForestClassifier(10, max_depth=3, random_state=0),
        GradientBoostingClassifier(n_estimators=5),
    ],
)
def test_a_threshold_on_trees_agrees_with_enumeration(sample: Sample, forest: Any) -> None:
    X, y = sample
    sick = np.where(y == "ill", "sick", "fine")
    forest = forest.fit(X.to_numpy(), sick)
    model = Decision(forest, 0.3)
    X = X.to_numpy()
    result = model_stability(
        model, X, sick, 0.4, perturbation=Perturbation(features=[0]), computing=QUIET
    )
    grid = np.unique(
        np.concatenate([tree.tree_.threshold for tree in np.ravel(forest.estimators_)])
    )
    near = grid.astype(np.float32)
    grid = np.concatenate([near, *(np.nextafter(near, np.float32(side)) for side in (-9, 9))])
    nearest = np.where(model.predict(X) == sick, np.inf, 0.0)
    for value in grid:
        placed = X.copy()
        placed[:, 0] = value
        wrong = model.predict(placed) != sick
        nearest = np.where(
            wrong, np.minimum(nearest, np.abs(value - X[:, 0]) / X[:, 0].std()), nearest
        )
    assert (result.kind, result.search.route) == ("exact", "ensemble")
    assert result.value == pytest.approx(
        stability_criterion(ZeroOneLoss(nearest), 0.4).value, rel=1e-4
    )


def test_other_losses_take_no_notice_of_a_threshold(sample: Sample, logistic: Any) -> None:
    expected = stability(logistic, sample, 1.0, loss="log_loss")
    result = stability(Decision(logistic, 0.2), sample, 1.0, loss="log_loss")
    assert (result.value, result.kind) == (expected.value, "exact")


def test_errors_that_cost_more(sample: Sample, logistic: Any) -> None:
    X, y = sample
    result = stability(Decision(logistic, costs={"sick": 10.0}), sample, 2.0)
    distances, costs = distances_of(logistic, X, y, 0.0), np.where(y == "ill", 10.0, 1.0)
    wrong = distances == 0.0
    losses = np.stack([wrong * costs, costs], axis=1)
    expected = CandidateLoss(
        losses, np.stack([0.0 * distances, np.where(wrong, np.inf, distances)], axis=1)
    )
    assert result.value == pytest.approx(stability_criterion(expected, 2.0).value, rel=1e-9)
    assert (result.kind, result.base_risk) == ("exact", pytest.approx((wrong * costs).mean()))
    assert result.settings["decision"] == {"costs": {"sick": 10.0}}
    assert Result.from_json(result.to_json()).settings["decision"] == result.settings["decision"]


def test_features_are_ranked_for_a_decision(sample: Sample) -> None:
    X, y = sample
    forest = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
    model = Decision(forest, 0.3, costs={"ill": 10.0})
    options: dict[str, Any] = {"theta1": 0.4, "theta2": 0.4, "computing": QUIET}
    ranked = feature_stability(model, X, y, 3.0, perturbation=Perturbation(bounds=None), **options)
    for part in ranked.features:
        moves = Perturbation(features=[part.feature], bounds=None)
        alone = model_stability(model, X, y, 3.0, perturbation=moves, **options)
        assert part.value == pytest.approx(alone.value, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": {"dead": 2.0}}, "costs must be by labels that the model knows"),
        ({"costs": {"sick": -1.0}}, r"costs\['sick'\] must be a number at least 0"),
        ({"threshold": np.nan}, "threshold must be"),
    ],
)
def test_decisions_that_make_no_sense(
    sample: Sample, logistic: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        stability(Decision(logistic, **options), sample)


def test_costs_are_for_errors_and_fixed_labels(sample: Sample, logistic: Any) -> None:
    model = Decision(logistic, costs={"sick": 2.0})
    with pytest.raises(ValueError, match="loss must be 'zero_one' where errors have costs"):
        stability(model, sample, loss="log_loss")
