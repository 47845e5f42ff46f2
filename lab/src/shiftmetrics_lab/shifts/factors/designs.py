"""Which factor values occur with which digit: uncorrelated factors, and shortcuts between one factor and the label.

The designs of V. Jimenez Rodriguez (master thesis, ETH Zurich 2024, appendix C.2.2; figure 12 of Carvalho et al.,
arXiv:2503.16271): three digits and three values of a learning factor, in two sources of other values.

- ZGO (zero generalization opportunities): every digit has one value of its own, a perfect shortcut.
- 1-, 2-, 3-CGO (compositional generalization opportunities): one, two or three digits occur with a second value.
- ZSO (zero shortcut opportunities): every digit occurs with every value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.validation import check_choice, check_integer, seed_of
from shiftmetrics_lab.shifts.factors.environments import (
    FactorSample,
    check_labels,
    deal_by_class,
    draw_sample,
    instances_to_draw,
)
from shiftmetrics_lab.shifts.factors.published import ENVIRONMENTS
from shiftmetrics_lab.shifts.factors.spec import FACTORS, FactorSpec
from shiftmetrics_lab.shifts.streams import child_seed

Design = Literal["ZGO", "1-CGO", "2-CGO", "3-CGO", "ZSO"]
LearningFactor = Literal["hue", "position"]

DIGITS = (7, 4, 9)
"""The digits of the designs, in the order of their rows."""

DESIGNS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        # One row for each digit, one column for each value: X occurs, O is withheld.
        "ZGO": ("XOO", "OXO", "OOX"),
        "1-CGO": ("XXO", "OXO", "OOX"),
        "2-CGO": ("XXO", "OXO", "XOX"),
        "3-CGO": ("XXO", "OXX", "XOX"),
        "ZSO": ("XXX", "XXX", "XXX"),
    }
)
"""The patterns of thesis appendix C.2.2; see `CORRECTIONS` for 3-CGO."""

SOURCES: Mapping[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = MappingProxyType(
    {
        "hue": (("blue", "red", "green"), ("yellow", "cyan", "magenta")),
        "position": (("UL", "CC", "LR"), ("LC", "UR", "CL")),
    }
)
"""The three values of the learning factor in source 0 and in source 1, in the order of the columns."""


def co_occurrence(
    design: Design,
    *,
    learning_factor: LearningFactor = "hue",
    source: int = 0,
    withheld: bool = False,
) -> dict[int, tuple[str, ...]]:
    """Return the values of the learning factor that occur with each digit.

    Parameters
    ----------
    design : {"ZGO", "1-CGO", "2-CGO", "3-CGO", "ZSO"}
    learning_factor : {"hue", "position"}, default "hue"
    source : {0, 1}, default 0
    withheld : bool, default False
        Return the other combinations instead, those of test sets 1 to 5. ZSO withholds none, and returns all.

    Returns
    -------
    dict
        For each digit its values.

    Examples
    --------
    >>> from shiftmetrics_lab.shifts.factors.designs import co_occurrence
    >>> co_occurrence("1-CGO")
    {7: ('blue', 'red'), 4: ('red',), 9: ('green',)}
    >>> co_occurrence("1-CGO", withheld=True)
    {7: ('green',), 4: ('blue', 'green'), 9: ('blue', 'red')}
    """
    values = _source_values(learning_factor, source)
    columns = _columns(design, withheld)
    return {digit: tuple(values[column] for column in columns[digit]) for digit in DIGITS}


def co_occurrence_samples(
    digits: Any,
    labels: Any,
    design: Design,
    *,
    learning_factor: LearningFactor = "hue",
    environment: int = 0,
    withheld: bool | None = None,
    instances: Any = None,
    same_instances: bool = True,
    size: int = 128,
    jitter: float = 1.0,
    rng: Any = None,
    progress: bool = True,
) -> tuple[FactorSample, FactorSample]:
    """Draw the two sources of a co-occurrence design, row by row of one class.

    Parameters
    ----------
    digits : ndarray, shape (n_digits, height, width)
        Bright grey digits on black; only sevens, fours and nines are drawn.
    labels : array-like of int, shape (n_digits,)
        The digit that each image shows.
    design : {"ZGO", "1-CGO", "2-CGO", "3-CGO", "ZSO"}
    learning_factor : {"hue", "position"}, default "hue"
    environment : int, default 0
        The other factors: 0 as in training and validation, 1 to 5 the shifted test sets of thesis table C.6.
    withheld : bool, optional
        Whether the combinations that training withholds are drawn. Default: as in the thesis, in environments 1
        to 5 but not in 0.
    instances, same_instances, size, jitter, rng, progress
        As in `factor_environments`. With ``same_instances`` the two sources show the same digits, a digit of
        the first value in one source being of the first value in the other.

    Returns
    -------
    tuple of two FactorSample

    Raises
    ------
    ValueError
        If the design, factor or environment is unknown, or there is no 4, 7 or 9 among the digits.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from shiftmetrics_lab.shifts.factors.designs import co_occurrence_samples
    >>> bunch = load_digits()
    >>> first, second = co_occurrence_samples(
    ...     bunch.images / 16, bunch.target, "ZGO", instances=range(60), rng=0
    ... )
    >>> sorted(set(zip(first.labels.tolist(), first.factors["hue"].tolist())))
    [(4, 'red'), (7, 'blue'), (9, 'green')]
    """
    values = [_source_values(learning_factor, source) for source in (0, 1)]
    tests = ENVIRONMENTS[f"{learning_factor} co-occurrence test"]
    base = tests[check_integer(environment, "environment", low=0, high=len(tests) - 1)]
    columns = _columns(design, environment > 0 if withheld is None else withheld)
    known = check_labels(labels)
    if len(digits) != known.size:
        expected = f"of length {len(digits)}, one for each digit"
        raise ArgumentValueError("labels", expected, f"length {known.size}")
    drawn = instances_to_draw(known, [base], instances)
    missing = [digit for digit in DIGITS if digit not in known[drawn]]
    if missing:
        raise ArgumentValueError("digits", "images of 4, 7 and 9", f"no {missing[0]}")
    seed = seed_of(rng)
    dealt = [drawn, drawn] if same_instances else deal_by_class(drawn, known, 2, rng=seed)
    chosen = _spread(known[dealt[0]], columns, np.random.default_rng(child_seed(seed, 2)))
    samples = []
    for source, rows in enumerate(dealt):
        factors = {name: np.full(rows.size, value) for name, value in base.values().items()}
        factors[learning_factor] = np.asarray(values[source])[chosen]
        own = seed if same_instances else child_seed(seed, source)
        samples.append(
            draw_sample(
                digits, known, rows, factors, size=size, jitter=jitter, seed=own, progress=progress
            )
        )
    return samples[0], samples[1]


def uncorrelated_factors(
    labels: Any,
    *,
    base: FactorSpec | None = None,
    vary: Sequence[str] = tuple(FACTORS),
    rng: Any = None,
) -> dict[str, npt.NDArray[Any]]:
    """Draw factors that tell nothing about the label: within each class every value occurs equally often.

    Parameters
    ----------
    labels : array-like of int, shape (n_images,)
        The digits.
    base : FactorSpec, optional
        The values of the factors that do not vary.
    vary : sequence of str
        The factors that vary, independently of each other. Default: all five.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    dict of ndarray
        For each factor the value of each image, for `render_factors` and `factor_environments`. The counts of a
        factor's values within a class differ by at most one.

    Raises
    ------
    ValueError
        If a name in ``vary`` is no factor.

    Examples
    --------
    >>> from shiftmetrics_lab.shifts.factors.designs import uncorrelated_factors
    >>> factors = uncorrelated_factors([4, 9] * 3, vary=["lightness"], rng=0)
    >>> sorted(factors["lightness"][::2].tolist())
    ['bright', 'dark', 'normal']
    """
    known = check_labels(labels)
    if isinstance(vary, str):
        raise ArgumentTypeError("vary", "a list of factors", value=vary)
    for name in vary:
        check_choice(name, "vary", tuple(FACTORS))
    fixed = (FactorSpec() if base is None else base).values()
    factors = {name: np.full(known.size, value) for name, value in fixed.items()}
    seed = seed_of(rng)
    for position, name in enumerate(FACTORS):
        if name in vary:
            every = {int(digit): tuple(range(len(FACTORS[name]))) for digit in np.unique(known)}
            generator = np.random.default_rng(child_seed(seed, position))
            factors[name] = np.asarray(FACTORS[name])[_spread(known, every, generator)]
    return factors


def _spread(
    labels: IntArray, columns: Mapping[int, tuple[int, ...]], generator: np.random.Generator
) -> IntArray:
    """Give each row one of its class's columns, at random and evenly within the class."""
    chosen = np.zeros(labels.size, dtype=np.int64)
    for digit, allowed in columns.items():
        members = generator.permutation(np.flatnonzero(labels == digit))
        # Which value gets the odd row out is random too, or the values would be uneven over many classes.
        order = generator.permutation(np.asarray(allowed))
        chosen[members] = order[np.arange(members.size) % order.size]
    return chosen


def _columns(design: str, withheld: bool) -> dict[int, tuple[int, ...]]:
    """Return the columns that occur with each digit, or those that do not."""
    pattern = DESIGNS[check_choice(design, "design", tuple(DESIGNS))]
    wanted = "O" if withheld and design != "ZSO" else "X"
    return {
        digit: tuple(column for column, mark in enumerate(row) if mark == wanted)
        for digit, row in zip(DIGITS, pattern, strict=True)
    }


def _source_values(learning_factor: str, source: int) -> tuple[str, str, str]:
    check_choice(learning_factor, "learning_factor", tuple(SOURCES))
    return SOURCES[learning_factor][check_integer(source, "source", low=0, high=1)]
