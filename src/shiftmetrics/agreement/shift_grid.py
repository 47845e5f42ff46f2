"""Validate and match the scores of several models under several powers of a shift."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.tables import Align
from shiftmetrics._core.validation import check_vector, describe, first_few
from shiftmetrics.agreement.predictions import label_columns
from shiftmetrics.agreement.scores import ScorePairs, align_rows, prepare_pairs
from shiftmetrics.agreement.statistic import survey

ONE_POWER = "shift"
"""Name of the power where there is only one."""


@dataclass(frozen=True, eq=False)
class ShiftGrid:
    """Scores of each model at each power, and on the original rows.

    Attributes
    ----------
    models : tuple of str
    powers : tuple of float or str
        Ascending where they are numbers.
    scores : list of mappings
        For each model, scores by power.
    reference_scores : list
        For each model.
    pairing : {"labels", "position"}
    """

    models: tuple[str, ...]
    powers: tuple[float | str, ...]
    scores: list[Mapping[Any, Any]]
    reference_scores: list[Any]
    pairing: Align

    @classmethod
    def of(cls, scores: Any, reference_scores: Any, pairing: Align) -> ShiftGrid:
        """Tell which mapping is over models and which over powers.

        Raises
        ------
        ValueError
            If models or powers differ, or there are none.
        """
        if not isinstance(reference_scores, Mapping):
            scores, reference_scores = {"model": scores}, {"model": reference_scores}
        names = list(reference_scores)
        if not isinstance(scores, Mapping) or set(scores) != set(names) or not names:
            got = _keys(scores) if isinstance(scores, Mapping) else type(scores).__name__
            expected = f"a mapping with the models of reference_scores, {_keys(names)}"
            raise ValueError(describe("scores", expected, got))
        by_model = [scores[name] for name in names]
        tables = [part if isinstance(part, Mapping) else {ONE_POWER: part} for part in by_model]
        keys = list(tables[0])
        for name, table in zip(names, tables, strict=True):
            if set(table) != set(keys) or not keys:
                expected = f"given at the same powers for every model, {_keys(keys)}"
                raise ValueError(describe("scores", expected, f"{_keys(table)} for model {name!r}"))
        if all(isinstance(key, numbers.Real) for key in keys):
            keys = sorted(keys)
        tables = [{_power(key): table[key] for key in keys} for table in tables]
        return cls(
            tuple(map(str, names)),
            tuple(map(_power, keys)),
            tables,
            list(reference_scores.values()),
            pairing,
        )

    def pairs(
        self, m: int, *, kind: str, prior: Any, floor: float | None, executor: Executor | None
    ) -> list[ScorePairs]:
        """Return the pairs of model ``m`` at each power, with one prior for all of them."""
        reference = self.reference_scores[m]
        surveyed = []
        for table in self.scores[m].values():
            table = align_rows(reference, table, "scores", self.pairing, "reference_scores")
            pairs = prepare_pairs(
                table, reference, kind=kind, prior=prior, floor=floor, pairing="position"
            )
            surveyed.append(survey(pairs, executor=executor))
        if not isinstance(prior, str):
            return [pairs for pairs, _ in surveyed]
        shares = np.mean([limits.shares for _, limits in surveyed], axis=0)
        return [pairs.replace(prior=shares / shares.sum()) for pairs, _ in surveyed]

    def labels(self, labels: Any, m: int, pairs: ScorePairs) -> IntArray:
        """Return the column of each row's true class for model ``m``."""
        reference = self.reference_scores[m]
        labels = align_rows(reference, labels, "labels", self.pairing, "reference_scores")
        return label_columns(labels, "labels", reference, pairs.n_classes, pairs.n_samples)

    def sizes(self, sizes: Any, m: int, p: int, n_samples: int) -> FloatArray:
        """Return how far each row of model ``m`` was moved at power ``p``: zeros where nothing is given.

        Raises
        ------
        ValueError
            If a mapping lacks the model or power, or an array has another length.
        """
        name, keys = "perturbation_sizes", (self.models[m], self.powers[p])
        for key in keys:
            if isinstance(sizes, Mapping):
                sizes = {_power(key): part for key, part in sizes.items()}.get(key, sizes)
        if isinstance(sizes, Mapping):
            expected = f"given for model {keys[0]!r} and power {keys[1]!r}"
            raise ValueError(describe(name, expected, _keys(sizes)))
        if sizes is None:
            return np.zeros(n_samples)
        reference = self.reference_scores[m]
        sizes = align_rows(reference, sizes, name, self.pairing, "reference_scores")
        return check_vector(sizes, name, length=n_samples, low=0.0, allow_inf=True)


def _power(key: Any) -> float | str:
    return float(key) if isinstance(key, numbers.Real) and not isinstance(key, bool) else str(key)


def _keys(keys: Any) -> str:
    return first_few(keys, 4) or "none"
