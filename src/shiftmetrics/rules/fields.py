"""Fields of results, and the range of a number once all that is uncertain is counted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.record import Record, public_names
from shiftmetrics._core.result import Interval
from shiftmetrics.rules.rule import Using, nearest_names

MAIN = ("value", "difference", "stability")
"""Fields whose interval, error and bounds carry no name before them: ``interval`` is that of ``value``."""

COUNT = "count"
"""The step that counts the parts of a tuple or an array."""

UNSEEN = {
    "upper_bound": "an upper bound without a certified lower one",
    "lower_bound": "a lower bound without a certified upper one",
    "estimate": "an estimate without certified bounds",
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a field holds.

    Attributes
    ----------
    value : float
        As it stands.
    low, high : float
        Between what it lies, once all that is uncertain is counted.
    because : tuple of str
        What puts ``low`` and ``high`` apart from the value.
    """

    value: float
    low: float
    high: float
    because: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Place:
    """The end of a path: what holds the field, its name there, and what it holds.

    Attributes
    ----------
    owners : tuple
        The records on the way, the outermost first: each may have a status.
    """

    holder: Any
    name: str
    value: Any
    owners: tuple[Any, ...] = ()


def find(start: Any, path: str) -> Place:
    """Follow a dotted path.

    Raises
    ------
    ValueError
        If a step leads nowhere; the message names what there is.
    """
    part, holder, name, done = start, start, "", ""
    owners: list[Any] = []
    # each step looks into what the last one found
    for name in path.split("."):
        holder = part
        if isinstance(part, Record):
            owners.append(part)
        part = _step(part, name, done, path)
        done = f"{done}.{name}" if done else name
    return Place(holder=holder, name=name, value=part, owners=tuple(owners))


def names_of(part: Any) -> list[str]:
    """Return the fields and properties of a record, the keys of a mapping, or the positions in a sequence."""
    if isinstance(part, Record):
        return public_names(type(part))
    if isinstance(part, tuple | list | np.ndarray) and np.ndim(part) != 0:
        return [*_named_parts(part), *map(str, range(len(part))), COUNT]
    return [str(key) for key in part] if isinstance(part, Mapping) else []


def read(place: Place, path: str, using: Using | None) -> Reading:
    """Return the number that a field holds, and between what it lies.

    Raises
    ------
    ValueError
        If it is NaN, is not there, is no number, or has no interval and ``using`` demands one.
    """
    value = plain(place.value)
    if value is None:
        raise ValueError(
            f"The field {path!r} is empty: the result was computed without it. Measure with the option that "
            "gives it, or choose another field."
        )
    names = names_of(value)
    if names:
        raise ValueError(
            f"The field {path!r} has parts; name one of them. {nearest_names('', names)}"
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"The field {path!r} must be a number, got {value!s:.60}.")
    if math.isnan(value):
        raise ValueError(f"The field {path!r} is NaN, which no bound can check. Measure again.")
    return _with_uncertainty(place, path, value, using)


def plain(value: Any) -> Any:
    """Return NumPy's scalars as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _step(part: Any, name: str, done: str, path: str) -> Any:
    names = names_of(part)
    # None has no names either, but stands for an option that was not used.
    if part is None:
        raise ValueError(
            f"The field {done!r} is empty: the result was computed without it, so it has no {name!r}."
        )
    if not names:
        raise ValueError(
            f"The field {done!r} is a single value and has no {name!r}. Leave out the end of {path!r}."
        )
    if name not in names:
        where = f"in {done!r}" if done else "in this result"
        raise ValueError(f"There is no field {name!r} {where}. {nearest_names(name, names)}")
    if isinstance(part, Record):
        return getattr(part, name)
    if isinstance(part, Mapping):
        return {str(key): value for key, value in part.items()}[name]
    if name == COUNT:
        return len(part)
    # The name of a record may be a number: it counts before the position.
    named = _named_parts(part)
    return named[name] if name in named else part[int(name)]


def _named_parts(parts: Any) -> dict[str, Record]:
    """Return the records of a tuple by their names: of a model, a feature, or a pair of models in either order."""
    named: dict[str, Record] = {}
    for part in parts:
        if hasattr(part, "reversed"):  # a difference, which is asked for in either order
            for pair in (part, part.reversed()):
                named[f"{pair.first}-{pair.second}"] = pair
        elif isinstance(part, Record):
            name = getattr(part, "name", None) or getattr(part, "feature", None)
            if isinstance(name, str):
                named[name] = part
    return named


def _with_uncertainty(place: Place, path: str, value: float, using: Using | None) -> Reading:
    """Add up what may lie below and above a number: sampling, numerical error, and what a search may have missed."""
    # each entry: the ends of what the number may be, and why
    ends: list[tuple[float, float, str]] = []
    # rounding is counted on both sides, whatever the rule says
    error = _stands_beside(place, "error_bound")
    if error:
        ends.append((value - error, value + error, "numerical error"))
    interval = _interval(place)
    if using == "interval" and interval is None:
        raise ValueError(
            f'The field {path!r} has no interval. Measure with a confidence level, or write using = "value".'
        )
    if using != "value":
        if interval is not None:
            level = f"{100 * interval.confidence_level:g} % interval"
            ends.append((interval.low, interval.high, level))
        ends.extend(_searched(place, value))
    reach = {}
    for low, high, what in ends:
        if math.isnan(low) or math.isnan(high):
            raise ValueError(
                f"The {what} of the field {path!r} is NaN, which no bound can check. Measure again."
            )
        if low < value or high > value:
            reach[what] = max(value - low, high - value)
    most = max(reach.values(), default=0.0)
    # what is a hundred times smaller than the rest is not named
    because = tuple(what for what, far in reach.items() if math.isinf(far) or 100.0 * far >= most)
    lows = [low for low, _, _ in ends]
    highs = [high for _, high, _ in ends]
    if math.isinf(value):  # there is nothing to add
        return Reading(
            value=value, low=min([value, *lows]), high=max([value, *highs]), because=because
        )
    # What is uncertain for different reasons is added up, the cautious way.
    low = value - math.fsum(max(0.0, value - end) for end in lows)
    high = value + math.fsum(max(0.0, end - value) for end in highs)
    return Reading(value=value, low=low, high=high, because=because)


def _stands_beside(place: Place, what: str) -> Any:
    """Return what stands beside a field by its name, such as ``reverse_error_bound``, or that of the value."""
    names = [f"{place.name}_{what}"]
    if place.name in MAIN:
        names.append(what)
    if place.name.endswith("_error") and what == "error_bound":
        names.append(f"{place.name}_bound")  # as of an equivalent error
    for name in names:
        found = getattr(place.holder, name, None)
        if found is not None:
            return plain(found)
    return None


def _interval(place: Place) -> Interval | None:
    """Return the interval of a field: a record, or two fields beside it, as of ranks."""
    found = _stands_beside(place, "interval")
    if isinstance(found, Interval):
        return found
    if found is not None:  # of an edited file: uncertainty must not be dropped silently
        raise ValueError(
            f"The interval of the field {place.name!r} must be one, got {found!r}. Measure again."
        )
    low = _stands_beside(place, "low")
    high = _stands_beside(place, "high")
    if low is None or high is None:
        return None
    return Interval(low=low, high=high)


def _searched(place: Place, value: float) -> list[tuple[float, float, str]]:
    """Return what a value may be in truth where a search found no more than a bound of it."""
    # a search that is not exact says which side its value bounds
    kind = _stands_beside(place, "kind") if place.name in MAIN else None
    if kind not in UNSEEN:
        return []
    certified = _stands_beside(place, "lower_bound")
    if kind == "upper_bound" and certified is not None:
        return [(certified, value, "certified lower bound of the search")]
    low = value if kind == "lower_bound" else -math.inf
    high = value if kind == "upper_bound" else math.inf
    return [(low, high, UNSEEN[kind])]
