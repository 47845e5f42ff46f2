"""How much worse a result is than the same one of an earlier release, read from its file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from shiftmetrics._core.collection import read_results
from shiftmetrics._core.record import encode
from shiftmetrics._core.result import Result
from shiftmetrics.tools.rules.fields import Reading
from shiftmetrics.tools.rules.rule import Rule, nearest_names

NO_DIRECTION = ("comparison", "novelty.")
"""Measures that are neither better nor worse when they rise: novelty, or a comparison, whatever it compares."""

_INCIDENTAL = {"versions", "rng", "seed", "reason", "progress", "executor", "n_jobs", "keep_rows", "max_iter"}
"""Settings that may differ between releases: they say how a number was found, not what it is of."""


class Baselines:
    """The results of earlier releases, each file read once."""

    def __init__(self) -> None:
        self._read: dict[str, dict[str, Result]] = {}

    def partner_of(self, rule: Rule, name: str, result: Result) -> Result:
        """Return the earlier result that goes with one: of the same name, or the only one of its measure.

        Raises
        ------
        ValueError
            If the file cannot be read, has no such result, or one measured with other settings.
        """
        path = str(rule.baseline)
        if path not in self._read:
            if not Path(path).is_file():
                raise ValueError(
                    f"baseline must be an existing file of results, got {path!r}, which is not there."
                )
            self._read[path] = read_results(path)
        earlier = self._read[path]
        alike = {key: part for key, part in earlier.items() if part.measure == result.measure}
        partner = alike.get(name) or (next(iter(alike.values())) if len(alike) == 1 else None)
        if partner is None:
            raise ValueError(
                f"The baseline {path!r} has no result {name!r} of measure {result.measure!r}. "
                + nearest_names(name, alike or earlier)
            )
        if rule.same_settings:
            _check_settings(result.settings, partner.settings, path)
        return partner


def worse_by(rule: Rule, result: Result, now: Reading, earlier: Reading) -> Reading:
    """Return by how much a field is worse than before: positive where it is.

    Raises
    ------
    ValueError
        If it is no number, or its direction is not known.
    """
    if now.low is None or now.high is None or earlier.low is None or earlier.high is None:
        raise ValueError(f"The field {rule.field!r} must be a number to be worse than another one.")
    sign = 1.0 if _higher_is_better(rule, result) else -1.0
    if now.value == earlier.value:  # the same computation has the same error
        return Reading(value=0.0, low=0.0, high=0.0)
    low, high = sorted([sign * (earlier.low - now.high), sign * (earlier.high - now.low)])
    return Reading(
        value=sign * (float(earlier.value) - float(now.value)),
        low=low,
        high=high,
        because=now.because or earlier.because,
    )


def paired_worse_by(rule: Rule, result: Result, earlier: Result) -> Reading:
    """Return by how much the value is worse, with the paired interval of the difference: both saw the same rows.

    Raises
    ------
    ValueError
        If the field is not the value, or both do not come from the same rows.
    """
    if rule.field != "value" or rule.row is not None:
        raise ValueError('using = "interval" with a baseline must be for the field "value". Leave it out.')
    from shiftmetrics.comparison import compare_results

    now, before = "this release", "the baseline"
    try:
        compared = compare_results({now: result, before: earlier})
    except (TypeError, ValueError) as error:
        raise ValueError(f'{error} Without using = "interval", the two values are compared.') from error
    pair = compared.differences[0]
    if pair.first != now:
        pair = pair.reversed()
    sign = 1.0 if _higher_is_better(rule, result) else -1.0
    low, high = sorted([-sign * pair.interval.low, -sign * pair.interval.high])
    told = [f"{100 * pair.interval.level:g} % interval of the paired difference"]
    if result.value == earlier.value:  # the same computation has the same error
        return Reading(value=0.0, low=min(low, 0.0), high=max(high, 0.0), because=tuple(told))
    # Differences within the numerical error are none to a comparison; to a gate they may be that large.
    errors = result.error_bound + earlier.error_bound
    if 100.0 * errors >= high - low:
        told.append("numerical error")
    worse = sign * (earlier.value - result.value)
    return Reading(
        value=worse, low=min(low, worse) - errors, high=max(high, worse) + errors, because=tuple(told)
    )


def margin_of(rule: Rule, earlier: Reading) -> float:
    """Return how much worse is allowed, in the unit of the field."""
    margin, share = rule.margin
    if not share:
        return margin
    # A share of infinity would forgive any fall from it.
    return margin * abs(float(earlier.value)) if math.isfinite(float(earlier.value)) else 0.0


def direction_of(rule: Rule, result: Result) -> bool | None:
    """Tell whether higher is better for the field of a rule; None where nobody says."""
    if rule.better is not None:
        return rule.better == "higher"
    if rule.field != "value" or rule.row is not None or result.measure.startswith(NO_DIRECTION):
        return None
    return result.higher_is_better


def _higher_is_better(rule: Rule, result: Result) -> bool:
    higher = direction_of(rule, result)
    if higher is None:
        raise ValueError(
            f"Which direction is better must be said of the field {rule.field!r} of {result.measure}. "
            'Add better = "higher" or better = "lower".'
        )
    return higher


def _check_settings(now: Mapping[str, Any], earlier: Mapping[str, Any], path: str) -> None:
    """Refuse to compare what was measured in two ways."""
    for name in now.keys() & earlier.keys() - _INCIDENTAL:
        if _plain(now[name]) != _plain(earlier[name]):
            raise ValueError(
                f"The baseline {path!r} was measured with {name} {earlier[name]!r}, and this result with "
                f"{now[name]!r}. Measure alike, or write same_settings = false."
            )


def _plain(value: Any) -> Any:
    """Return a setting as its JSON would hold it, arrays in full: it is the same before and after a file."""
    return encode(
        value, lambda _path, array: [str(array.dtype), array.shape, np.ascontiguousarray(array).tobytes()]
    )
