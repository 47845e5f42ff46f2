"""Which rows to label: the changed ones, in random order, and how many of them for which precision."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.record import Record
from shiftmetrics._core.validation import check_integer, check_rng, seed_of

Mode = Literal["exact", "anytime"]

HALF_WIDTH = 2.05
"""Half an interval of 95 %, in standard errors of a difference whose rows are all fixed or broken.
Measured on pairs of real models, the interval had .88 of the planned width on average, and never
more than it."""

WIDENING = 1.3
"""How much wider an anytime interval is than what is planned for an exact one: 1.1 to 1.4 at 20 to 200 labels."""

DIGITS = 12
"""Digits of the digest that stand in the file of a plan."""

PLANNED = 1.15
"""How much wider the interval of a finished plan by size is than what is planned for an exact one."""

FORM = re.compile(r"(exact|anytime)( by size)? (\d+) of (\d+), seed (\d+), ([0-9a-f]+)")


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelPlan(Record):
    """Rows to label, in random order. Nothing about it depends on the labels.

    Attributes
    ----------
    order : ndarray of shape (n_population,)
        Positions of all rows that may be chosen, in the order in which to label them.
    n_labels : int
        How many of them are to be labelled.
    mode : str
        "exact": one interval, given when these are labelled; before, an anytime one. "anytime": an
        interval that holds after each label.
    seed : int
        Of the order.
    digest : str
        SHA-256 of what the plan was made for; labels of a plan with another digest are refused.
    n_samples : int
        All rows, of which only some may be chosen.
    scale : float, default 1.0
        Largest gain or loss of a row, as a mean (without sizes as a root mean square): 1 for accuracy.
    sizes : ndarray of shape (n_population,) or None
        Largest gain or loss of each row of the order, where rows are sampled in proportion to it; None where all
        are as likely.
    """

    order: IntArray
    n_labels: int
    mode: str
    seed: int
    digest: str
    n_samples: int
    scale: float = 1.0
    sizes: FloatArray | None = None

    @property
    def n_population(self) -> int:
        """Rows that may be chosen."""
        return len(self.order)

    @property
    def rows(self) -> IntArray:
        """Positions of the rows to label, in order."""
        return self.order[: self.n_labels]

    @property
    def probability(self) -> float | FloatArray:
        """Probability with which each row is among those to label; by size that of the first draw, in the order."""
        if self.sizes is not None:
            return self.sizes / max(float(self.sizes.sum()), 1e-300)
        return self.n_labels / max(self.n_population, 1)

    @property
    def text(self) -> str:
        """What a file of labels says of the plan that it belongs to."""
        by = "" if self.sizes is None else " by size"
        return (
            f"{self.mode}{by} {self.n_labels} of {self.n_population}, seed {self.seed}, "
            f"{self.digest[:DIGITS]}"
        )

    def half_width(self, n_labels: int) -> float:
        """Return about half the width of the interval of a difference, in units of the metric."""
        half_width = planned_half_width(n_labels, self.n_population, self.n_samples)
        return self._unit * half_width

    def n_labels_for(self, half_width: float) -> int:
        """Return how many labels give about this half width."""
        return planned_labels(half_width / self._unit, self.n_population, self.n_samples)

    @property
    def _unit(self) -> float:
        """What a half width of signs stands for: larger gains, and the price of looking at any time."""
        if self.mode == "anytime":
            return self.scale * WIDENING
        return self.scale * (1.0 if self.sizes is None else PLANNED)


def draw_plan(
    candidates: IntArray,
    *,
    n_samples: int,
    n_labels: int,
    mode: Mode,
    digest: str,
    scale: float = 1.0,
    sizes: FloatArray | None = None,
    rng: Any = None,
) -> LabelPlan:
    """Draw the order in which rows are labelled: a random permutation of the candidates, nothing else.

    Of answers that are right or wrong, strata by confidence or by class, and unequal probabilities, were narrower
    by 4 to 5 per cent on pairs of real models, at the price of exactness. Outputs and costs differ in what is at
    stake: each row is sampled, from those that are left, in proportion to its size.

    Parameters
    ----------
    candidates : ndarray of int
        Positions of the rows that may be chosen.
    n_samples : int
        All rows.
    n_labels : int
        Rows to label; at most all candidates are.
    mode : {"exact", "anytime"}
        Which interval will be given.
    digest : str
        Of what the plan is for.
    scale : float, default 1.0
        Largest gain or loss of a row.
    sizes : ndarray of shape (n_candidates,), optional
        Largest gain or loss of each candidate, not negative, to sample in proportion to.
    rng : int or Generator, optional
        Seed of the order.

    Raises
    ------
    ValueError
        If ``n_labels`` is not positive.
    """
    # The seed is kept: the order can be made again from it.
    seed = seed_of(rng)
    n_labels = min(check_integer(n_labels, "plan", low=1), len(candidates))
    if sizes is None:
        order = check_rng(seed).permutation(candidates)
    else:
        # Waiting times of these rates end one after another as rows are sampled in proportion to what is left.
        with np.errstate(divide="ignore"):
            times = check_rng(seed).exponential(size=len(candidates)) / sizes
        places = np.argsort(times, kind="stable")
        order = candidates[places]
        sizes = sizes[places]
    return LabelPlan(
        order=order, n_labels=n_labels, mode=mode, seed=seed, digest=digest, n_samples=n_samples,
        scale=scale, sizes=sizes,
    )  # fmt: skip


def plan_from_text(
    text: Any,
    candidates: IntArray,
    *,
    n_samples: int,
    digest: str,
    scale: float = 1.0,
    sizes: FloatArray | None = None,
) -> LabelPlan:
    """Rebuild the plan that a file of labels names; by ``sizes`` only where it says so.

    Raises
    ------
    ValueError
        If the text is not that of a plan, or the plan was made for other files.
    """
    found = FORM.fullmatch(str(text).strip())
    if found is None:
        raise ArgumentValueError("labels", "of a plan that diff or audit wrote", value=text)
    mode, by_size, n_labels, n_population, seed, digits = found.groups()
    if digits != digest[:DIGITS] or int(n_population) != len(candidates):
        remedy = "The plan belongs to other predictions, or to other rows: make a new plan."
        expected = f"of a plan for these predictions ({digest[:DIGITS]})"
        raise ArgumentValueError("labels", expected, digits, remedy)
    return draw_plan(
        candidates, n_samples=n_samples, n_labels=int(n_labels), rng=int(seed), digest=digest,
        scale=scale, mode="exact" if mode == "exact" else "anytime",
        sizes=sizes if by_size else None,
    )  # fmt: skip


def planned_half_width(n_labels: int, n_population: int, n_samples: int) -> float:
    """Return about half the width of the exact interval of a difference of two accuracies.

    Parameters
    ----------
    n_labels : int
        Labelled rows.
    n_population : int
        Rows in which the models differ.
    n_samples : int
        All rows.

    Examples
    --------
    >>> round(planned_half_width(40, 97, 2000), 4)
    0.0121
    """
    # Signs of variance 1 at the most, sampled without replacement.
    rate = n_population / n_samples
    if n_labels >= n_population:
        return 0.0
    return HALF_WIDTH * rate * math.sqrt((1.0 - n_labels / n_population) / n_labels)


def planned_labels(half_width: float, n_population: int, n_samples: int) -> int:
    """Return how many labels give about this half width; `planned_half_width`, solved for their number.

    Examples
    --------
    >>> planned_labels(0.01, 100, 2000), planned_labels(0.01, 200, 2000)
    (52, 136)
    """
    if n_population == 0:
        return 0
    # h^2 = (2.05 r)^2 (1 / n - 1 / M), solved for n
    rate = n_population / n_samples
    needed = 1.0 / ((half_width / (HALF_WIDTH * rate)) ** 2 + 1.0 / n_population)
    return min(math.ceil(needed - 1e-9), n_population)


def digest_of(*parts: npt.NDArray[Any] | str) -> str:
    """Return the SHA-256 of arrays and strings, as hexadecimal digits."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            found.update(part.encode())
        else:
            array = np.ascontiguousarray(part)
            found.update(f"{array.dtype.str}{array.shape}".encode())
            found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()
