"""Models ranked by posterior agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from shiftmetrics._core.arrays import is_labelled
from shiftmetrics._core.result import Result
from shiftmetrics._core.tables import Align, match_labels
from shiftmetrics._core.validation import describe, seed_of
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
    align: Align = "labels",
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    groups: Any = None,
    rng: Any = None,
    executor: Executor | None = None,
    progress: bool = True,
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
    align : {"labels", "position"}, default "labels"
        Whether tables are matched by row and column labels, over all models, or as they stand.
    confidence_level : float, default 0.95
        Of the intervals, and of all ranks together.
    n_resamples : int, default 1000
        Bootstrap draws.
    groups : array of shape (n_samples,), optional
        Labels of rows that belong together, such as several distortions of one picture.
    rng : int, Generator or None
        Seed of the draws, the same for all models.
    executor : concurrent.futures.Executor, optional
        Threads that work on blocks of rows.
    progress : bool, default True
        Show a progress bar over the models when it takes more than two seconds.

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
    >>> from shiftmetrics.comparison import compare_agreement
    >>> rng = np.random.default_rng(0)
    >>> clean = 3.0 * rng.normal(size=(500, 5))
    >>> noisy = {f"noise {s}": clean + s * rng.normal(size=clean.shape) for s in (1, 2, 4)}
    >>> comparison = compare_agreement(noisy, clean, rng=0)
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
    tables = _same_rows(scores, names, align)
    seed = seed_of(rng)
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
                align=align,
                executor=executor,
                keep_rows=False,
                confidence_level=confidence_level,
                n_resamples=n_resamples,
                groups=groups,
                rng=seed,
            )
        except (TypeError, ValueError) as error:
            raise type(error)(f"Model {name!r}: {error}") from error
    return compare_results(results, confidence_level=confidence_level)


def _same_rows(scores: Mapping[str, Any], names: Sequence[str], align: Align) -> dict[str, Any]:
    """Bring the rows of labelled tables into the order of the first model's."""
    first = scores[names[0]]
    tables = {}
    for name in names:
        table = scores[name]
        if align == "labels" and is_labelled(first) and is_labelled(table):
            order = match_labels(
                list(first.index), list(table.index), f"scores[{names[0]!r}]", f"scores[{name!r}]", "rows"
            )
            table = table.iloc[order]
        if len(table) != len(first):
            raise ValueError(
                f"scores must have the same rows for all models, got {len(first)} for {names[0]!r} and {len(table)} "
                f"for {name!r}."
            )
        tables[name] = table
    return tables
