"""The stability of a model: validate, ask a route how far rows can be brought, solve, search on, return."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.options import Computing, Resampling
from shiftmetrics._core.validation import check_choice, describe
from shiftmetrics.models.moves import Moves, Search, moves_of, search_of
from shiftmetrics.models.question import LOSSES, LossName, Question, question_of
from shiftmetrics.models.result import ModelStabilityResult, SearchTrace
from shiftmetrics.models.route import ROUTES, Answer, answer, fixed_answer, with_label_flips
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import FixedLoss
from shiftmetrics.stability.problem import Prices, Problem
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
    moves: Moves | None = None,
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Search | Computing | None = None,
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
    moves : Moves, optional
        Which columns may move, within which bounds and at what cost. By default all do, a move by one standard
        deviation (ddof 0) of the column in ``X`` costs 1, and so does the flip of a category.
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
    >>> from shiftmetrics.models import Moves
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> result = model_stability(model, X, y, 0.3, moves=Moves(bounds="data"))
    >>> print(result.headline())
    Stability 0.00... at risk threshold 0.3: in the least shift that raises the risk from 0.02667 to 0.3, ...
    >>> result.kind, result.route
    ('exact', 'linear')
    >>> result.moved_rows().columns.equals(X.columns)
    True
    """
    check_choice(loss, "loss", LOSSES)
    moves, search = moves_of(moves), search_of(computing)
    method = check_choice(search.method, "method", ("auto", *ROUTES))
    if moves.by is not None:
        raise ValueError(describe("moves", "without by", "subgroups of rows", "Use feature_stability."))
    question = question_of(model, X, y, loss=loss, theta1=theta1, theta2=theta2, moves=moves, search=search)
    options: dict[str, Any] = {
        "theta1": theta1, "theta2": theta2, "divergence": divergence, "sample_weight": sample_weight,
        "resampling": resampling, "computing": search,
    }  # fmt: skip
    settings = {"loss": loss, "moves": moves.settings(), "computing": search.settings()}
    base = question.losses(question.codes, slice(None))
    solved = stability_criterion(FixedLoss(base), threshold, **options)
    if question.immovable or solved.value == 0.0:
        solved = solved if search.keep_rows else solved.without_rows()
        return _result(question, "weights", None, solved, None, settings)
    if question.domain.immovable:
        name, found = "labels", with_label_flips(question, fixed_answer)
        assert found is not None
    else:
        route, found = answer(question, method)
        name = route.name
    rounds = solve_in_rounds(
        found, threshold, options, max_rounds=search.max_rounds, asked=lambda: question.count.rows
    )
    found, solved = rounds.found, rounds.solved
    solved = solved if search.keep_rows else solved.without_rows()
    return _result(
        question,
        name,
        found,
        solved,
        rounds.trace,
        settings,
        lower_bound=rounds.lower_bound,
    )


def _result(
    question: Question,
    route: str,
    found: Answer | None,
    solved: StabilityResult,
    trace: SearchTrace | None,
    settings: dict[str, Any],
    *,
    lower_bound: float | None = None,
) -> ModelStabilityResult:
    """Put the solution, the route and the moved rows together."""
    fields = {part.name: getattr(solved, part.name) for part in dataclasses.fields(solved)}
    domain = question.domain
    fields["warnings"] = (*domain.warnings, *(() if found is None else found.warnings), *solved.warnings)
    fields["settings"] = {
        **solved.settings,
        **settings,
        "model": type(question.model).__name__,
    }
    if solved.weights is not None:
        fields |= {"table": question.table, "units": domain.unit}
        fields |= _places(question, found, solved)
    fixed = None if solved.base_losses is None else FixedLoss(solved.base_losses)
    return ModelStabilityResult(
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


@dataclass(frozen=True)
class Rounds:
    """Where the search ended.

    Attributes
    ----------
    solved : StabilityResult
        The solution among all points found.
    found : Answer
        These points.
    lower_bound : float or None
        Stability of the certified lower loss, where there is one.
    trace : SearchTrace or None
        The rounds; None where one sufficed.
    """

    solved: StabilityResult
    found: Answer
    lower_bound: float | None
    trace: SearchTrace | None


def solve_in_rounds(
    found: Answer,
    threshold: float,
    options: Mapping[str, Any],
    *,
    max_rounds: int,
    asked: Callable[[], int] = lambda: 0,
) -> Rounds:
    """Solve, refine at the dual price, and solve again until nothing better is found.

    Parameters
    ----------
    found : Answer
        What a route answered.
    threshold : float
        The risk threshold.
    options : mapping
        Arguments of `stability_criterion`.
    max_rounds : int
        Most rounds.
    asked : callable
        Returns how many rows the model was asked for until now.
    """
    from tqdm.auto import tqdm

    solved = stability_criterion(found.loss, threshold, **options)
    asked_at, judged = [asked()], []
    rounds = [solved]
    computing = options["computing"]
    quiet = {**options, "computing": dataclasses.replace(computing, progress=False)}
    with tqdm(desc="search", unit=" rounds", delay=2.0, disable=not computing.progress, leave=False) as bar:
        while found.refine is not None and solved.value > 0.0 and len(rounds) < max_rounds:
            better = found.refine(solved.dual)
            if better is None:
                break
            found = better
            judged.append(_judge(found, solved, threshold, options))
            solved = stability_criterion(found.loss, threshold, **quiet)
            rounds.append(solved)
            asked_at.append(asked())
            bar.update()
    judged.append((solved.risk, solved.error_bound))
    lower = None
    if found.lower is not None:
        lower = stability_criterion(found.lower, threshold, **quiet).value
    trace = None
    if len(rounds) > 1:
        risks, gaps = zip(*judged, strict=True)
        trace = SearchTrace(
            values=tuple(one.value for one in rounds),
            duals=tuple(one.dual for one in rounds),
            risks=risks,
            gaps=gaps,
            queries=tuple(asked_at),
        )
    return Rounds(solved, found, lower, trace)


def _judge(
    found: Answer, solved: StabilityResult, threshold: float, options: Mapping[str, Any]
) -> tuple[float, float]:
    """Return the risk at the price of a solution, and what it may fall by, among the points found since."""
    if not (0.0 < solved.dual < math.inf):
        return solved.risk, math.inf
    prices = Prices(options["theta1"], options["theta2"], options["divergence"])
    problem = Problem.of(found.loss, options["sample_weight"], prices, computing=options["computing"])
    moment = problem.dual.moment(solved.dual)
    bound = solved.dual * threshold - moment.conjugate
    return moment.risk, max(solved.value - bound, 0.0)
