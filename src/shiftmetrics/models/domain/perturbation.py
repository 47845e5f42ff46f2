"""Options of a model's stability: what may change and at what cost, and how to search for changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.options import Computing, computing_of
from shiftmetrics._core.validation import (
    check_choice,
    check_integer,
    check_number,
    first_few,
    seed_of,
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Perturbation:
    """What may change, and at what cost.

    Columns are given by name or position. Whether they are in the table is checked where the table is known.

    Parameters
    ----------
    features : sequence of str or int, or dict of str to sequence, optional
        The columns that may change. Default: all. `feature_stability` takes them one at a time; a dict names groups
        of columns that it takes together.
    cost : {"std", "range", "unit"} or dict, default "std"
        What a change costs in the squared distance. A name is the change that costs 1: one standard deviation of the
        column in ``X`` (ddof 0), its range, or one unit. A number, by column in a dict, is the cost of a change by
        one unit of the column; inf fixes it. For categories
        it is the cost of a change, by default ``2 / P(two random samples differ)``: then two random samples are a
        squared distance of 2 apart on average, as they are in a column of numbers, and a column of two values costs
        the same as numbers or categories. With "range" and "unit" a change costs 1.
    bounds : "data", pair, dict of pairs or None, default "data"
        Lowest and highest value of numbers, for all columns or by column. None or inf: no bound. "data" is the range
        of each column (of all pixels together in rows of several axes), also for the columns that a dict leaves out.
    immutable : sequence of str or int, optional
        Columns that may not change.
    integer : "auto" or sequence of str or int, default "auto"
        Columns of numbers that change by integer steps. "auto": those that hold integers alone; none in rows of
        several axes. An empty sequence lets all change by fractions.
    categorical : sequence of str or int, optional
        Columns of numbers that stand for categories.
    one_hot : sequence of sequences, optional
        Groups of columns of which one is 1 and the others 0. A group changes as a whole, and is named by the
        common part of the names of its columns.
    by : array_like of shape (n_samples,) or str, optional
        Subgroups of the samples for `feature_stability`: a label for each sample, or the name of a column of ``X``.
    target : array_like or DataFrame of shape (n_target_samples, n_features), optional
        Samples without labels of where the model is to be used, for `feature_stability`: their values replace those
        of each feature.

    Raises
    ------
    TypeError
        If an option is of the wrong type.
    ValueError
        If a number or a name is out of its range.

    Examples
    --------
    >>> from shiftmetrics.models import Perturbation
    >>> Perturbation(features=["age", "dose"], cost="range", bounds={"age": (18, 90)}).settings()
    {'features': ('age', 'dose'), 'cost': 'range', 'bounds': {'age': (18, 90)}, 'integer': 'auto'}
    """

    features: Any = None
    cost: Any = "std"
    bounds: Any = "data"
    immutable: Any = None
    integer: Any = "auto"
    categorical: Any = None
    one_hot: Any = None
    by: Any = None
    target: Any = None

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {}
        for name in ("immutable", "integer", "categorical"):
            value = getattr(self, name)
            if not (name == "integer" and isinstance(value, str) and value == "auto"):
                checked[name] = _columns(value)
        features = self.features
        if isinstance(features, Mapping):
            checked["features"] = {str(name): _columns(group) for name, group in features.items()}
        else:
            checked["features"] = _columns(features)
        if isinstance(self.one_hot, str | Mapping):
            remedy = "Pass the groups of columns in a list: their names are made of those of the columns."
            raise ArgumentTypeError(
                "one_hot", "a sequence of groups", value=self.one_hot, remedy=remedy
            )
        if self.one_hot is not None:
            checked["one_hot"] = tuple(_columns(group) for group in self.one_hot)
        if not isinstance(self.cost, Mapping):
            check_choice(self.cost, "cost", ("std", "range", "unit"))
        if isinstance(self.bounds, str):
            check_choice(self.bounds, "bounds", ("data",))
        # The class is frozen: what is checked and converted takes the place of what was given.
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def settings(self) -> dict[str, Any]:
        """Return the options that are set, for the ``settings`` of a result."""
        options = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if value is None:
                continue
            # Arrays of samples are not repeated.
            if part.name == "target" or (part.name == "by" and not isinstance(value, str)):
                value = "given"
            options[part.name] = _plain(value)
        return options


def perturbation_of(value: Perturbation | None) -> Perturbation:
    """Return the perturbation of a call.

    Raises
    ------
    TypeError
        If ``value`` is something else.
    """
    if value is not None and not isinstance(value, Perturbation):
        raise ArgumentTypeError("perturbation", "a Perturbation or None", value=value)
    return value or Perturbation()


@dataclass(frozen=True, eq=False, kw_only=True)
class Search(Computing):
    """How to search for the changes that break a model, and how to compute.

    It has the options of `Computing`, too.

    Parameters
    ----------
    method : str, default "auto"
        The route: "linear", "pairs", "tree", "ensemble", "torch" or "blackbox". By default the first that knows the
        model.
    n_queries : int, default 500
        Most queries for each sample, for searches that only predict. For sums of trees it is how long errors are
        sought, and how much work goes into the certified lower bound: 5,000 often bring both together.
    clip : float, optional
        Least probability that counts in the log loss of a model with ``predict_proba``. Default: what the model can
        tell from 0, which is half a vote of a forest, 1 / (2 n_trees), and rounding elsewhere.
    rng : int or numpy.random.Generator, default 0
        Seed of searches that are random.

    Raises
    ------
    TypeError
        If an option is of the wrong type.
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from shiftmetrics.models import Search
    >>> Search(n_queries=1000, progress=False).settings()
    {'method': 'auto', 'n_queries': 1000, 'rng': 0}
    """

    method: str = "auto"
    n_queries: int = 500
    clip: float | None = None
    rng: Any = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_queries", check_integer(self.n_queries, "n_queries", low=1))
        object.__setattr__(self, "rng", seed_of(self.rng))
        if self.clip is not None:
            clip = check_number(self.clip, "clip", low=0.0, high=1.0, open_low=True)
            object.__setattr__(self, "clip", clip)

    def settings(self) -> dict[str, Any]:
        """Return the options that change a result, for its ``settings``."""
        names = ("method", "n_queries", "rng")
        own = {name: getattr(self, name) for name in names}
        return {**super().settings(), **own}


def search_of(value: Computing | None) -> Search:
    """Return the options of a call with the defaults of a model's stability.

    Raises
    ------
    TypeError
        If ``value`` is no `Computing`.
    ValueError
        If it sets a tolerance that is not used.
    """
    computing = computing_of(value, rtol=1e-10, max_iter=200, memory_limit=None)
    if isinstance(computing, Search):
        return computing
    return Search(**{part.name: getattr(computing, part.name) for part in fields(Computing)})


def _columns(value: Any) -> tuple[str | int, ...] | None:
    """Return names or positions of columns as a tuple; one alone may stand by itself."""
    if value is None:
        return None
    if isinstance(value, str | int | np.integer):
        value = [value]
    # An array without axes counts as an iterable, and is none.
    is_scalar = getattr(value, "ndim", 1) == 0
    if is_scalar or not isinstance(value, Iterable) or isinstance(value, bytes | memoryview):
        raise ArgumentTypeError("Columns", "given by names or positions", value=value)
    columns: list[Any] = []
    for column in value:
        if isinstance(column, np.integer) and not isinstance(column, np.timedelta64):
            column = int(column)
        if not isinstance(column, str | int | tuple):
            raise ArgumentTypeError("Columns", "given by names or positions", value=column)
        columns.append(column)
    return tuple(columns)


def _plain(value: Any) -> Any:
    """Return an option as strings, numbers and tuples, which JSON can hold."""
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return value
    return tuple(_plain(part) for part in value)


def positions_of(features: Any, names: Sequence[str], argument: str) -> IntArray:
    """Return the positions among ``names`` of columns given by name or position; one alone may stand by itself."""
    places: dict[Any, int] = {name: place for place, name in enumerate(names)}
    found: list[int] = []
    unknown: list[Any] = []
    # Names are strings, so that an integer is a position; negative ones count from the end.
    for feature in _columns(features) or ():
        place = None
        if not isinstance(feature, int) or isinstance(feature, bool):
            place = places.get(feature)
        elif -len(names) <= feature < len(names):
            place = feature % len(names)
        if place is None:
            unknown.append(feature)
        else:
            found.append(place)
    if unknown:
        expected = f"names or positions of columns of X ({first_few(names)})"
        raise ArgumentValueError(argument, expected, f"unknown {first_few(unknown)}")
    return np.array(found, dtype=np.int64)
