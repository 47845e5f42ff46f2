"""Models ranked by agreement or stability, and samples ranked by novelty, from their data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import is_labelled, to_float64
from shiftmetrics._core.options import Computing, Resampling, resampling_of
from shiftmetrics._core.tables import Align, match_labels
from shiftmetrics._core.validation import check_integer, describe, seed_of
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.comparison.ranking import common_budget, model_names, rank_results
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.novelty import NoveltyResampling, choose_bandwidth, kernel_entropic_novelty
from shiftmetrics.novelty.gram import rows_at
from shiftmetrics.novelty.inputs import check_samples
from shiftmetrics.novelty.options import novelty_resampling_of
from shiftmetrics.stability import stability_criterion, worst_case_risk
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses.base import Loss


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
    names = model_names(scores, "scores")
    references = reference_scores
    if not isinstance(references, Mapping):
        references = dict.fromkeys(names, reference_scores)
    if set(references) != set(names):
        expected = f"a mapping with the names {names}"
        raise ValueError(describe("reference_scores", expected, f"{list(references)}"))
    tables = _same_rows(scores, names, pairing)
    drawn = resampling_of(resampling) or Resampling()

    def measure(name: str, computing: Computing) -> Any:
        return posterior_agreement(
            tables[name], references[name], kind=kind, prior=prior, sample_weight=sample_weight, floor=floor,
            pairing=pairing, resampling=drawn, computing=computing,
        )  # fmt: skip

    return rank_results(_each(names, measure, computing), drawn.level, drawn.rng)


def compare_stability(
    losses: Mapping[str, Loss],
    threshold: float,
    *,
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    sample_weight: Any = None,
    budget: float | None = None,
    resampling: Resampling | float = 0.95,
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
        The level of the intervals, and of all ranks together; ``groups`` of rows; and ``rng``, by default 0, the
        seed of the normal draws behind ranks. The differences themselves need no draws.
    computing : Computing, optional
        As in `stability_criterion`.

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
    compare_results : The same from results.

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
    names = model_names(losses, "losses")
    for name, loss in losses.items():
        if not isinstance(loss, Loss):
            remedy = "Results go to compare_results."
            raise TypeError(describe(f"losses[{name!r}]", "a loss object", type(loss).__name__, remedy))
    _check_sizes("losses", {name: loss.n_samples for name, loss in losses.items()})
    drawn = resampling_of(resampling) or Resampling()
    seed = drawn.rng if isinstance(resampling, Resampling) and resampling.rng is not None else 0
    options: dict[str, Any] = {
        "theta1": theta1, "theta2": theta2, "divergence": divergence, "sample_weight": sample_weight,
        "resampling": drawn,
    }  # fmt: skip

    def stability(name: str, computing: Computing) -> Any:
        return stability_criterion(losses[name], threshold, **options, computing=computing)

    def risk(name: str, computing: Computing) -> dict[str, float]:
        return {
            "worst_case_risk": worst_case_risk(losses[name], within, **options, computing=computing).value
        }

    results = _each(names, stability, computing)
    within = common_budget(results) if budget is None else budget
    companions = _each(names, risk, computing)
    return rank_results(results, drawn.level, seed, companions=companions, settings={"budget": within})


def compare_novelty(
    samples: Mapping[str, Any],
    reference: Any,
    *,
    n_rows: int | None = None,
    eta: float = 1.0,
    kernel: Literal["gaussian", "cosine"] = "gaussian",
    bandwidth: float | Literal["auto"] = "auto",
    method: Any = "auto",
    resampling: NoveltyResampling | Resampling | float = 0.95,
    computing: Computing | None = None,
) -> ComparisonResult:
    """Rank samples by their novelty against one reference, with intervals and paired differences.

    Parameters
    ----------
    samples : mapping of str to array or DataFrame of shape (n_samples, n_columns)
        At least two samples, by name, such as what several generators drew.
    reference : array or DataFrame of shape (n_reference, n_columns)
        The common reference.
    n_rows : int, optional
        Rows to draw from each sample: scores grow with the rows, so all have as many. Default: those of the smallest.
    eta : float, default 1.0
        How many times as frequent as in the reference counts as new.
    kernel : {"gaussian", "cosine"}, default "gaussian"
        Similarity of two rows.
    bandwidth : float or "auto", default "auto"
        Of the Gaussian kernel, one for all; "auto" is `choose_bandwidth` of all rows together.
    method : str, FourierMap or LandmarkMap, default "auto"
        As for `kernel_entropic_novelty`.
    resampling : NoveltyResampling, Resampling or float, default 0.95
        Level of the intervals, and of all ranks together, with the same rows of the reference in each draw for all
        samples. Its ``rng`` draws rows and subsamples; by default a fresh seed, which the settings keep.
    computing : Computing, optional
        As for `kernel_entropic_novelty`.

    Returns
    -------
    ComparisonResult
        `to_frame` gives the table of samples with the excess over relabelled rows, its p-value and the number of
        significant modes; `differences_frame` that of the pairs. Higher is more novel.

    Raises
    ------
    TypeError
        If ``samples`` is not a mapping, or holds no numbers.
    ValueError
        If there are fewer than two samples, one has fewer than ``n_rows`` rows, or an argument of
        `kernel_entropic_novelty` is bad.

    See Also
    --------
    compare_results : The same from results; it refuses those of unequal numbers of rows.
    shiftmetrics.novelty.novelty_table : Each sample against each other.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import Resampling
    >>> from shiftmetrics.comparison import compare_novelty
    >>> rng = np.random.default_rng(0)
    >>> reference, same, new = rng.normal(size=(3, 150, 2))
    >>> new[:50] += 6.0
    >>> new[50:100] -= 6.0
    >>> samples = {"same": same[:120], "new": new}
    >>> comparison = compare_novelty(samples, reference, bandwidth=2.0, resampling=Resampling(rng=0))
    >>> comparison.best.name, comparison.n_samples, comparison.differences[0].p_value < 0.05
    ('new', 120, True)
    """
    names = model_names(samples, "samples")
    chosen = novelty_resampling_of(resampling)
    seed, level = seed_of(chosen.rng), 0.95 if chosen.level is None else chosen.level
    chosen = replace(chosen, rng=seed, level=level)
    checked = _each(
        names, lambda name, _: check_samples(samples[name], reference, kernel), computing, "Sample"
    )
    arrays = {name: array for name, (array, _) in checked.items()}
    base = checked[names[0]][1]
    smallest = min(int(array.shape[0]) for array in arrays.values())
    size = smallest if n_rows is None else check_integer(n_rows, "n_rows", low=2)
    if size > smallest:
        expected = f"at most the rows of the smallest sample, {smallest}"
        raise ValueError(describe("n_rows", expected, size, "Scores need equal sizes."))
    generator = np.random.default_rng(seed)
    for name, array in arrays.items():
        rows = np.sort(generator.choice(int(array.shape[0]), size, replace=False))
        arrays[name] = rows_at(array, rows)
    width: Any = bandwidth
    if kernel == "gaussian" and bandwidth == "auto":
        pooled = np.concatenate([to_float64(array) for array in arrays.values()])
        width = choose_bandwidth(pooled, to_float64(base), rng=0).value

    def measure(name: str, computing: Computing) -> Any:
        return kernel_entropic_novelty(
            arrays[name], base, eta=eta, kernel=kernel, bandwidth=width, method=method,
            resampling=chosen, computing=computing,
        )  # fmt: skip

    results = _each(names, measure, computing, "Sample")
    return rank_results(results, level, seed, settings={"n_rows": size, "bandwidth": width})


def _each(
    names: list[str],
    measure: Callable[[str, Computing], Any],
    computing: Computing | None,
    thing: str = "Model",
) -> dict[str, Any]:
    """Measure each model, with one progress bar for all; an error names its model."""
    from tqdm.auto import tqdm

    computing = Computing() if computing is None else computing
    inner = replace(computing, progress=False)
    results = {}
    for name in tqdm(names, desc=thing.lower(), delay=2.0, disable=not computing.progress, leave=False):
        try:
            results[name] = measure(name, inner)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{thing} {name!r}: {error}") from error
    return results


def _same_rows(scores: Mapping[str, Any], names: list[str], pairing: Align) -> dict[str, Any]:
    """Bring the rows of labelled tables into the order of the first model's."""
    first, tables = scores[names[0]], dict(scores)
    for name, table in scores.items():
        if pairing == "labels" and is_labelled(first) and is_labelled(table):
            called, called_first = (f"scores[{one!r}]" for one in (name, names[0]))
            order = match_labels(
                list(first.index), list(table.index), called_first, called, "rows", "pairing"
            )
            tables[name] = table.iloc[order]
    _check_sizes("scores", {name: len(table) for name, table in tables.items()})
    return tables


def _check_sizes(argument: str, sizes: Mapping[str, int]) -> None:
    """Refuse models of different rows."""
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{size} for {name!r}" for name, size in sizes.items())
        raise ValueError(f"{argument} must have the same rows for all models, got {got}.")
