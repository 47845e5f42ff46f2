"""The common part of every result: value, bound, interval, status, settings, and the ways to look at them."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from shiftmetrics._core.chunks import kept_bytes
from shiftmetrics._core.drawing import card_of, one_line
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._version import __version__


@dataclass(frozen=True)
class Status(Record):
    """How a computation ended.

    Attributes
    ----------
    code : str
        One word for programs, such as "converged".
    cause : str
        Why it ended so, in a sentence.
    remedy : str
        What to do about it; empty where there is nothing to do.
    ok : bool
        Whether the value is an answer.
    """

    code: str
    cause: str
    remedy: str = ""
    ok: bool = True

    @property
    def text(self) -> str:
        """The cause, and the remedy where there is one."""
        return f"{self.cause} {self.remedy}".rstrip()

    def to_plain(self) -> str:
        """Return the code: tables and rules compare it."""
        return self.code

    def __str__(self) -> str:
        return self.code


@dataclass(frozen=True, eq=False, kw_only=True)
class Interval(Record):
    """A sampling interval: what other samples of the same size would plausibly have given."""

    low: float
    high: float
    confidence_level: float = 0.95
    method: str = ""

    def __str__(self) -> str:
        return f"[{format_number(self.low)}, {format_number(self.high)}] ({100 * self.confidence_level:g} %)"

    def to_text(self) -> str:
        """Return the interval to paste into a text.

        Examples
        --------
        >>> Interval(low=-25.2, high=-12.3).to_text()
        '-25.2 to -12.3 (95 %)'
        """
        ends = f"{format_number(self.low)} to {format_number(self.high)}"
        return f"{ends} ({100 * self.confidence_level:g} %)"

    def to_latex(self) -> str:
        r"""Return the interval to paste into a paper.

        Examples
        --------
        >>> print(Interval(low=-25.2, high=float("inf")).to_latex())
        $[-25.2, \infty]$ (95\,\%)
        """
        low, high = (format_number(end).replace("inf", r"\infty") for end in (self.low, self.high))
        return rf"$[{low}, {high}]$ ({100 * self.confidence_level:g}\,\%)"


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(Record):
    """Base of all results.

    Attributes
    ----------
    value : float
        The measure.
    error_bound : float
        Numerical error, rounding included: the exact value lies within ``value +- error_bound``.
    interval : Interval or None
        Sampling uncertainty, where it was asked for.
    status : Status
        How the solver ended; ``status.ok`` is True if ``value`` is an answer, and ``status.text`` says why.
    n_samples : int
        Rows that went in.
    settings : dict
        All arguments, with seeds and versions.
    warnings : tuple of str
        What the caller should know, each with its remedy.
    """

    measure = ""
    title = ""
    unit = ""
    higher_is_better = True
    rule_field = "value"
    """What a rule bounds where it names no field: a figure that people can interpret, never in nats."""

    value: float
    error_bound: float
    interval: Interval | None = None
    status: Status
    n_samples: int
    settings: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def comparable(self) -> dict[str, tuple[Any, str]]:
        """Return what must be equal in results to be compared, each with what to do where it is not."""
        return {}

    @property
    def secondary_metrics(self) -> dict[str, Any]:
        """Return figures that a comparison shows beside the value."""
        return {}

    def secondary_metrics_among(self, results: Sequence[Result]) -> dict[str, Any]:
        """Return more figures beside the value, which depend on all results that are compared."""
        return {}

    def status_of(self, field: str) -> Status | None:
        """Return the status that a field depends on; None where it depends on none."""
        return self.status

    def ranked(self, confidence_level: float) -> Result:
        """Return what a comparison ranks: a result with ``resampled`` values, or with an ``influence``."""
        return self

    def summary(self) -> str:
        """Say in a few sentences what was found; the first one carries the value."""
        return "\n".join(map(one_line, [*self.lead(), *self.notes(), *self.details()]))

    def lead(self) -> list[str]:
        """Return the lines that the answer begins with: the headline, and what stands above it."""
        return [self.headline()]

    def headline(self) -> str:
        """Return one sentence with the value; measures word their own."""
        return f"{self.title}: {format_number(self.value)} {self.unit}".rstrip() + "."

    def notes(self) -> list[str]:
        """Return what else belongs to the answer: sentences that follow the headline."""
        sentences = []
        if not self.status.ok:
            sentences.append(f"Status {self.status}: {self.status.text}")
        sentences.extend(f"Warning: {warning}" for warning in self.warnings)
        return sentences

    def details(self) -> list[str]:
        """Return sentences on the figures behind the answer, which the command line prints with --verbose."""
        direction = "Higher is better" if self.higher_is_better else "Lower is better"
        sentences = [f"{direction}. {error_in_words(self.error_bound)}"]
        if self.interval is not None:
            sentences.append(f"Interval: {self.interval}.")
        return sentences

    def __str__(self) -> str:
        return self.summary()

    def __float__(self) -> float:
        return self.value

    def to_frame(self) -> Any:
        """Return one row of a pandas DataFrame with the scalar fields: rows of many results stack well."""
        import pandas as pd

        scalars = {
            name: part
            for name, part in {**self.to_dict(), **self.secondary_metrics}.items()
            if name != "interval" and (part is None or isinstance(part, bool | int | float | str))
        }
        row: dict[str, Any] = {
            "measure": self.measure,
            **scalars,
            "interval_low": math.nan,
            "interval_high": math.nan,
        }
        if self.interval is not None:
            row["interval_low"] = self.interval.low
            row["interval_high"] = self.interval.high
        return pd.DataFrame([row])

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the result as JSON, or write it.

        Parameters
        ----------
        path : path, optional
            Where to write the JSON. Its arrays go to an ``.npz`` file of the same name beside it, so that the
            JSON stays readable. Without a path, and where it is a pipe or a device, they stand inside the JSON.

        Returns
        -------
        str
            The JSON text. Infinities are the strings ``"inf"`` and ``"-inf"``.

        Raises
        ------
        ValueError
            If the folder of ``path`` does not exist, or ``path`` ends in ``.npz``.
        """
        from shiftmetrics._core.documents import write_result

        return write_result(self, path)

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Self:
        """Read a result back from JSON text, or from a file with its ``.npz`` beside it.

        Raises
        ------
        ValueError
            If the JSON is not a result, or has another schema version.
        """
        from shiftmetrics._core.documents import read_result

        result = read_result(source)
        if not isinstance(result, cls):
            got = f"a {type(result).__name__}"
            raise ArgumentValueError("source", f"a {cls.__name__}", got, verb="hold")
        return result

    def _repr_html_(self) -> str:
        return card_of(self)


def settings_of(**arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call with the versions that produced its result."""
    versions = {
        "shiftmetrics": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    # What workers of a cluster hold for measures, so that their passes read no file again.
    held = {"kept_on_workers": kept_bytes()} if kept_bytes() else {}
    return {**arguments, **held, "versions": versions}


def error_in_words(bound: float) -> str:
    """Return a sentence on the numerical error.

    Examples
    --------
    >>> error_in_words(1e-9), error_in_words(0.0)
    ('The numerical error is at most 1.0e-09.', 'There is no numerical error.')
    """
    if bound == 0.0:
        return "There is no numerical error."
    return f"The numerical error is at most {bound:.1e}."


def format_number(value: float) -> str:
    """Format a number for people: four significant digits, whole numbers from 10,000 on, infinities as ``inf``."""
    if not math.isfinite(value):
        return str(value)
    if 9999.5 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    return f"{value:.4g}" if value == 0 or 1e-4 <= abs(value) < 1e6 else f"{value:.3e}"


def format_percent(fraction: float, digits: int = 2) -> str:
    """Format a fraction in per cent, with so many significant digits: 27 %, 0.42 %.

    What is not 0 % or 100 % is not printed as if it were.
    """
    value = 100.0 * fraction
    if abs(value - 100.0) < 1e-9:  # rounding errors are not said
        value = 100.0
    if value in (0.0, 100.0) or not math.isfinite(value):
        return f"{value:.0f} %"
    # Of the rounded value: 9.97 is 10 with two digits, not 10.0.
    rounded = float(f"{value:.{digits - 1}e}")
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{value:.{places}f}"
    while float(text) in (0.0, 100.0):
        places += 1
        text = f"{value:.{places}f}"
    return f"{text} %"


def plain_figure(value: float, digits: int = 2, sign: str = "") -> str:
    """Return a number with so many significant digits and without an exponent, unless it is tiny.

    Examples
    --------
    >>> plain_figure(623.0), plain_figure(0.0123), plain_figure(1234567.0, 3, sign="+")
    ('620', '0.012', '+1,230,000')
    """
    rounded_value = float(f"{value:.{digits}g}")
    if rounded_value == 0.0 or not 1e-4 <= abs(rounded_value) < 1e15:
        return f"{rounded_value:{sign}g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded_value))))
    text = f"{rounded_value:{sign},.{places}f}"
    # no zeros that say nothing: 0.5, not 0.50
    return text.rstrip("0").rstrip(".") if "." in text else text


def p_words(p_value: float) -> str:
    """Return a p-value in words: "p = .012", "p < .001"."""
    number = p_number(p_value)
    return f"p {number}" if number.startswith("<") else f"p = {number}"


def p_number(p_value: float) -> str:
    """Return a p-value for a column that is called p: ".012", "< .001"."""
    return "< .001" if p_value < 0.001 else f"{p_value:.2g}".removeprefix("0")
