"""How scores become decisions: the threshold or calibration around a model, and what its errors cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, to_float64
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import check_number
from shiftmetrics.models.reading.estimators import is_module
from shiftmetrics.models.reading.outputs import (
    asking,
    call,
    class_log_probabilities,
    predicted_labels,
)

Response = Literal["predict_proba", "decision_function"]


@dataclass(frozen=True, eq=False)
class Decision:
    """A classifier that decides at a threshold of its own, or whose errors cost different amounts.

    Parameters
    ----------
    model : object
        A fitted classifier, as `model_stability` takes it; or a callable or torch module that returns probabilities.
    threshold : float, optional
        A sample is of the second class from this probability on; from this score on, where the model has no
        probabilities. Default: as the model decides.
    costs : dict of label to float, optional
        Cost of an error on a sample of a label, 1 where it is not named. ``{"ill": 10}`` weighs a missed illness like
        ten false alarms. The risk is then a mean cost.

    Raises
    ------
    ValueError
        If a number is out of range.

    See Also
    --------
    model_stability : Takes it as a model, with ``loss="zero_one"``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftmetrics.models import Decision
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[1.0]]).item(), Decision(model, threshold=0.2).predict([[1.0]]).item()
    (0, 1)
    """

    model: Any
    threshold: float | None = None
    costs: Mapping[Any, float] | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None:
            check_number(self.threshold, "threshold")
        for label, cost in (self.costs or {}).items():
            check_number(cost, f"costs[{label!r}]", low=0.0)

    def __getattr__(self, name: str) -> Any:
        if name == "model" or name.startswith("__"):  # not there yet while it is copied
            raise AttributeError(name)
        return getattr(self.model, name)

    @property
    def response(self) -> Response | None:
        """What is compared with the threshold; None for the output of a callable."""
        if is_module(self.model) or hasattr(self.model, "predict_proba"):
            return "predict_proba"
        if hasattr(self.model, "decision_function"):
            return "decision_function"
        return None

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label of each row, of shape (n,).

        Raises
        ------
        ValueError
            If the model has no score of two classes.
        """
        if self.threshold is None:
            return predicted_labels(self.model, X)
        # The last column is that of the second class; a callable may return it alone.
        score = self._scores(X)
        if score.ndim == 2 and score.shape[1] <= 2:
            score = score[:, -1]
        if score.ndim != 1:
            got = f"one with outputs of shape {score.shape}"
            raise ArgumentValueError("model", "a classifier of two classes, for a threshold", got)
        classes = np.asarray(getattr(self.model, "classes_", [0, 1]))
        is_second = score >= self.threshold
        return np.asarray(classes[is_second.astype(np.int64)])

    def _scores(self, X: Any) -> FloatArray:
        if is_module(self.model):
            return np.exp(class_log_probabilities(self.model, X))
        if self.response is not None:
            with asking(self.model):
                return to_float64(getattr(self.model, self.response)(X))
        # What a model predicts may be the probability itself, as with those of statsmodels.
        if hasattr(self.model, "predict"):
            with asking(self.model):
                output = np.asarray(self.model.predict(X))
        else:
            output = call(self.model, X)
        if output.dtype.kind not in "fiub":
            expected = "one with probabilities or scores, for a threshold"
            raise ArgumentValueError("model", expected, type(self.model).__name__)
        return to_float64(output)

    def settings(self) -> dict[str, Any]:
        """Return the options that are set, for the ``settings`` of a result."""
        options: dict[str, Any] = {}
        if self.threshold is not None:
            options["threshold"] = self.threshold
        if self.costs is not None:
            options["costs"] = {str(label): float(cost) for label, cost in self.costs.items()}
        return options


@dataclass(frozen=True)
class Cut:
    """Where the decision falls on a response of a model: samples are of the second class from ``value`` on."""

    response: Response
    value: float

    @property
    def logit(self) -> float:
        """The cut on the scale of scores; a probability is that of a logistic model."""
        if self.response == "decision_function":
            return self.value
        if 0.0 < self.value < 1.0:
            return math.log(self.value) - math.log1p(-self.value)
        return math.inf


def behind(model: Any, *, decides: bool) -> tuple[Any, Cut | None]:
    """Return the model whose scores a rule compares with a threshold, and where; no cut for a decision of its own.

    Unwraps `Decision`, the threshold classifiers of scikit-learn and, where only the decision matters, calibrations
    of one model, alone or at the end of a pipeline. An average of several calibrated models is left as it is: no
    single score decides.

    Parameters
    ----------
    model : object
        A fitted model.
    decides : bool
        Whether only the decision matters; else the rule must keep the probabilities.
    """
    found, cut = _unwrapped(model, None, decides)
    if not decides or cut is None:
        return found, None
    if math.isfinite(cut.logit):
        return found, cut
    return model, None


def _unwrapped(model: Any, cut: Cut | None, decides: bool) -> tuple[Any, Cut | None]:
    """Take one rule after another off the model, or off the last step of its pipeline."""
    model = getattr(model, "best_estimator_", model)
    steps: list[Any] = []
    if not isinstance(model, Decision):  # which has the steps of its model
        steps = getattr(model, "steps", steps)
    last = model
    if steps:
        last = steps[-1][1]
    unwrap = _RULES.get(type(last).__name__)
    inner = None
    if unwrap is not None:
        inner = unwrap(last, cut, decides)
    if inner is None:
        return model, cut
    core, cut = inner
    # What was inside the last step takes its place.
    if len(steps) > 1:
        name = steps[-1][0]
        core = type(model)([*steps[:-1], (name, core)])
    return _unwrapped(core, cut, decides)


def _of_decision(rule: Decision, cut: Cut | None, decides: bool) -> tuple[Any, Cut | None] | None:
    # An outer cut decides alone, whatever an inner one would say.
    if rule.threshold is None or cut is not None or not decides:
        return rule.model, cut
    if rule.response is None:
        return None
    return rule.model, Cut(rule.response, rule.threshold)


def _of_threshold(rule: Any, cut: Cut | None, decides: bool) -> tuple[Any, Cut | None]:
    """Unwrap `FixedThresholdClassifier` and `TunedThresholdClassifierCV`, which pass scores on as they are."""
    model = getattr(rule, "estimator_", rule.estimator)
    if cut is not None or not decides:
        return model, cut
    response: Response = rule.response_method
    if rule.response_method == "auto":
        response = "decision_function"
        if hasattr(model, "predict_proba"):
            response = "predict_proba"
    # a probability of the first class is 1 minus that of the second
    scale = 0.0
    if response == "predict_proba":
        scale = 1.0
    # The tuned threshold, where there is one.
    threshold = getattr(rule, "best_threshold_", None)
    if threshold is None:
        threshold = rule.threshold
    if threshold == "auto":
        value = 0.5 * scale
    else:
        value = float(threshold)
    # Which class is the positive one, whose scores are compared?
    scorer = getattr(rule, "_curve_scorer", None)
    if scorer is None:
        positive = rule.pos_label
    else:
        positive = scorer._get_pos_label()
    if positive is None or positive == rule.classes_[1]:
        return model, Cut(response, value)
    return model, Cut(response, scale - value)


def _of_calibration(rule: Any, cut: Cut | None, decides: bool) -> tuple[Any, Cut | None] | None:
    """Unwrap a calibration of one model, by a function that rises with its score."""
    if not decides or len(rule.calibrated_classifiers_) != 1:
        return None
    part = rule.calibrated_classifiers_[0]
    if len(part.calibrators) != 1:
        return None
    known = np.asarray(getattr(part.estimator, "classes_", rule.classes_))
    if not np.array_equal(known, rule.classes_):
        return None
    scores = _raised_scores(part)
    if scores is None:
        return None
    if len(rule.classes_) != 2:
        # One temperature for all classes: the highest score stays the highest.
        if part.method == "temperature" and cut is None:
            return part.estimator, None
        return None

    # One calibrator of one score: the map is monotone, so that it cuts the score at one place.
    def is_second(score: float) -> bool:
        calibrated = part.calibrators[0].predict(scores(score))
        probability = float(np.ravel(calibrated)[-1])
        if cut is None:
            return probability > 0.5
        return probability >= cut.value

    response: Response = "predict_proba"
    far = 1.0
    if hasattr(part.estimator, "decision_function"):
        response = "decision_function"
        far = 2.0**40
    # Where does the calibrated decision begin, on the scale of the score?
    value = _first(is_second, far)
    if value is None:
        return None
    return part.estimator, Cut(response, value)


def _raised_scores(part: Any) -> Callable[[float], FloatArray] | None:
    """Return what the calibrator of one model takes, from one score; None for a calibrator that is not known."""
    if part.method in ("sigmoid", "isotonic"):
        return lambda score: np.array([score])
    if part.method != "temperature":
        return None
    # A temperature takes the scores of both classes; of a single margin it makes them itself.
    if hasattr(part.estimator, "decision_function"):
        return lambda score: np.array([[score]])
    return lambda score: np.array([[1.0 - score, score]])


def _first(is_second: Callable[[float], bool], far: float) -> float | None:
    """Return the lowest number up to ``far`` at which a rising decision is the second class; None where none is."""
    low = -far
    if far <= 1.0:
        low = 0.0  # a probability
    high = far
    if is_second(low) or not is_second(high):
        return None
    # Bisect to the last bit.
    while low < (middle := 0.5 * (low + high)) < high:
        if is_second(middle):
            high = middle
        else:
            low = middle
    return high


_RULES: dict[str, Callable[[Any, Cut | None, bool], tuple[Any, Cut | None] | None]] = {
    "Decision": _of_decision,
    "FixedThresholdClassifier": _of_threshold,
    "TunedThresholdClassifierCV": _of_threshold,
    "CalibratedClassifierCV": _of_calibration,
    "FrozenEstimator": lambda rule, cut, decides: (rule.estimator, cut),
}
