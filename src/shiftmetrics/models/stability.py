"""The stability of a model: validate, find how far rows can move by a route, solve, search on, return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.chunk_readers import chunks_of_rows
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.validation import check_choice, check_weights, describe
from shiftmetrics.models.chunked import ChunkedProblem
from shiftmetrics.models.domain import FAR
from shiftmetrics.models.mapped import MappedWorstCase
from shiftmetrics.models.model import LOSSES, LossName, ModelProblem, QueryCount, problem_of
from shiftmetrics.models.perturbation import Perturbation, Search, perturbation_of, search_of
from shiftmetrics.models.result import ModelStabilityResult, MovedRows, SearchRecord
from shiftmetrics.models.rounds import Rounds, refuse_lost, shifted_rows, solve_in_rounds
from shiftmetrics.models.routes import ROUTES, find_worst_case
from shiftmetrics.models.worst_case import WorstCase
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.divergence import DivergenceName

_MOST_NEIGHBOURS = 500
"""Rows of each half that are looked at for the distance between random halves."""


def model_stability(
    model: Any,
    X: Any,
    y: Any,
    threshold: float,
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

    `stability_criterion` for models: it finds how far each row must move, in the columns of ``X``, to raise the loss.

    Parameters
    ----------
    model : object
        A fitted classifier or regression: an estimator or pipeline of scikit-learn, or anything with ``predict``,
        or a callable that maps rows to labels or scores.
    X : array_like of shape (n_samples, ...) or DataFrame of shape (n_samples, n_features)
        Rows as the model takes them. Columns of text, bool or a categorical dtype are categories, and so are columns
        that a one-hot or ordinal encoder in the pipeline takes. Where the model takes missing cells, they may be
        missing (NaN, None, pandas' NA or NaT) and stay so; units are those of the cells that are there.
        Images and other rows of several axes keep their shape, with columns named by their place, such as "0,3,7".
        Rows need not be in memory: arrays and data frames of Dask, arrays of HDF5 and zarr, pyarrow datasets, batches
        in an iterable (not a list) that can be read again. The route is mapped over their parts; one loss or distance
        of each row comes back, and moved rows stay unknown. Searches at the price of a unit of risk take all rows to
        memory: those for losses other than 0/1, but for trees of few cells and linear models of two classes.
    y : array_like of shape (n_samples,) or None
        Labels, or values for ``loss="squared"``; None for the model's own predictions. Of Dask where ``X`` is.
    threshold : float
        The risk (mean loss) that counts as broken.
    loss : {"zero_one", "hinge", "log_loss", "squared"}, default "zero_one"
        What a row loses.
    theta1, theta2 : float, default 0.4
        Prices of data corruption and of sub-population shift; inf forbids it.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight.
    perturbation : Perturbation, optional
        Which columns may move, within which bounds and at what cost. By default all do, within the range of the
        data and by integer steps where they are whole; a move by one standard deviation (ddof 0) of the column in
        ``X`` costs 1, and a change of a category what makes two random rows as far apart as in a column of numbers.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each row in the sample.
    resampling : Resampling, float or None, default 0.95
        Confidence level of the interval, and ``groups``: rows that belong together.
    computing : Search or Computing, optional
        How to search for moves, and how to compute: ``rtol`` is the relative primal-dual gap at which to stop, 1e-10
        by default.

    Returns
    -------
    ModelStabilityResult
        The value with its ``kind``: exact for closed forms, an upper bound where moves are searched.

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
    The error rate reaches 30 % (currently 2.67 %) if ... % of the samples change by at most ... standard...
    >>> result.kind, result.search.route
    ('exact', 'linear')
    >>> result.moved_rows().columns.equals(X.columns)
    True
    """
    check_choice(loss, "loss", LOSSES)
    perturbation = perturbation_of(perturbation)
    search = search_of(computing)
    check_choice(search.method, "method", ("auto", *ROUTES))
    if perturbation.by is not None:
        raise ValueError(
            describe("perturbation", "without by", "subgroups of rows", "Use feature_stability.")
        )
    options: dict[str, Any] = {
        "theta1": theta1, "theta2": theta2, "divergence": divergence, "sample_weight": sample_weight,
        "resampling": resampling, "computing": replace(search, memory_limit=None),
    }  # fmt: skip
    source = chunks_of_rows(X, "X")
    if source is None:
        problem = problem_of(
            model,
            X,
            y,
            loss=loss,
            theta1=theta1,
            theta2=theta2,
            perturbation=perturbation,
            search=search,
        )
    else:
        rows = ChunkedProblem.of(
            source,
            model,
            y,
            loss=loss,
            theta1=theta1,
            theta2=theta2,
            perturbation=perturbation,
            search=search,
        )
        mapped = rows.worst_case()
        if mapped is not None:
            return _result_of_parts(rows.problem, mapped, threshold, options, perturbation, search)
        problem = rows.gathered()
    found = WorstCase.fixed(problem)
    solved = stability_criterion(found.loss, threshold, **options)
    if problem.is_fixed or solved.value == 0.0:
        route = "weights"
        rounds = Rounds(solved, found, None, None)
    else:
        route, found = find_worst_case(problem, search.method)
        rounds = solve_in_rounds(problem, found, threshold, options)
    places = shifted_rows(problem, rounds.solved, rounds.found, sample_weight)
    split_codes = None
    if rounds.solved.plan.splits is not None:
        split_codes = places[problem.n_samples :]
    moved = MovedRows(
        table=replace(problem.table, is_frame=problem.is_frame),
        units=problem.domain.unit,
        codes=places[: problem.n_samples],
        split_codes=split_codes,
    )
    return _result(problem, route, rounds, perturbation, search, moved)


def _result_of_parts(
    problem: ModelProblem,
    mapped: MappedWorstCase,
    threshold: float,
    options: Mapping[str, Any],
    perturbation: Perturbation,
    search: Search,
) -> ModelStabilityResult:
    """Solve from what a route found for out-of-core data; the rows after their moves stay unknown."""
    solved = stability_criterion(mapped.found.loss, threshold, **options)
    plan = solved.plan
    if plan.weights is not None and plan.distances is not None and mapped.unconfirmed.any():
        # The risk that moved rows lose where the model, asked again, takes their nearest error for right.
        lost = mapped.unconfirmed * (plan.distances > 0.0)
        share = check_weights(options["sample_weight"], "sample_weight", problem.n_samples)
        if share is not None:
            lost = lost * share
        refuse_lost(float(plan.weights @ lost) / problem.n_samples, 0.0, solved)
    lower = None
    if mapped.found.lower is not None:
        quiet = {**options, "computing": replace(search, progress=False)}
        lower = stability_criterion(mapped.found.lower, threshold, **quiet).value
    unknown = WorstCase(
        mapped.found.loss,
        lambda rows, distances, choices: problem.codes[rows],
        warnings=mapped.found.warnings,
    )
    problem = replace(problem, y=mapped.y, count=QueryCount(mapped.n_queries))
    rounds = Rounds(solved, unknown, lower, None)
    return _result(problem, mapped.route, rounds, perturbation, search)


def _result(
    problem: ModelProblem,
    route: str,
    rounds: Rounds,
    perturbation: Perturbation,
    search: Search,
    moved: MovedRows | None = None,
) -> ModelStabilityResult:
    """Put the solution, the route and the moved rows, where these are known, together."""
    solved = rounds.solved
    found = rounds.found
    fields = vars(solved).copy()
    fields["settings"] = {
        **solved.settings,
        **problem.settings(),
        "perturbation": perturbation.settings(),
        "computing": search.settings(),
    }
    fields["warnings"] = (*problem.domain.warnings, *found.warnings, *solved.warnings)
    record = SearchRecord(
        route=route,
        n_queries=problem.count.rows,
        lower_bound=rounds.lower_bound,
        neighbour_distance=_neighbour_distance(problem),
        trace=rounds.trace,
    )
    return ModelStabilityResult(**fields, search=record, moved=moved, loss=found.loss)


def _neighbour_distance(problem: ModelProblem) -> float | None:
    """Return how far rows of a random half are from the nearest row of the other half, on the average."""
    n = min(problem.n_samples // 2, _MOST_NEIGHBOURS)
    if n < 1 or problem.is_fixed:
        return None
    rows = np.random.default_rng(0).permutation(problem.n_samples)
    gaps = problem.domain.squared_gaps(problem.codes[rows[:n]], problem.codes[rows[n : 2 * n]])
    nearest = np.sqrt(gaps.min(axis=1))
    if nearest.max() >= FAR:  # there are changes that no price buys
        return None
    return float(nearest.mean())
