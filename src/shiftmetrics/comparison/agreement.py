"""Models ranked by posterior agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shiftmetrics._core.arrays import is_labelled
from shiftmetrics._core.options import Computing, Resampling, resampling_of
from shiftmetrics._core.result import Result
from shiftmetrics._core.tables import Align, match_labels
from shiftmetrics._core.validation import describe
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.comparison.ranking import compare_results, model_names
from shiftmetrics.comparison.result import ComparisonResult


def compare_agreement(
    scores: Mapping[str, Any],
    reference_scores: Any,
    *,
    kind: str = "scores",
    prior: Any = "predicted",
    sample_weight: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    resampling: Resampling | float = 0.95,
    computing: Computing | None = None,
) -> ComparisonResult:
    """Rank models by posterior agreement, with intervals, paired differences and ranks that hold together.

    Parameters
    ----------
    scores : mapping of str to array of shape (n_samples, n_classes)
        Each model's scores on the shifted sample, by its name; the same rows for all of them.
    reference_scores : mapping of str to array, or array
        Its scores on the original sample; a single array is the reference of all models.
    kind : {"scores", "probabilities"}, default "scores"
        As in `posterior_agreement`.
    prior : array, "predicted" or None, default "predicted"
        As in `posterior_agreement`; with None, the uniform prior, a constant classifier would rank first.
    sample_weight : array of shape (n_samples,), optional
        Non-negative observation weights.
    floor : float, optional
        Smaller probabilities are raised to it.
    pairing : {"labels", "position"}, default "labels"
        Whether tables are matched by row and column labels, over all models, or as they stand.
    resampling : Resampling or float, default 0.95
        Bootstrap draws, the same for all models; the level is that of the intervals, and of all ranks together.
    computing : Computing, optional
        As in `posterior_agreement`.

    Returns
    -------
    ComparisonResult
        `to_frame` gives the table of models, `differences_frame` that of the pairs. Higher is better.

    Raises
    ------
    TypeError
        If ``scores`` is not a mapping, or holds no numbers.
    ValueError
        If there are fewer than two models, names of models differ, or an argument of `posterior_agreement` is bad.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import Resampling
    >>> from shiftmetrics.comparison import compare_agreement
    >>> rng = np.random.default_rng(0)
    >>> clean = 3.0 * rng.normal(size=(500, 5))
    >>> noisy = {f"noise {s}": clean + s * rng.normal(size=clean.shape) for s in (1, 2, 4)}
    >>> comparison = compare_agreement(noisy, clean, resampling=Resampling(rng=0))
    >>> [(model.name, model.rank_low, model.rank_high) for model in comparison.models]
    [('noise 1', 1, 1), ('noise 2', 2, 2), ('noise 4', 3, 3)]
    """
    from tqdm.auto import tqdm

    names = model_names(scores, "scores")
    references = (
        reference_scores if isinstance(reference_scores, Mapping) else dict.fromkeys(names, reference_scores)
    )
    if set(references) != set(names):
        raise ValueError(
            describe("reference_scores", f"a mapping with the names {names}", f"{list(references)}")
        )
    tables = _same_rows(scores, names, pairing)
    drawn = resampling_of(resampling) or Resampling()
    progress = computing is None or computing.progress
    results: dict[str, Result] = {}
    for name in tqdm(names, desc="models", delay=2.0, disable=not progress, leave=False):
        try:
            results[name] = posterior_agreement(
                tables[name],
                references[name],
                kind=kind,
                prior=prior,
                sample_weight=sample_weight,
                floor=floor,
                pairing=pairing,
                resampling=drawn,
                computing=computing,
            )
        except (TypeError, ValueError) as error:
            raise type(error)(f"Model {name!r}: {error}") from error
    return compare_results(results, confidence_level=drawn.level)


def _same_rows(scores: Mapping[str, Any], names: Sequence[str], pairing: Align) -> dict[str, Any]:
    """Bring the rows of labelled tables into the order of the first model's."""
    first = scores[names[0]]
    tables = {}
    for name in names:
        table = scores[name]
        if pairing == "labels" and is_labelled(first) and is_labelled(table):
            order = match_labels(
                list(first.index),
                list(table.index),
                f"scores[{names[0]!r}]",
                f"scores[{name!r}]",
                "rows",
                "pairing",
            )
            table = table.iloc[order]
        if len(table) != len(first):
            raise ValueError(
                f"scores must have the same rows for all models, got {len(first)} for {names[0]!r} and {len(table)} "
                f"for {name!r}."
            )
        tables[name] = table
    return tables
