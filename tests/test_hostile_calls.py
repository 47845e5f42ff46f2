"""Every function and every argument with every hostile value: an answer, or a refusal in words of this package.

``python tests/test_hostile_calls.py`` prints what is not, by function, argument and value.
"""

import contextlib
import io
import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import hostile_inputs as hostile
from shiftmetrics import (
    Computing,
    Perturbation,
    Resampling,
    feature_stability,
    kernel_entropic_novelty,
    model_stability,
    posterior_agreement,
    stability_criterion,
    worst_case_risk,
)
from shiftmetrics.agreement import (
    agreement_curves,
    agreement_matrix,
    pair_samples,
)
from shiftmetrics.comparison import compare_agreement, compare_novelty, compare_stability
from shiftmetrics.novelty import NoveltyResampling, choose_bandwidth
from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    SquaredLoss,
    ZeroOneLoss,
    stability_curve,
)

N = 24
RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(N, 3))
SCORES = REFERENCE + RNG.normal(size=(N, 3))
LABELS = RNG.integers(0, 3, N)
LOSSES = RNG.exponential(size=N)
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
Y = np.arange(N) % 2
MODEL = LogisticRegression().fit(X, Y)
QUIET = Computing(progress=False)
FEW = NoveltyResampling(n_resamples=19)

CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "posterior_agreement": (
        posterior_agreement,
        {
            "scores": SCORES, "reference_scores": REFERENCE, "prior": None, "sample_weight": None,
            "floor": None, "kind": "auto", "resampling": None, "pairing": "labels", "computing": QUIET,
        },
    ),
    "agreement_curves": (
        agreement_curves, {"scores": {0.0: REFERENCE, 1.0: SCORES}, "reference_scores": REFERENCE},
    ),
    "agreement_matrix": (agreement_matrix, {"scores": {"a": SCORES, "b": REFERENCE}}),
    "pair_samples": (
        pair_samples,
        {"features": SCORES, "reference": REFERENCE, "labels": LABELS, "reference_labels": LABELS},
    ),
    "stability_criterion": (
        partial(stability_criterion, computing=QUIET),
        {
            "loss": HingeLoss(LOSSES, 1.0), "threshold": 0.9, "theta1": 0.4, "theta2": 0.4,
            "divergence": "kl", "sample_weight": None, "resampling": 0.9,
        },
    ),
    "worst_case_risk": (
        worst_case_risk, {"loss": HingeLoss(LOSSES, 1.0), "budget": 0.1, "theta1": 0.4, "theta2": 0.4},
    ),
    "stability_curve": (
        stability_curve, {"loss": HingeLoss(LOSSES, 1.0), "thresholds": [0.8, 0.9]},
    ),
    "FixedLoss": (FixedLoss, {"losses": LOSSES}),
    "ZeroOneLoss": (ZeroOneLoss, {"distances": LOSSES}),
    "ZeroOneLoss, chi2": (
        lambda distances: stability_criterion(ZeroOneLoss(distances), 0.5, divergence="chi2"),
        {"distances": LOSSES},
    ),
    "HingeLoss": (HingeLoss, {"margins": LOSSES, "weight_norm": 1.0}),
    "LogisticLoss": (LogisticLoss, {"margins": LOSSES, "weight_norm": 1.0}),
    "SquaredLoss": (SquaredLoss, {"residuals": LOSSES, "weight_norm": 1.0}),
    "CandidateLoss": (
        CandidateLoss,
        {"losses": np.stack([LOSSES, LOSSES + 1], 1), "distances": np.stack([0 * LOSSES, LOSSES], 1)},
    ),
    "model_stability": (
        partial(model_stability, computing=QUIET),
        {
            "model": MODEL, "X": X, "y": Y, "threshold": 0.6, "loss": "zero_one", "theta1": 0.4,
            "theta2": 0.4, "perturbation": Perturbation(), "sample_weight": None, "resampling": None,
        },
    ),
    "feature_stability": (
        partial(feature_stability, computing=QUIET), {"model": MODEL, "X": X, "y": Y, "threshold": 0.6},
    ),
    "kernel_entropic_novelty": (
        kernel_entropic_novelty,
        {
            "features": SCORES, "reference": REFERENCE, "eta": 1.0, "kernel": "gaussian",
            "bandwidth": 1.0, "method": "auto", "resampling": FEW, "computing": QUIET,
        },
    ),
    "choose_bandwidth": (choose_bandwidth, {"features": SCORES, "reference": REFERENCE}),
    "compare_agreement": (
        partial(compare_agreement, resampling=Resampling(n_resamples=39, rng=0)),
        {"scores": {"a": SCORES, "b": REFERENCE}, "reference_scores": REFERENCE, "labels": LABELS},
    ),
    "compare_stability": (
        compare_stability,
        {"losses": {"a": HingeLoss(LOSSES, 1.0), "b": HingeLoss(LOSSES, 2.0)}, "threshold": 0.9},
    ),
    "compare_novelty": (
        partial(compare_novelty, bandwidth=1.0, resampling=FEW),
        {"samples": {"a": SCORES, "b": SCORES + 1.0}, "reference": REFERENCE},
    ),
    "Perturbation": (
        lambda **options: model_stability(
            MODEL, X, Y, 0.6, perturbation=Perturbation(**options), computing=QUIET
        ),
        {"features": None, "cost": None, "bounds": None, "immutable": None, "integer": None},
    ),
    "Resampling": (
        lambda **options: posterior_agreement(SCORES, REFERENCE, resampling=Resampling(**options)),
        {"confidence_level": 0.9, "n_resamples": 39, "groups": None, "rng": 0},
    ),
    "Computing": (
        lambda **options: posterior_agreement(SCORES, REFERENCE, computing=Computing(**options)),
        {"executor": None, "memory_limit": None, "atol": None, "max_iter": None},
    ),
}  # fmt: skip
VALUES = hostile.values(np.random.default_rng(1), N)


def wrong(name: str) -> dict[tuple[str, str], str]:
    """Return what is wrong with a function: by its argument, and by the value that it gets."""
    function, arguments = CALLS[name]
    found = {}
    for argument, usual in arguments.items():
        for called, make in VALUES.items():
            changed = {**arguments, argument: make()}
            if isinstance(usual, dict):  # inside a mapping of samples too
                changed[argument] = dict(
                    zip(usual, [make(), *list(usual.values())[1:]], strict=True)
                )
            with (
                warnings.catch_warnings(),
                contextlib.redirect_stderr(io.StringIO()),
                np.errstate(all="ignore"),
            ):
                warnings.simplefilter("ignore")
                problem = hostile.outcome(partial(function, **changed))
            if problem is not None:
                found[argument, called] = problem
    return found


def test_the_usual_call_is_an_answer() -> None:
    for name, (function, arguments) in CALLS.items():
        assert hostile.outcome(partial(function, **arguments)) is None, name


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_an_answer_or_a_refusal_in_words(name: str) -> None:
    assert wrong(name) == {}


if __name__ == "__main__":
    total = 0
    for function_name in sys.argv[1:] or CALLS:
        for (argument_name, value_name), text in wrong(function_name).items():
            total += 1
            print(f"{function_name:24} {argument_name:18} {value_name:24} {text}", flush=True)
    print(total, "of", sum(len(arguments) * len(VALUES) for _, arguments in CALLS.values()))
