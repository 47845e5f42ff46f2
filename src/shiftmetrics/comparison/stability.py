"""Models ranked by optimal-transport stability, paired through the influence of each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shiftmetrics._core.options import Computing, Resampling, computing_of, resampling_of
from shiftmetrics._core.validation import describe
from shiftmetrics.comparison.budget import common_budget, risk_within
from shiftmetrics.comparison.ranking import model_names, rank_results
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.stability import StabilityResult, stability_criterion
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import Loss


def compare_stability(
    losses: Mapping[str, Loss],
    threshold: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    budget: float | None = None,
    resampling: Resampling | float | None = 0.95,
    computing: Computing | None = None,
) -> ComparisonResult:
    """Rank models by how little breaks them, with paired differences and ranks that hold together; higher is better.

    Parameters
    ----------
    losses : mapping of str to Loss
        What each model loses on the same rows, by its name; see `stability_criterion`. Models on data come with
        their results of `model_stability`, which `compare_results` ranks likewise.
    threshold : float
        The risk that counts as broken, the same for all.
    theta1, theta2 : float, default 0.4
        Prices of data corruption and of sub-population shift.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight.
    sample_weight : array_like of shape (n_samples,), optional
        Survey weight of each row.
    budget : float, optional
        The table holds the highest risk of each model within this cost. Default: the smallest stability above 0,
        which is what breaks the least stable model.
    resampling : Resampling or float, default 0.95
        ``level`` of the intervals and of all ranks together; ``groups`` of rows that belong
        together; and ``rng``, by default 0, the seed of the normal draws behind ranks.
    computing : Computing, optional
        How to compute; see `stability_criterion`.

    Returns
    -------
    ComparisonResult
        `to_frame` gives the table of models with readable companions (root-mean-square move, share moved, effective
        sample fraction, risk within the budget), `differences_frame` that of the pairs.

    Raises
    ------
    TypeError
        If ``losses`` is not a mapping of losses.
    ValueError
        If there are fewer than two models, their rows differ in number, a threshold is out of reach of a model, or an
        argument of `stability_criterion` is bad.

    See Also
    --------
    compare_results : The same from results at hand.

    Notes
    -----
    The values are jointly normal in large samples, with the covariance of their influence functions over rows (or
    groups of rows). What two models have in common in a row cancels in their difference.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import HingeLoss
    >>> from shiftmetrics.comparison import compare_stability
    >>> rng = np.random.default_rng(0)
    >>> easy = rng.normal(2.0, 1.0, 400)  # margins of the same rows under two models
    >>> losses = {"flat": HingeLoss(easy, 0.8), "steep": HingeLoss(easy + 0.1 * rng.normal(size=400), 2.0)}
    >>> comparison = compare_stability(losses, 1.0)
    >>> comparison.best.name, comparison.differences[0].p_value < 1e-3
    ('flat', True)
    """
    from tqdm.auto import tqdm

    interval = resampling_of(resampling) or Resampling()
    seed = interval.rng if isinstance(resampling, Resampling) and resampling.rng is not None else 0
    names = model_names(losses, "losses")
    _check_rows(losses)
    computing = computing_of(computing, rtol=1e-10, max_iter=200)
    options: dict[str, Any] = {
        "theta1": theta1, "theta2": theta2, "divergence": divergence, "sample_weight": sample_weight,
        "resampling": interval, "computing": replace(computing, progress=False),
    }  # fmt: skip
    results: dict[str, StabilityResult] = {}
    for name in tqdm(names, desc="models", delay=2.0, disable=not computing.progress, leave=False):
        try:
            results[name] = stability_criterion(losses[name], threshold, **options)
        except (TypeError, ValueError) as error:
            raise type(error)(f"Model {name!r}: {error}") from error
    if budget is None:
        budget = common_budget(results)
    companions = {
        name: risk_within(losses[name], budget, **options)
        for name in tqdm(
            names, desc="risks within the budget", delay=2.0, disable=not computing.progress, leave=False
        )
    }
    return rank_results(results, interval.level, seed, companions=companions, settings={"budget": budget})


def _check_rows(losses: Mapping[str, Any]) -> None:
    """Refuse what is not a loss, and losses of different rows."""
    for name, loss in losses.items():
        if not isinstance(loss, Loss):
            remedy = "Results go to compare_results."
            raise TypeError(describe(f"losses[{name!r}]", "a loss object", type(loss).__name__, remedy))
    sizes = {name: loss.n_samples for name, loss in losses.items()}
    if len(set(sizes.values())) > 1:
        said = " and ".join(f"{size} for {name!r}" for name, size in sizes.items())
        raise ValueError(f"losses must have the same rows for all models, got {said}.")
