"""A shift in words: the risk in the unit of its loss, and what changes, to two significant digits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.result import format_number, format_percent

# Records written before losses said their words hold the name of the loss alone.
_OF_OLD_RECORDS = {
    "hinge": "hinge loss",
    "HingeLoss": "hinge loss",
    "log_loss": "log loss",
    "LogisticLoss": "log loss",
    "squared": "squared error",
    "SquaredLoss": "squared error",
}
# Effective fraction of the samples above which weights hardly matter beside changes.
NEARLY_EVEN = 0.99
# Mean absolute difference of the means of two random halves, in standard errors of the whole mean.
_MEAN_GAP = 2.0 * math.sqrt(2.0 / math.pi)


def two_digits(value: float) -> str:
    """Return a number with two significant digits."""
    return f"{float(f'{value:.2g}'):g}"


def at_most(value: float) -> str:
    """Return a number with two significant digits, rounded up: an upper bound stays one."""
    # one more in the second digit, where rounding has gone down
    shown = float(f"{value:.2g}")
    if 0.0 < shown < value:
        shown += 10.0 ** (math.floor(math.log10(shown)) - 1)
    return two_digits(shown)


def risk_name(settings: Mapping[str, Any]) -> str:
    """Return what the risk is the mean of: ``error rate``, or such as ``mean log loss``."""
    if settings.get("errors"):
        return "error rate"
    if "costs" in settings.get("decision", {}):
        return "mean cost of errors"
    words = settings.get("loss_in_words")
    if words is None:
        words = _OF_OLD_RECORDS.get(str(settings.get("loss")), "loss")
    return f"mean {words}"


def risk_number(risk: float, settings: Mapping[str, Any]) -> str:
    """Return a risk with up to three significant digits, as a percentage where it is an error rate."""
    if settings.get("errors"):
        return f"{100.0 * risk:.3g} %"
    return format_number(float(f"{risk:.3g}"))


def risk_in_words(risk: float, settings: Mapping[str, Any], now: float | None = None) -> str:
    """Return such as ``an error rate of 25 % (currently 5 %)``."""
    name = risk_name(settings)
    article = "an" if name.startswith("error") else "a"
    reached = risk_number(risk, settings)
    text = f"{article} {name} of {reached}"
    return text if now is None else f"{text} (currently {current_risk(now, reached, settings)})"


def current_risk(risk: float, reached: str, settings: Mapping[str, Any]) -> str:
    """Return a risk beside the one that is reached: an error rate with two digits that tell them apart."""
    number = format_percent(risk)
    if number == reached or not settings.get("errors"):
        return risk_number(risk, settings)
    return number


def shift_in_words(
    changed_fraction: float,
    rms_distance: float,
    effective_sample_fraction: float,
    largest: float | None = None,
    unit: str = "",
) -> str:
    """Say what a shift does to the samples; with the ``largest`` distance where it is known."""
    parts = []
    if rms_distance > 0.0:
        far = f"by {two_digits(rms_distance)}{unit} (root mean square)"
        if largest is not None:
            far = f"by at most {at_most(largest)}{unit}"
        parts.append(f"{format_percent(changed_fraction)} of the samples change {far}")
    elif effective_sample_fraction > NEARLY_EVEN:
        return "weights hardly change"
    if effective_sample_fraction <= NEARLY_EVEN:
        parts.append(
            f"the effective sample size falls to {format_percent(effective_sample_fraction)}"
        )
    return " and ".join(parts)


def halves_in_words(base_losses: FloatArray, settings: Mapping[str, Any]) -> str:
    """Say how far the risks of two random halves of the sample are apart, on the average."""
    standard_error = float(np.std(base_losses)) / math.sqrt(len(base_losses))
    apart = _MEAN_GAP * standard_error
    size = f"{two_digits(apart)} in their means"
    if settings.get("errors"):
        points = two_digits(100.0 * apart)
        size = f"{points} percentage {'point' if points == '1' else 'points'} of the error rate"
    return f"For comparison: two random halves of this sample differ by {size} on the average."
