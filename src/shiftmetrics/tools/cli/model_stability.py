"""``shiftmetrics stability DATA --model MODEL``: what the command line says turned into a call, and its answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftmetrics.tools.cli.errors import named_arguments
from shiftmetrics.tools.cli.models import ModelSample, load_model, name_of, read_model_sample
from shiftmetrics.tools.cli.samples import split_names

if TYPE_CHECKING:
    from shiftmetrics.models import Moves
    from shiftmetrics.tools.cli.stability_answers import Asked

ARGUMENTS = {
    "X": "FILE", "y": "--target", "model": "--model", "loss": "--loss", "threshold": "--threshold",
    "theta1": "--theta1", "theta2": "--theta2", "divergence": "--divergence", "sample_weight": "--weight",
    "groups": "--groups", "level": "--confidence", "features": "--features", "immutable": "--immutable",
    "integer": "--integer", "categorical": "--categorical", "one_hot": "--one-hot", "bounds": "--bounds",
    "method": "--method", "n_queries": "--queries", "by": "--by", "label_flip": "--label-flip",
}  # fmt: skip
"""From the arguments of the library to what the user typed."""

MOST_GROUPS = 50


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """What the command line says of a model and its rows, in the user's words."""

    model: str
    target: str
    loss: str = "zero_one"
    features: str | None = None
    immutable: str | None = None
    integer: str | None = None
    categorical: str | None = None
    one_hot: Sequence[str] = field(default_factory=tuple)
    bounds: str | None = None
    cost: str = "std"
    label_flip: float = math.inf
    method: str = "auto"
    queries: int = 500
    seed: int = 0
    feature_stability: bool = False
    by: str | None = None

    def moves(self) -> Moves:
        """Return what may move, as the library takes it."""
        from shiftmetrics.models import Moves

        def names(text: str | None) -> list[str] | None:
            return None if text is None else split_names(text)

        return Moves(
            features=names(self.features),
            immutable=names(self.immutable),
            integer=names(self.integer),
            categorical=names(self.categorical),
            one_hot=[split_names(group) for group in self.one_hot] or None,
            bounds=None if self.bounds is None else parse_bounds(self.bounds),
            cost=self.cost,
            label_flip=self.label_flip,
        )


@dataclass(frozen=True, kw_only=True)
class ModelAnswer:
    """Results, the main one first, with the rows that they are about."""

    name: str
    sample: ModelSample
    result: Any
    features: Any = None
    notes: list[str]


def solve(text: str, options: ModelOptions, common: Asked, *, progress: bool) -> ModelAnswer:
    """Open the model, read the rows and solve.

    Raises
    ------
    ValueError, TypeError
        In the words of the command line.
    """
    import shiftmetrics.models as models
    from shiftmetrics import Resampling

    with named_arguments(ARGUMENTS):
        moves = options.moves()
    model, notes = load_model(options.model)
    sample = read_model_sample(
        text, model, target=options.target, id_column=common.id_column, weight=common.weight, groups=common.groups,
        by=options.by,
    )  # fmt: skip
    asked: dict[str, Any] = {
        "loss": options.loss, "theta1": common.theta1, "theta2": common.theta2, "divergence": common.divergence,
        "sample_weight": sample.weight,
    }  # fmt: skip
    features = None
    with named_arguments(ARGUMENTS):
        asked["resampling"] = Resampling(level=common.level, groups=sample.groups)
        asked["computing"] = models.Search(
            method=options.method, n_queries=options.queries, rng=options.seed, progress=progress
        )
        result = models.model_stability(model, sample.X, sample.y, common.threshold, moves=moves, **asked)
        if options.feature_stability:
            subgroups = None if sample.subgroups is None else _few(sample.subgroups, options.by)
            moves = replace(moves, by=subgroups)
            features = models.feature_stability(
                model, sample.X, sample.y, common.threshold, moves=moves, **asked
            )
    return ModelAnswer(
        name=name_of(model), sample=sample, result=result, features=features, notes=[*notes, *sample.notes]
    )


def _few(groups: Any, by: str | None) -> Any:
    """Return the group of each row, as ``SEX = 2``, unless there are so many that each is a few rows."""
    texts = np.asarray([f"{by} = {value}" for value in groups])
    n_groups = len(np.unique(texts))
    if n_groups > MOST_GROUPS:
        raise ValueError(
            f"--by must name a column of at most {MOST_GROUPS} groups, got {n_groups}. "
            "Put numbers into ranges first, such as ages into decades."
        )
    return texts


def parse_bounds(text: str) -> Any:
    """Turn ``age=0:120,pulse=30:`` into pairs by column; ``data`` stays as it is.

    Raises
    ------
    ValueError
        If a part is not of that form.
    """
    if text == "data":
        return text
    bounds: dict[str, tuple[float, float]] = {}
    for part in split_names(text):
        name, sign, limits = part.rpartition("=")
        low, colon, high = limits.partition(":")
        try:
            if not (sign and colon):
                raise ValueError
            bounds[name.strip()] = (float(low or -math.inf), float(high or math.inf))
        except ValueError:
            raise ValueError(
                f"--bounds must be data, or COLUMN=LOW:HIGH with commas between columns, got {part!r}. "
                "An example is --bounds age=0:120,pulse=30:"
            ) from None
    return bounds
