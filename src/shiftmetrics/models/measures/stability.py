"""The stability of a model: validate, find how far samples can be brought by a route, solve, search on, return."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.blocks import row_blocks
from shiftmetrics._core.chunk_readers import chunks_of_rows
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.placement import check_rows_fit
from shiftmetrics._core.validation import check_weights
from shiftmetrics.models.domain.domain import FAR
from shiftmetrics.models.domain.perturbation import Perturbation, Search, perturbation_of
from shiftmetrics.models.measures.chunked import chunked_problem, in_memory, worst_case_of_chunks
from shiftmetrics.models.measures.result import ChangedRows, ModelStabilityResult, SearchRecord
from shiftmetrics.models.measures.rounds import SolvedRounds, shifted_samples, solve_in_rounds
from shiftmetrics.models.measures.routes import find_worst_case, search_options
from shiftmetrics.models.reading.model import LossName, ModelProblem, problem_of
from shiftmetrics.models.reading.outputs import class_log_probabilities
from shiftmetrics.models.search.worst_case import WorstCase
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.named_change import change_of_losses
from shiftmetrics.stability.shift import NamedChange

_BLOCK_BYTES = 1 << 24
_MOST_COLUMNS = 200
"""Columns above which no group is named by them: they are pixels."""
_MOST_NEIGHBOURS = 500
"""Samples of each half that are used for the distance between random halves."""


def model_stability(
    model: Any,
    X: Any,
    y: Any,
    threshold: float | None = None,
    *,
    loss: LossName = "zero_one",
    theta1: float = 0.4,
    theta2: float = 0.4,
    divergence: DivergenceName = "kl",
    perturbation: Perturbation | None = None,
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Search | Computing | None = None,
) -> ModelStabilityResult:
    """Return the least cost of a shift of a sample at which a fitted model reaches a risk; higher is better.

    `stability_criterion` for models: it finds how far each sample must change, in its columns, to raise the loss.

    Parameters
    ----------
    model : object
        A fitted classifier or regression: an estimator or pipeline of scikit-learn, or anything with ``predict``,
        or a callable that maps rows to labels or scores.
    X : array_like of shape (n_samples, ...) or DataFrame of shape (n_samples, n_features)
        Samples as the model takes them. Columns of strings, bool or a categorical dtype are categories, and so are
        those that a one-hot or ordinal encoder in the pipeline takes. If the model accepts missing cells, they may
        be missing (NaN, None, pandas' NA or NaT) and stay so; units are computed from the cells that are present.
        Images and other rows of several axes keep their shape, with columns named by their place, such as "0,3,7".
        Out-of-core data may be arrays and data frames of Dask, arrays of HDF5 and zarr, pyarrow datasets, or batches
        in an iterable (not a list) that can be read again. The route is mapped over their chunks; some losses and
        distances of each sample come back, without the changed rows. For losses other than 0/1 all rows are held in
        memory, except for trees with few cells.
    y : array_like of shape (n_samples,) or None
        Labels, or values for ``loss="squared"``; None for the model's own predictions.
    threshold : float, optional
        The risk (mean loss) that counts as broken. Default: an error rate 10 points above the current one, for the
        0/1 loss without costs.
    loss : {"zero_one", "hinge", "log_loss", "squared"}, default "zero_one"
        What a sample loses.
    theta1, theta2 : float, default 0.4
        Prices of data corruption and of sub-population shift; inf forbids it.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight.
    perturbation : Perturbation, optional
        Which columns may change, within which bounds and at what cost. By default all do, within the range of the
        data and by integer steps where they are integers; a change by one standard deviation (ddof 0) of the column
        in ``X`` costs 1, and a change of a category costs so much that two random samples are as far apart as in a
        column of numbers.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each sample.
    resampling : Resampling, float or None, default 0.95
        Confidence level of the interval, and ``groups``: samples that belong together.
    computing : Search or Computing, optional
        How to search for changes, and how to compute: ``rtol`` is the relative primal-dual gap at which to stop,
        1e-10 by default.

    Returns
    -------
    ModelStabilityResult
        The value with its ``kind``: exact for closed forms, an upper bound where changes are searched.

    Raises
    ------
    TypeError
        If ``model`` is no model, or a column is neither numbers nor categories.
    ValueError
        If the model is not fitted, the columns of ``X`` are not those it was fitted on, cells are missing that the
        model does not take, a label is unknown to it, or an option is out of its range.

    See Also
    --------
    stability_criterion : The same from losses or distances.

    References
    ----------
    Blanchet, Cui, Li, Liu, "Stability Evaluation through Distributional Perturbation Analysis", ICML 2024,
    arXiv:2405.03198.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from shiftmetrics import model_stability
    >>> from shiftmetrics.models import Perturbation
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> result = model_stability(model, X, y, 0.3, perturbation=Perturbation(bounds="data"))
    >>> print(result.headline())
    The error rate reaches 30 % (currently 2.7 %) if ... % of the samples change by at most ... standard...
    >>> result.kind, result.search.route
    ('exact', 'linear')
    >>> result.changed_rows().columns.equals(X.columns)
    True
    """
    perturbation = perturbation_of(perturbation)
    search = search_options(computing)
    for name in ("by", "target"):
        if getattr(perturbation, name) is not None:
            remedy = "Use feature_stability."
            raise ArgumentValueError("perturbation", f"without {name}", f"some {name}", remedy)
    reading: dict[str, Any] = {
        "loss": loss,
        "theta1": theta1,
        "perturbation": perturbation,
        "search": search,
    }
    options: dict[str, Any] = {
        "theta1": theta1,
        "theta2": theta2,
        "divergence": divergence,
        "sample_weight": sample_weight,
        "resampling": resampling,
        "computing": replace(search, memory_limit=None),
    }
    # Out-of-core data: the route finds worst cases chunk by chunk, unless it needs all samples at once.
    source = chunks_of_rows(X, "X")
    if source is None:
        problem = problem_of(model, X, y, **reading)
    else:
        check_rows_fit([source], 0, search, "X")
        problem = chunked_problem(source, model, y, **reading)
        problem.check_threshold(threshold)
        mapped = worst_case_of_chunks(problem)
        if mapped is not None:
            solution = solve_in_rounds(problem, mapped[1], threshold, options)
            return _result(problem, mapped[0], solution, perturbation, search, None)
        problem = in_memory(problem)
    problem.check_threshold(threshold)
    with problem.unchanged():
        found = WorstCase.fixed(problem)
        # Samples may change as well, unless weights alone reach the threshold at cost 0.
        route = "weights"
        solution = SolvedRounds(stability_criterion(found.loss, threshold, **options), found)
        if not problem.is_fixed and solution.solved.value != 0.0:
            route, found = find_worst_case(problem)
            solution = solve_in_rounds(problem, found, threshold, options)
        places = shifted_samples(problem, solution, sample_weight)
    return _result(problem, route, solution, perturbation, search, places, sample_weight)


def _result(
    problem: ModelProblem,
    route: str,
    solution: SolvedRounds,
    perturbation: Perturbation,
    search: Search,
    places: FloatArray | None,
    sample_weight: Any = None,
) -> ModelStabilityResult:
    """Put the solution, the route and the changed rows, where these are known, together."""
    solved = solution.solved
    changed = None
    if places is not None:
        changed = ChangedRows(
            table=replace(problem.table, is_frame=problem.is_frame),
            units=problem.domain.unit,
            codes=places[: problem.n_samples],
            split_codes=places[problem.n_samples :],
        )
    # The result of the criterion, with what is known of the model.
    fields = vars(solved).copy()
    fields["settings"] = {
        **solved.settings,
        **problem.settings(),
        "perturbation": perturbation.settings(),
        "computing": search.settings(),
    }
    fields["warnings"] = (
        *problem.domain.warnings,
        *solution.found.notes(solved.kind),
        *solved.warnings,
    )
    record = SearchRecord(
        route=route,
        n_queries=problem.count.rows,
        lower_bound=solution.lower_bound,
        neighbour_distance=_neighbour_distance(problem),
        trace=solution.trace,
        changed=changed,
        loss=solution.found.loss,
    )
    result = ModelStabilityResult(**fields, search=record)
    change = _named_change(problem, result, sample_weight)
    return replace(result, plan=replace(result.plan, named_change=change))


def _named_change(
    problem: ModelProblem, result: ModelStabilityResult, sample_weight: Any
) -> NamedChange | None:
    """Return the least change of the population that the columns, and the model's confidence, can name."""
    table = result.samples()
    losses = result.plan.base_losses
    grouped = (result.settings["resampling"] or {}).get("groups")
    if table is None or losses is None or grouped or math.isinf(result.settings["theta2"]):
        return None
    if result.status.code != "converged":
        return None
    if len(table.columns) > _MOST_COLUMNS:
        # Conditions on pixels say nothing.
        table = table.iloc[:, :0]
    if problem.classes is not None and hasattr(problem.model, "predict_proba"):
        table["model confidence"] = _confidence(problem)
    # The least change is sought over groups of at most two conditions.
    weights = check_weights(sample_weight, "sample_weight", result.n_samples)
    if weights is None:
        weights = np.ones(result.n_samples)
    return change_of_losses(losses, table, result.settings["threshold"], weights, rng=0)


def _confidence(problem: ModelProblem) -> FloatArray:
    """Return the highest probability of each sample, block by block: decoded samples are as large as the table."""
    confidence = np.empty(problem.n_samples)
    row_bytes = 32 * problem.domain.n_features
    for block in row_blocks(problem.n_samples, row_bytes, block_bytes=_BLOCK_BYTES):
        rows = problem.table.decode(problem.codes[block])
        logs = class_log_probabilities(problem.model, rows, problem.clip)
        confidence[block] = np.exp(logs.max(axis=1))
    return confidence


def _neighbour_distance(problem: ModelProblem) -> float | None:
    """Return how far samples of a random half are from the nearest of the other half, on the average."""
    n = min(problem.n_samples // 2, _MOST_NEIGHBOURS)
    if n < 1 or problem.is_fixed:
        return None
    # Two random halves, or a part of each.
    rows = np.random.default_rng(0).permutation(problem.n_samples)
    first = problem.codes[rows[:n]]
    second = problem.codes[rows[n : 2 * n]]
    gaps = problem.domain.squared_gaps(first, second)
    nearest = np.sqrt(gaps.min(axis=1))
    if nearest.max() >= FAR:  # there are changes that no price buys
        return None
    return float(nearest.mean())
