"""Options that many functions share are refused alike, whichever function they are given to."""

import importlib
import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from shiftmetrics import ZeroOneLoss

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(40, 3))
OTHERS = SCORES + 0.5 * RNG.normal(size=SCORES.shape)
X, Y = RNG.normal(size=(2, 40, 2))
OUTPUTS = dict(zip("abc", SCORES.T, strict=True))
LABELS = (X[:, 0] + 0.3 * RNG.normal(size=40) > 0.0).astype(int)
MODEL = LogisticRegression().fit(X, LABELS)
LOSS = ZeroOneLoss(RNG.exponential(size=40) * (RNG.random(40) > 0.1))

CALLS: dict[str, tuple[Any, ...]] = {
    "agreement.agreement_contributions": (OTHERS, SCORES, LABELS),
    "agreement.agreement_curves": ({1.0: OTHERS, 2.0: Y @ np.ones((2, 3))}, SCORES),
    "agreement.agreement_matrix": ({"a": OTHERS, "b": SCORES},),
    "agreement.pair_samples": (OTHERS, SCORES),
    "agreement.posterior_agreement": (OTHERS, SCORES),
    "comparison.compare_agreement": ({"a": OTHERS, "b": SCORES}, {"a": SCORES, "b": SCORES}),
    "comparison.compare_novelty": ({"a": X, "b": Y}, X),
    "comparison.compare_regressions": (OUTPUTS, OUTPUTS),
    "comparison.compare_results": ({},),
    "comparison.compare_stability": ({"a": LOSS, "b": LOSS}, 0.4),
    "models.feature_stability": (MODEL, X, LABELS, 0.4),
    "models.least_changes": (MODEL, X),
    "models.model_stability": (MODEL, X, LABELS, 0.4),
    "novelty.kernel_entropic_novelty": (X, Y),
    "stability.stability_criterion": (LOSS, 0.4),
    "stability.stability_curve": (LOSS,),
    "stability.trade_off": (LOSS, 0.4),
    "stability.worst_case_risk": (LOSS, 0.1),
}


def public(name: str) -> Any:
    room, function = name.split(".")
    return getattr(importlib.import_module(f"shiftmetrics.{room}"), function)


def taking(option: str) -> list[str]:
    return [name for name in CALLS if option in inspect.signature(public(name)).parameters]


@pytest.mark.parametrize("option", ["computing", "resampling"])
def test_every_function_that_takes_an_option_is_called_here(option: str) -> None:
    for room in ("agreement", "comparison", "models", "novelty", "stability"):
        module = importlib.import_module(f"shiftmetrics.{room}")
        for name in module.__all__:
            if inspect.isfunction(getattr(module, name)):
                takes = option in inspect.signature(getattr(module, name)).parameters
                assert not takes or f"{room}.{name}" in CALLS, f"{room}.{name}"


@pytest.mark.parametrize("value", [4, {"atol": 1e-9}], ids=str)
@pytest.mark.parametrize("name", taking("computing"))
def test_how_to_compute_is_a_computing(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"computing must be a (Search, )?(a )?Computing"):
        public(name)(*CALLS[name], computing=value)


@pytest.mark.parametrize("value", [95, "95 %", [0.9], True], ids=str)
@pytest.mark.parametrize("name", taking("resampling"))
def test_how_to_resample_is_a_level_or_a_resampling(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="resampling must be a"):
        public(name)(*CALLS[name], resampling=value)
