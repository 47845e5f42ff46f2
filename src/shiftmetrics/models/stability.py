"""The stability of a model: validate, ask a route how far rows can be brought, solve, search on, return."""

from __future__ import annotations

import dataclasses
import math
from concurrent.futures import Executor
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.validation import check_choice, check_integer, describe, seed_of
from shiftmetrics.models.asking import ask as ask
from shiftmetrics.models.label_flips import fixed_answer, with_label_flips
from shiftmetrics.models.published import ALGORITHMS, ModelAdamStabilityResult, check_algorithm, take_steps
from shiftmetrics.models.question import LOSSES, LossName, Question
from shiftmetrics.models.result import ModelStabilityResult, SearchTrace
from shiftmetrics.models.rounds import solve_in_rounds
from shiftmetrics.models.route import ROUTES, Answer, answer
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.divergence import DIVERGENCES, DivergenceName
from shiftmetrics.stability.losses import FixedLoss
from shiftmetrics.stability.options import Options
from shiftmetrics.stability.published import AdamStabilityResult
from shiftmetrics.stability.result import StabilityResult


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
    features: Any = None,
    cost: Any = None,
    bounds: Any = None,
    immutable: Any = None,
    integer: Any = None,
    categorical: Any = None,
    one_hot: Any = None,
    label_flip: float = math.inf,
    sample_weight: Any = None,
    groups: Any = None,
    method: str = "auto",
    n_queries: int = 500,
    background: Any = None,
    max_rounds: int = 50,
    rtol: float = 1e-10,
    level: float = 0.95,
    keep_rows: bool = True,
    rng: Any = 0,
    executor: Executor | None = None,
    progress: bool = True,
) -> ModelStabilityResult:
    """Return the least cost of a shift of a sample at which a fitted model reaches a risk; higher is better.

    `stability_criterion` for models: it finds how far each row must move, in its own columns, to raise the loss.

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
    y : array_like of shape (n_samples,)
        Labels, or values for ``loss="squared"``.
    threshold : float
        The risk (mean loss) that counts as broken.
    loss : {"zero_one", "hinge", "log_loss", "squared"}, default "zero_one"
        What a row loses.
    theta1, theta2 : float, default 0.4
        Prices of data corruption and of sub-population shift; inf forbids it.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight.
    features : sequence of str or int, optional
        The columns that may move, all by default.
    cost : {"std", "iqr", "range", "unit"}, dict, or array of shape (n_features,), optional
        What a move costs in the squared distance. By default a move by one standard deviation (ddof 0) of the
        column in ``X`` costs 1, and so does the flip of a category.
    bounds : "data", pair, or dict of pairs, optional
        Lowest and highest value of numbers, for all or by column.
    immutable : sequence of str or int, optional
        Columns that may not move.
    integer : sequence of str or int, optional
        Numbers that move by whole steps.
    categorical : sequence of str or int, optional
        Columns of numbers that stand for categories.
    one_hot : sequence of sequences, or dict of str to sequence, optional
        Groups of columns of which one is 1 and the others 0.
    label_flip : float, default inf
        Distance of a change of the label; inf keeps labels fixed.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each row in the sample.
    groups : array_like of shape (n_samples,), optional
        Rows that belong together, for the standard error.
    method : str, default "auto"
        The route, one of `ROUTES`; by default the first that knows the model. Or, for comparison: "conic" solves for
        the value by a conic program (see `stability_criterion`); "algorithm1" (KL) and "algorithm2" (chi-squared)
        take the paper's 300 times 20 Adam steps on the numbers of linear models and torch modules, and return
        a `ModelAdamStabilityResult` with their trace (see `stability_criterion_adam`).
    n_queries : int, default 500
        Most queries for each row, for searches that only predict.
    background : array_like or DataFrame, optional
        More rows like those of ``X``, from which searches may start.
    max_rounds : int, default 50
        Most rounds of a search that adds points at the present dual price.
    rtol : float, default 1e-10
        Relative primal-dual gap at which to stop.
    level : float, default 0.95
        Confidence level of the interval.
    keep_rows : bool, default True
        Whether the result holds the weight and the place of each row.
    rng : int or numpy.random.Generator, default 0
        Seed of searches that are random.
    executor : concurrent.futures.Executor, optional
        Where blocks of rows are mapped.
    progress : bool, default True
        Whether to show progress bars for work of more than two seconds.

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
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> result = model_stability(model, X, y, 0.3, bounds="data")
    >>> print(result.headline())
    Stability 0.00... at risk threshold 0.3: in the least shift that raises the risk from 0.02667 to 0.3, ...
    >>> result.kind, result.route
    ('exact', 'linear')
    >>> result.moved_rows().columns.equals(X.columns)
    True
    """
    check_choice(loss, "loss", LOSSES)
    check_choice(method, "method", ("auto", *ROUTES, "conic", *ALGORITHMS))
    if method in ALGORITHMS:
        check_algorithm(method, check_choice(divergence, "divergence", DIVERGENCES), loss)
    max_rounds = check_integer(max_rounds, "max_rounds", low=1)
    seed = seed_of(rng)
    question = ask(
        model, X, y, loss=loss, theta1=theta1, theta2=theta2, features=features, cost=cost, bounds=bounds,
        immutable=immutable, integer=integer, categorical=categorical, one_hot=one_hot, label_flip=label_flip,
        n_queries=n_queries, background=background, rng=seed, progress=progress,
    )  # fmt: skip
    options: dict[str, Any] = {
        "theta1": theta1, "theta2": theta2, "divergence": divergence, "sample_weight": sample_weight,
        "groups": groups, "rtol": rtol, "level": level, "keep_rows": keep_rows, "executor": executor,
        "progress": progress,
    }  # fmt: skip
    base = question.losses(question.codes, slice(None))
    solved = stability_criterion(FixedLoss(base), threshold, **options)
    if question.immovable or solved.value == 0.0:
        return _result(question, "weights", None, solved, None, loss=loss, method=method, seed=seed)
    if question.domain.immovable:
        name, found = "labels", with_label_flips(question, fixed_answer)
        assert found is not None
    elif method in ALGORITHMS:
        return _by_steps(question, threshold, method, options, loss=loss, method=method, seed=seed)
    else:
        route, found = answer(question, "auto" if method == "conic" else method)
        name = route.name
        if method == "conic":
            options["method"] = method
    rounds = solve_in_rounds(
        found, threshold, options, max_rounds=max_rounds, asked=lambda: question.count.rows
    )
    found, solved = rounds.found, rounds.solved
    return _result(
        question,
        name,
        found,
        solved,
        rounds.trace,
        lower_bound=rounds.lower_bound,
        loss=loss,
        method=method,
        seed=seed,
    )


def _by_steps(
    question: Question, threshold: float, route: str, options: dict[str, Any], **asked: Any
) -> ModelAdamStabilityResult:
    """Take the gradient steps of the paper."""
    weights = options.pop("sample_weight")
    checked = Options(**options, max_iter=200, initial_dual=None)
    found, fields = take_steps(question, threshold, route, checked, weights)
    solved = AdamStabilityResult(**fields)
    result = _result(question, route, found, solved, None, kind=ModelAdamStabilityResult, **asked)
    assert isinstance(result, ModelAdamStabilityResult)
    return result


def _result(
    question: Question,
    route: str,
    found: Answer | None,
    solved: StabilityResult,
    trace: SearchTrace | None,
    *,
    lower_bound: float | None = None,
    kind: type[ModelStabilityResult] = ModelStabilityResult,
    **asked: Any,
) -> ModelStabilityResult:
    """Put the solution, the route and the moved rows together."""
    fields = {part.name: getattr(solved, part.name) for part in dataclasses.fields(solved)}
    domain = question.domain
    fields["warnings"] = (*domain.warnings, *(() if found is None else found.warnings), *solved.warnings)
    fields["settings"] = {
        **solved.settings,
        **asked,
        "model": type(question.model).__name__,
        "features": [name for name, free in zip(domain.names, domain.movable, strict=True) if free],
        "n_queries": question.n_queries,
    }
    if solved.weights is not None:
        fields |= {"table": question.table, "units": domain.unit}
        fields |= _places(question, found, solved)
    fixed = None if solved.base_losses is None else FixedLoss(solved.base_losses)
    return kind(
        **fields,
        route=route,
        lower_bound=lower_bound,
        n_queries=question.count.rows,
        trace=trace,
        loss=fixed if found is None else found.loss,
    )


def _places(question: Question, found: Answer | None, solved: StabilityResult) -> dict[str, Any]:
    """Return where each row stands in the shifted sample."""
    moved, split = question.codes, None
    flipped = split_flipped = None
    if found is not None and solved.moved_distances is not None:
        moved = _moved(
            question.codes, found, np.arange(question.n_samples), solved.moved_distances, solved.choices
        )
        if found.flipped is not None:
            flipped = found.flipped(np.arange(question.n_samples), solved.choices)
        if solved.splits is not None:
            rows = solved.splits.rows
            split = _moved(question.codes[rows], found, rows, solved.splits.distances, solved.splits.choices)
            if found.flipped is not None:
                split_flipped = found.flipped(rows, solved.splits.choices)
    return {
        "moved_codes": moved,
        "split_codes": split,
        "flipped_labels": flipped,
        "split_flipped_labels": split_flipped,
    }


def _moved(start: FloatArray, found: Answer, rows: Any, distances: FloatArray, choices: Any) -> FloatArray:
    away = np.flatnonzero(distances > 0.0)
    places = start.copy()
    if away.size:
        chosen = None if choices is None else choices[away]
        points = found.points(rows[away], distances[away], chosen)
        if points.shape != (away.size, start.shape[1]):
            raise ValueError(describe("points", f"of shape {(away.size, start.shape[1])}", f"{points.shape}"))
        places[away] = points
    return places
