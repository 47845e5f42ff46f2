"""The encoding of one column: a number, a category, a date or a text, each as a block of features.

Each part is fitted on both samples together, as if nobody knew which row is of which: a part that was fitted on the
reference alone would fit it better than any other sample of the same source, and no p-value of the features would
hold. Two random rows lie about 2 apart along each column, in squared distance: that is what two independent values of
variance 1 do, and what two different levels of a one-hot code do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.result import format_percent

if TYPE_CHECKING:
    import pandas as pd

_TRIMMED = 0.1
"""Fraction of values on each side that does not count for the spread of a number."""
_TRIMMED_NORMAL = 0.8238
"""Standard deviation of standard normal values whose outermost tenths are moved to the tenths' limits."""
_SMALLEST_SQUARED = 1e-150
_LARGEST_SQUARED = 1e150
"""Between these the squares of many values are neither 0 nor infinite."""
_LINEAR = 3.0
"""Spreads from the median up to which a number counts as it is."""
_COMPONENTS = 20
_TEXT_TERMS = 5_000


class Part(Record):
    """The encoding of one column: ``name``, the ``names`` of its features, and how values become them."""

    name: Any

    @property
    def names(self) -> tuple[str, ...]:
        """What each feature is called."""
        raise NotImplementedError

    @property
    def width(self) -> int:
        """How many features it gives."""
        return len(self.names)

    def with_gaps(self) -> Part:
        """Return the part that tells missing cells whether or not there were any; a category always may."""
        return self

    def transform(self, values: pd.Series) -> FloatArray:
        """Return the features, of shape (n, width)."""
        raise NotImplementedError

    def decoded(self, features: FloatArray) -> FloatArray:
        """Return the features in units that a person would say."""
        return features

    def in_words(self, place: int, inside: float, outside: float) -> str:
        """Return what a decoded feature is inside a group and outside of it; empty where no value says it."""
        return ""


def to_numbers(values: pd.Series) -> FloatArray:
    """Return a column as float64, with NaN for missing and infinite cells.

    Raises
    ------
    ValueError
        If a value is no number; it is named.
    """
    import pandas as pd

    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "biuf":
        array = values.to_numpy(dtype=np.float64)
        return np.where(np.isfinite(array), array, np.nan)
    try:
        numbers = pd.to_numeric(values.astype(object).where(values.notna()), errors="raise")
        array = np.asarray(numbers, dtype=np.float64)
    except (ValueError, TypeError) as error:
        text = pd.to_numeric(values, errors="coerce")
        wrong = values[text.isna() & values.notna()]
        got = f"{wrong.iloc[0]!r}" if len(wrong) else type(error).__name__
        raise ArgumentValueError(f"column {values.name!r}", "of numbers", got) from error
    return np.where(np.isfinite(array), array, np.nan)


def compressed(values: FloatArray) -> FloatArray:
    """Return values that grow with the logarithm beyond 3: one wild value then does not decide a distance."""
    size = np.abs(values)
    beyond = np.maximum(size - _LINEAR, 0.0)
    shrunk: FloatArray = np.sign(values) * (np.minimum(size, _LINEAR) + np.log1p(beyond))
    return shrunk


@dataclass(frozen=True, eq=False)
class NumberPart(Part):
    """A number, centred and scaled; with an indicator of missing cells where a sample has some."""

    name: Any
    centre: float
    spread: float
    has_gaps: bool

    @classmethod
    def fit(cls, name: Any, reference: pd.Series, current: pd.Series) -> NumberPart | None:
        """Fit centre and spread on both samples together."""
        known = to_numbers(reference)
        if current is not reference:
            known = np.concatenate([known, to_numbers(current)])
        has_gaps = bool(np.isnan(known).any())
        known = known[np.isfinite(known)]
        # Nobody asks for a part of a column without values; all of them may be infinite.
        if not known.size:
            return cls(name, 0.0, 1.0, has_gaps) if has_gaps else None
        # Halves, because the mean of the middle two may overflow; halving is exact.
        centre = 2.0 * float(np.median(0.5 * known))
        spread = robust_spread(known)
        if not spread > 1e-12 * abs(centre):
            spread = 1.0
            if not has_gaps:
                return None
        return cls(name, centre, spread, has_gaps)

    def with_gaps(self) -> NumberPart:
        """Return the part with an indicator of missing cells."""
        return replace(self, has_gaps=True)

    @property
    def names(self) -> tuple[str, ...]:
        """The number, and whether it is missing."""
        if self.has_gaps:
            return (f"{self.name}", f"{self.name} is missing")
        return (f"{self.name}",)

    def transform(self, values: pd.Series) -> FloatArray:
        """Return the scaled number, 0 where it is missing; and the indicator."""
        numbers = to_numbers(values)
        # The indicator is sqrt(2) where a cell is missing: as far from the rest as two levels of a category.
        gaps = np.isnan(numbers)
        filled = np.where(gaps, self.centre, numbers)
        scaled = compressed(_difference_in(self.spread, filled, self.centre))
        if not self.has_gaps:
            return scaled[:, None]
        return np.column_stack([scaled, math.sqrt(2.0) * gaps])

    def decoded(self, features: FloatArray) -> FloatArray:
        """Return the number in its own units, and 1 where it is missing."""
        decoded = features / math.sqrt(2.0)
        scaled = features[:, 0]
        # Beyond 3 the logarithm is undone.
        beyond = np.maximum(np.abs(scaled) - _LINEAR, 0.0)
        with np.errstate(over="ignore"):
            grown = scaled + np.sign(scaled) * (np.expm1(beyond) - beyond)
            decoded[:, 0] = self.centre + self.spread * grown
        return decoded

    def in_words(self, place: int, inside: float, outside: float) -> str:
        """Return both numbers, or how often it is missing."""
        if place == 1:
            return often_in_words(f"{self.name} missing", inside, outside)
        return values_in_words(self.name, inside, outside)


def values_in_words(name: Any, inside: float, outside: float) -> str:
    """Return the means of a column inside a group of samples and outside of it, with three digits."""
    # All digits before the point stand there: years and prices are no powers of ten.
    texts = [
        f"{value:.0f}" if 100.0 <= abs(value) < 1e9 else f"{value:.3g}"
        for value in (inside, outside)
    ]
    return f"{name} {texts[0]}, else {texts[1]}"


def often_in_words(what: str, inside: float, outside: float) -> str:
    """Return how often something is so among the members, and how often else."""
    return f"{what} in {format_percent(inside)}, else {format_percent(outside)}"


def robust_spread(values: FloatArray) -> float:
    """Return the standard deviation of values without their outermost tenth on each side, as of normal values.

    One in five of one of two samples may then lie anywhere, and does not decide how the others are told apart.

    Quartiles would not do: those of a column that repeats one value for most samples coincide, and would call every
    other value infinitely far. Where even the inner 80 % are one value, all values count.
    """
    low, high = np.quantile(values, [_TRIMMED, 1.0 - _TRIMMED])
    spread = _deviation(np.clip(values, low, high)) / _TRIMMED_NORMAL
    if spread > 0.0:
        return min(spread, float(np.finfo(np.float64).max))
    return _deviation(values)


def _deviation(values: FloatArray) -> float:
    """Return the standard deviation, of values whose squares are infinite or 0 in units of the largest."""
    largest = float(np.abs(values).max(initial=0.0))
    if _SMALLEST_SQUARED < largest < _LARGEST_SQUARED or largest == 0.0:
        return float(values.std())
    # A power of two, so that dividing rounds nothing.
    unit = 2.0 ** min(math.frexp(largest)[1], 1023)
    return float((values / unit).std()) * unit


def _difference_in(unit: float, values: FloatArray, centre: float) -> FloatArray:
    """Return how many units values lie above a centre, and the largest float where that is more."""
    largest = float(np.finfo(np.float64).max)
    # Halves differ by less than the largest float; halving is exact.
    with np.errstate(over="ignore"):
        found = (0.5 * values - 0.5 * centre) / (0.5 * unit)
    return np.asarray(np.clip(found, -largest, largest))


@dataclass(frozen=True, eq=False)
class DatePart(Part):
    """A date: the elapsed time as a number; month, day of the week and hour as points on a circle."""

    name: Any
    elapsed: NumberPart
    cycles: tuple[str, ...]

    @classmethod
    def fit(cls, name: Any, reference: pd.Series, current: pd.Series) -> DatePart | None:
        """Fit the elapsed time, and the cycles that vary, on both samples together."""
        import pandas as pd

        base = _dates(reference)
        other = base if current is reference else _dates(current)
        elapsed = NumberPart.fit(name, _seconds(base), _seconds(other))
        if elapsed is None:
            return None
        known = pd.concat([base, other]).dropna()
        # A cycle in which the dates never differ says nothing, such as the hour of days.
        cycles = [cycle for cycle in _CYCLES if len(np.unique(_places(known, cycle))) > 1]
        return cls(name, elapsed, tuple(cycles))

    def with_gaps(self) -> DatePart:
        """Return the part with an indicator of missing dates."""
        return replace(self, elapsed=self.elapsed.with_gaps())

    @property
    def names(self) -> tuple[str, ...]:
        """The elapsed time, then two coordinates for each cycle."""
        circles = [
            f"{self.name}: {cycle} ({part})" for cycle in self.cycles for part in ("cos", "sin")
        ]
        return (*self.elapsed.names, *circles)

    def transform(self, values: pd.Series) -> FloatArray:
        """Return the features; the cycles of missing dates are at the centre of the circle."""
        dates = _dates(values)
        # Points on a circle: December is next to January.
        blocks = [self.elapsed.transform(_seconds(dates))]
        for cycle in self.cycles:
            angle = 2.0 * np.pi * _places(dates, cycle) / _CYCLES[cycle][1]
            circle = np.column_stack([np.cos(angle), np.sin(angle)])
            blocks.append(np.nan_to_num(circle))
        return np.hstack(blocks)

    def decoded(self, features: FloatArray) -> FloatArray:
        """Return the elapsed time in seconds, and the cycles as they are."""
        width = self.elapsed.width
        return np.hstack([self.elapsed.decoded(features[:, :width]), features[:, width:]])

    def in_words(self, place: int, inside: float, outside: float) -> str:
        """Return both days; points of a circle say nothing to a person."""
        import pandas as pd

        if place == 0:
            days = [f"{pd.Timestamp(value, unit='s'):%Y-%m-%d}" for value in (inside, outside)]
            return f"{self.name} {days[0]}, else {days[1]}"
        return self.elapsed.in_words(place, inside, outside) if place < self.elapsed.width else ""


_CYCLES = {
    "month": ("month", 12.0),
    "day of the week": ("day_of_week", 7.0),
    "hour": ("hour", 24.0),
}
"""What of a date turns in a circle: the attribute in pandas, and how many there are."""


def _places(dates: pd.Series, cycle: str) -> FloatArray:
    """Return the places of dates in a cycle, NaN for missing ones."""
    return np.asarray(getattr(dates.dt, _CYCLES[cycle][0]), dtype=np.float64)


def _dates(values: pd.Series) -> pd.Series:
    """Return a column of dates with its rows counted from 0: the index of a table may repeat."""
    import pandas as pd

    if values.dtype.kind != "M":
        known = values.dropna()
        got = f"{known.iloc[0]!r}" if len(known) else "none"
        raise ArgumentValueError(f"column {values.name!r}", "of dates", got)
    return pd.Series(values.to_numpy(dtype="datetime64[ns]"), name=values.name)


def _seconds(dates: pd.Series) -> pd.Series:
    """Return dates as seconds, with NaN for missing ones."""
    import pandas as pd

    counted = dates.to_numpy(dtype="datetime64[ns]").astype(np.int64) / 1e9
    return pd.Series(np.where(dates.isna(), np.nan, counted), name=dates.name)


@dataclass(frozen=True, eq=False)
class TextPart(Part):
    """A text: the leading components of its TF-IDF matrix, of total variance 1 in both samples."""

    name: Any
    model: Any
    scale: float
    n_components: int

    @classmethod
    def fit(cls, name: Any, reference: pd.Series, current: pd.Series) -> TextPart | None:
        """Fit terms and components on both samples, so that neither lies closer to them than the other.

        Components of the reference alone spread wider in it than in any other sample of the same source: two
        samples would differ by their parts in the fit.
        """
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline

        text = _strings(reference)
        if current is not reference:
            text = text + _strings(current)
        terms = TfidfVectorizer(max_features=_TEXT_TERMS, sublinear_tf=True, min_df=2)
        try:
            n_terms = terms.fit_transform(text).shape[1]
        except ValueError:  # no term stands in two of the texts
            return None
        width = min(_COMPONENTS, n_terms - 1, len(text) - 1)
        if width < 1:
            return None
        model = make_pipeline(terms, TruncatedSVD(width, random_state=0))
        # Scaled to a total variance of 1: two texts are about as far apart as two values of another column.
        with np.errstate(divide="ignore", invalid="ignore"):  # of texts whose terms never differ
            total = float(model.fit_transform(text).var(axis=0).sum())
        return cls(name, model, 1.0 / math.sqrt(total) if total > 0.0 else 1.0, width)

    @property
    def names(self) -> tuple[str, ...]:
        """The components, by number."""
        return tuple(
            f"{self.name}: text component {place + 1}" for place in range(self.n_components)
        )

    def transform(self, values: pd.Series) -> FloatArray:
        """Return the components; a missing text has no terms."""
        components = self.model.transform(_strings(values))
        return np.asarray(components, dtype=np.float64) * self.scale


def _strings(values: pd.Series) -> list[str]:
    return [
        "" if missing else str(value) for value, missing in zip(values, values.isna(), strict=True)
    ]
