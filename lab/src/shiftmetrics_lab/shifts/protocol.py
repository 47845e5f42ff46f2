"""What a shift is, and what a shifted sample knows about its making."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from shiftmetrics._core.arrays import BoolArray, IntArray, take_rows
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import check_integer, check_number, seed_of
from shiftmetrics_lab.shifts.rows import copy_sample, n_rows, rows_differ
from shiftmetrics_lab.shifts.streams import RowStreams, child_seed


@runtime_checkable
class Shift(Protocol):
    """Anything that can be called as ``shift(X, strength=..., rng=...)`` and returns the shifted sample.

    Row i of what it returns is row i of ``X``, shifted; strength 0 is the identity; the same ``rng`` seed gives
    the same sample. A plain function will do.
    """

    def __call__(self, X: Any, /, *, strength: float, rng: Any = None) -> Any:
        """Return the shifted sample."""


class SampleShift(ABC):
    """Base of the shifts of this package: checks the strength, seeds the rows, and leaves ``X`` untouched.

    Attributes
    ----------
    max_strength : float
        The largest meaningful strength.
    whole_strength : bool
        Whether the strength is a number of things (edits, words) and so an integer.
    """

    max_strength: ClassVar[float] = math.inf
    whole_strength: ClassVar[bool] = False

    def __call__(
        self,
        X: Any,
        /,
        *,
        strength: float,
        rng: Any = None,
        first_row: int = 0,
        progress: bool = True,
    ) -> Any:
        """Return the shifted sample, of the type, shape and order of ``X``.

        Parameters
        ----------
        X : array, DataFrame or list of str
            The sample; it is not changed.
        strength : float
            How much; 0 is the identity. The class says the unit and the range.
        rng : int, Generator or None
            The seed. One seed gives the same disturbance at every strength, only more of it.
        first_row : int, default 0
            Position of the first row of ``X`` in the whole sample, when it comes in batches: the batches then
            receive what the whole would have received.
        progress : bool, default True
            Whether to show a progress bar.

        Raises
        ------
        TypeError, ValueError
            If the strength is beyond the range, or ``X`` is not what this shift works on.
        """
        amount = self.check_strength(strength)
        first_row = check_integer(first_row, "first_row", low=0)
        seed = seed_of(rng)
        self._check(X)
        if amount == 0:
            return copy_sample(X)
        return self._shift(X, amount, RowStreams(seed, type(self).__name__), first_row, progress)

    def check_strength(self, strength: float) -> float:
        """Return ``strength`` if it is in the range of this shift, else raise an error that says the range."""
        if self.whole_strength:
            highest = None if math.isinf(self.max_strength) else int(self.max_strength)
            return check_integer(strength, "strength", low=0, high=highest)
        return check_number(strength, "strength", low=0.0, high=self.max_strength)

    def at(self, strength: float) -> Chain:
        """Fix the strength: a step for a chain, ``a.at(0.1) >> b.at(2.0)``."""
        return Chain(((self, self.check_strength(strength)),))

    @abstractmethod
    def _check(self, X: Any) -> None:
        """Raise a TypeError or ValueError unless ``X`` is what this shift works on."""

    @abstractmethod
    def _shift(
        self, X: Any, strength: float, streams: RowStreams, first_row: int, progress: bool
    ) -> Any:
        """Return the shifted sample; ``X`` is checked and ``strength`` is positive."""


@dataclass(frozen=True)
class Chain:
    """Shifts one after the other, each with its own full strength; itself a shift.

    The strength of a chain is a fraction in [0, 1] of the full strength of every step, rounded where a step
    counts things.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts.images import Blur, GaussianNoise
    >>> chain = Blur().at(1.0) >> GaussianNoise().at(0.1)
    >>> chain(np.full((1, 4, 4), 0.5), strength=0.5, rng=0).shape
    (1, 4, 4)
    """

    steps: tuple[tuple[Shift, float], ...]

    def __call__(
        self,
        X: Any,
        /,
        *,
        strength: float = 1.0,
        rng: Any = None,
        first_row: int = 0,
        progress: bool = True,
    ) -> Any:
        """Return the sample after all steps; see `SampleShift` for the parameters."""
        seed = seed_of(rng)
        options: dict[str, Any] = {"first_row": first_row} if first_row else {}
        if progress:
            options["progress"] = True
        sample = copy_sample(X)
        for (shift, _), amount, child in zip(
            self.steps, self.strengths(strength), self.seeds(seed), strict=True
        ):
            sample = shift(sample, strength=amount, rng=child, **options)
        return sample

    def origin(self, X: Any, *, strength: float = 1.0, rng: Any = None) -> IntArray:
        """Return the row of ``X`` that each row of the shifted sample came from."""
        return _trace(self, X, strength, seed_of(rng))[1]

    def strengths(self, strength: float) -> list[float]:
        """Return the strength of each step when the chain has ``strength``."""
        share = check_number(strength, "strength", low=0.0, high=1.0)
        return [
            round(share * full) if getattr(shift, "whole_strength", False) else share * full
            for shift, full in self.steps
        ]

    def seeds(self, seed: int) -> list[int]:
        """Return the seed of each step when the chain has ``seed``."""
        return [child_seed(seed, position) for position in range(len(self.steps))]

    def __rshift__(self, other: Chain) -> Chain:
        """Append the steps of ``other``."""
        if not isinstance(other, Chain):
            expected = "a shift with its strength"
            remedy = "Use shift.at(strength)."
            raise ArgumentTypeError("a step of a chain", expected, value=other, remedy=remedy)
        return Chain(self.steps + other.steps)


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftStep(Record):
    """One step in the making of a sample.

    Attributes
    ----------
    what : str
        The shift with its options, as Python would write it.
    strength : float
        How much of it.
    seed : int or None
        The seed that repeats it; None where nothing is random.
    """

    what: str
    strength: float
    seed: int | None = None

    def __str__(self) -> str:
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{self.what} at strength {self.strength:g}{seed}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ShiftedSample:
    """A shifted sample beside the sample it came from, row by row.

    Attributes
    ----------
    sample, reference : array, DataFrame or list of str
        The shifted sample and, row by row, what it was before.
    shifted : ndarray of bool, shape (n_samples,)
        Which rows differ.
    rows : ndarray of int, shape (n_samples,)
        Where each row stood in the original data; not 0, 1, 2, ... only for shifts that draw rows.
    steps : tuple of ShiftStep
        How it was made.
    """

    sample: Any
    reference: Any
    shifted: BoolArray
    rows: IntArray
    steps: tuple[ShiftStep, ...]

    @property
    def ratio(self) -> float:
        """The fraction of rows that differ: the shift ratio."""
        return float(self.shifted.mean()) if self.shifted.size else 0.0

    def provenance(self) -> list[Mapping[str, Any]]:
        """Return the steps as plain dictionaries (what, strength, seed), for a result's settings or a file."""
        return [step.to_dict() for step in self.steps]

    def __str__(self) -> str:
        made = "; then ".join(str(step) for step in self.steps) or "unshifted"
        return f"{int(self.shifted.sum())} of {self.shifted.size} rows shifted ({made})."


def apply_shift(shift: Shift, X: Any, *, strength: float, rng: Any = None) -> ShiftedSample:
    """Apply ``shift`` and keep what it was applied to, with what strength and seed.

    Parameters
    ----------
    shift : callable
        Any `Shift`: one of this package, a `Chain`, or your own function ``(X, *, strength, rng)``.
    X : array, DataFrame or list of str
        The sample, which becomes the reference.
    strength : float
        How much; 0 is the identity.
    rng : int, Generator or None
        The seed. A Generator or None is turned into a seed, which is recorded.

    Returns
    -------
    ShiftedSample
        The two samples row by row, which rows differ, and the steps.

    Raises
    ------
    TypeError
        If ``shift`` is not callable.
    ValueError
        If what the shift returns has another number of rows than ``X``.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics_lab.shifts import CORRUPTIONS, apply_shift
    >>> pair = apply_shift(CORRUPTIONS["gaussian_noise"], np.full((3, 8, 8), 0.5), strength=0.1, rng=0)
    >>> print(pair)
    3 of 3 rows shifted (GaussianNoise() at strength 0.1, seed 0).
    """
    if not callable(shift):
        raise ArgumentTypeError("shift", "a callable (X, *, strength, rng)", value=shift)
    seed = seed_of(rng)
    sample, rows, steps = _trace(shift, X, strength, seed)
    if n_rows(sample) != rows.size:
        raise ArgumentValueError(
            "shift", f"a function that keeps the {rows.size} rows", n_rows(sample)
        )
    reference = X if np.array_equal(rows, np.arange(n_rows(X))) else take_rows(X, rows)
    return ShiftedSample(
        sample=sample,
        reference=reference,
        shifted=rows_differ(sample, reference),
        rows=rows,
        steps=steps,
    )


def _trace(
    shift: Shift, X: Any, strength: float, seed: int
) -> tuple[Any, IntArray, tuple[ShiftStep, ...]]:
    """Return the shifted sample, where its rows stood in ``X``, and the steps, chains unrolled."""
    rows = np.arange(n_rows(X), dtype=np.int64)
    if isinstance(shift, Chain):
        steps: tuple[ShiftStep, ...] = ()
        parts = zip(shift.steps, shift.strengths(strength), shift.seeds(seed), strict=True)
        for (part, _), amount, child in parts:
            X, drawn, made = _trace(part, X, amount, child)
            rows, steps = rows[drawn], steps + made
        return X, rows, steps
    if hasattr(shift, "origin"):  # shifts that draw rows tell which
        rows = np.asarray(shift.origin(X, strength=strength, rng=seed), dtype=np.int64)
    what = getattr(shift, "__name__", None) or repr(shift)
    step = ShiftStep(what=what, strength=float(strength), seed=seed)
    return shift(X, strength=strength, rng=seed), rows, (step,)
