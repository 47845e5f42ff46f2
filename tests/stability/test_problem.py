"""What stability refuses, and how it says so."""

from typing import Any

import numpy as np
import pytest

import oracles
from optional import torch
from shiftmetrics import Computing
from shiftmetrics.stability import FixedLoss, StabilityResult, stability_criterion, worst_case_risk

INF = np.inf
DIVERGENCES = ("kl", "chi2")


# --- bad arguments ---------------------------------------------------------------------------------------

LOSS = FixedLoss([0.0, 1.0])
BAD: list[tuple[tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    (
        ([0.0, 1.0], 0.5),
        {},
        TypeError,
        "loss must be a loss object such as FixedLoss or ZeroOneLoss, got list. Wrap",
    ),
    ((FixedLoss, 0.5), {}, TypeError, "loss must be a loss object"),
    ((LOSS, np.nan), {}, ValueError, "threshold must be a number at least 0"),
    ((LOSS, INF), {}, ValueError, "threshold must be"),
    ((LOSS, -0.1), {}, ValueError, "threshold must be a number at least 0, got -0.1"),
    ((LOSS, "0.5"), {}, TypeError, "threshold must be a real number"),
    (
        (LOSS, 0.7),
        {"theta1": 0.0},
        ValueError,
        "theta1 must be a number greater than 0 (inf is allowed), got 0",
    ),
    ((LOSS, 0.7), {"theta2": -1.0}, ValueError, "theta2 must be"),
    ((LOSS, 0.7), {"theta2": np.nan}, ValueError, "theta2 must be"),
    (
        (LOSS, 0.7),
        {"divergence": "KL"},
        ValueError,
        "divergence must be one of 'kl', 'chi2', got 'KL'",
    ),
    (
        (LOSS, 0.7),
        {"sample_weight": [1.0]},
        ValueError,
        "sample_weight must be of length 2, got length 1",
    ),
    ((LOSS, 0.7), {"sample_weight": [1.0, -1.0]}, ValueError, "sample_weight must be at least 0"),
    (
        (LOSS, 0.7),
        {"sample_weight": [0.0, 0.0]},
        ValueError,
        "sample_weight must be positive for at least one row",
    ),
    ((LOSS, 0.7), {"sample_weight": [1.0, np.nan]}, ValueError, "sample_weight must be finite"),
    ((LOSS, 0.7), {"computing": Computing(atol=1.0)}, ValueError, "computing must be without atol"),
    (
        (LOSS, 0.7),
        {"resampling": 95},
        ValueError,
        "resampling must be a number greater than 0 and less than 1",
    ),
    ((LOSS, 0.7), {"computing": 2}, TypeError, "computing must be a Computing or None"),
]


@pytest.mark.parametrize(("arguments", "options", "error", "message"), BAD)
def test_bad_arguments_are_refused_in_words(
    arguments: tuple[Any, ...], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        stability_criterion(*arguments, **options)
    assert message in str(caught.value)
    if "threshold" not in message:
        with pytest.raises(error) as caught:
            worst_case_risk(*arguments, **options)
        assert message in str(caught.value)


def test_numbers_may_come_from_arrays() -> None:
    for threshold in (np.float32(0.75), np.array(0.75), torch.tensor(0.75)):
        result = stability_criterion(LOSS, threshold, theta1=INF)
        assert result.value == pytest.approx(oracles.zero_one_stability(0.5, 0.75, 0.4, "kl"))
        assert isinstance(result, StabilityResult)
