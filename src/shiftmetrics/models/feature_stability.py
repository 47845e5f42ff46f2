"""How little it takes to break a model through one feature alone, for all features, groups and subgroups."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.labels import check_labels
from shiftmetrics._core.options import Computing, Resampling, resampling_of
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.validation import check_choice, check_vector, describe
from shiftmetrics.models.along_column import answer_along_column
from shiftmetrics.models.feature_result import (
    EVERYTHING,
    FeatureStability,
    FeatureStabilityResult,
    FeatureStabilityStatus,
)
from shiftmetrics.models.forests.answers import NotTheModel
from shiftmetrics.models.moves import Moves, Search, moves_of, search_of
from shiftmetrics.models.question import LOSSES, LossName, Question, question_of
from shiftmetrics.models.route import ROUTES, Answer, Route, answer
from shiftmetrics.models.stability import solve_in_rounds
from shiftmetrics.models.subgroups import compared, subgroups_of
from shiftmetrics.models.trees import answers_for_groups
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import FixedLoss
from shiftmetrics.stability.result import StabilityResult


def feature_stability(
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
) -> FeatureStabilityResult:
    r"""Return the stability of a model to moves of each feature alone, the most sensitive first.

    The stability R_j of feature j is that of `model_stability` when no other feature may move: the lower it is, the
    less it takes to break the model through this feature.

    Parameters
    ----------
    model : object
        A fitted model; see `model_stability`.
    X : array_like or DataFrame of shape (n_samples, n_features)
        Rows as the model takes them.
    y : array_like of shape (n_samples,)
        Labels, or values for ``loss="squared"``.
    threshold : float
        The risk (mean loss) that counts as broken.
    loss : {"zero_one", "hinge", "log_loss", "squared"}, default "zero_one"
        What a row loses.
    theta1, theta2 : float, default 0.4
        Prices of data corruption and of sub-population shift.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight.
    moves : Moves, optional
        What may move, and at what cost. ``features`` are taken one at a time: by default all columns that may move,
        where a one-hot group counts as one; a dict names groups of columns that are taken together. The cost of each
        feature decides how sensitive it is: by default a move by one standard deviation, and the flip of a category,
        cost 1. ``label_flip`` counts beside the moves of each feature. ``by`` names subgroups of the rows: each gets
        the stability of every feature, and that with all columns free.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each row in the sample.
    resampling : Resampling, float or None, default 0.95
        Confidence level of the intervals, and ``groups``: rows that belong together, such as the
        visits of one patient; a subgroup that lies in one of them has no standard error.
    computing : Search or Computing, optional
        How to search for moves, and how to compute. By default models of trees are scanned exactly, linear models
        have closed forms, and others are tried on a grid of values with bisection, which gives upper bounds.

    Returns
    -------
    FeatureStabilityResult
        ``to_frame()`` is the sorted table; ``plot()`` draws it.

    Raises
    ------
    TypeError
        If ``model`` is no model, or a column is neither numbers nor categories.
    ValueError
        If a feature is unknown or may not move, subgroups do not match the rows, or as `model_stability`.

    See Also
    --------
    model_stability : All features together, with the rows that move.

    References
    ----------
    Blanchet, Cui, Li, Liu, "Stability Evaluation through Distributional Perturbation Analysis", ICML 2024,
    arXiv:2405.03198, section 2.4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from shiftmetrics import feature_stability
    >>> X = np.column_stack([np.arange(40.0), np.arange(40.0) % 7])
    >>> y = (X[:, 0] > 20).astype(int)
    >>> result = feature_stability(DecisionTreeClassifier().fit(X, y), X, y, 0.2)
    >>> [part.feature for part in result.features]
    ['x0', 'x1']
    >>> result.most_sensitive.kind
    'exact'
    """
    check_choice(loss, "loss", LOSSES)
    moves, search = moves_of(moves), search_of(computing)
    method = check_choice(search.method, "method", ("auto", *ROUTES))
    interval = resampling_of(resampling) or Resampling()
    question = question_of(
        model, X, y, loss=loss, theta1=theta1, theta2=theta2, moves=moves,
        search=replace(search, progress=False), everything=True,
    )  # fmt: skip
    parts = parts_of(question, moves.features)
    subgroups = subgroups_of(X, moves.by, question.n_samples)
    n = question.n_samples
    weights = (
        None if sample_weight is None else check_vector(sample_weight, "sample_weight", length=n, low=0.0)
    )
    clusters = None if interval.groups is None else check_labels(interval.groups, "groups", length=n)
    options: dict[str, Any] = {
        "theta1": theta1, "theta2": theta2, "divergence": divergence, "computing": replace(search, progress=False),
    }  # fmt: skip
    solver = _Solver(
        question, threshold, options, search.max_rounds, weights, interval.level, clusters, subgroups
    )
    base = question.losses(question.codes, slice(None))
    fixed = Answer(FixedLoss(base), lambda rows, _, __: question.codes[rows])
    alone = stability_criterion(
        fixed.loss, threshold, sample_weight=weights, resampling=solver.resampling(clusters), **options
    )
    found: list[FeatureStability] = []
    by_group: list[FeatureStability] = []
    warnings: dict[str, None] = dict.fromkeys(question.domain.warnings)
    can_move = not (math.isinf(theta1) or alone.value == 0.0)
    with _bar(search.progress, len(parts) + bool(subgroups)) as done:
        for part, answered in answers_of(question, parts, method, can_move, fixed):
            whole, final = solver.whole(part, answered)
            found.append(whole)
            warnings |= dict.fromkeys(final.warnings)
            by_group += solver.within(part, final)
            done()
        if subgroups:
            everything = Part(EVERYTHING, question.domain.names, ())
            movable = math.isfinite(theta1) and not question.domain.immovable
            answered = answer(question, method)[1] if movable else fixed
            _, final = solver.whole(everything, answered)
            by_group = solver.within(everything, final) + by_group
            done()
    found.sort(key=lambda part: part.value)
    first = found[0]
    return FeatureStabilityResult(
        value=first.value,
        error_bound=first.error_bound,
        interval=first.interval,
        status=_status(found),
        n_samples=question.n_samples,
        settings=settings_of(
            model=type(model).__name__, threshold=float(threshold), loss=loss, theta1=theta1, theta2=theta2,
            divergence=divergence, moves=moves.settings(), computing=search.settings(), level=interval.level,
            sample_weight=None if sample_weight is None else "given", groups=clusters is not None,
        ),
        warnings=tuple(warnings),
        features=tuple(found),
        subgroups=tuple(_sorted_by_feature(by_group, found)),
        reweighting_alone=alone.value,
        n_queries=question.count.rows,
    )  # fmt: skip


@dataclass(frozen=True)
class _Solver:
    """The question after the model: how much it costs, on all rows and on subgroups."""

    question: Question
    threshold: float
    options: dict[str, Any]
    max_rounds: int
    weights: FloatArray | None
    level: float
    clusters: npt.NDArray[Any] | None
    subgroups: dict[str, IntArray]

    def resampling(self, clusters: Any) -> Resampling:
        """Return the level of the intervals with the clusters of some rows."""
        return Resampling(level=self.level, groups=clusters)

    def whole(self, part: Part, found: Answer) -> tuple[FeatureStability, Answer]:
        """Solve on all rows."""
        rounds = solve_in_rounds(
            found,
            self.threshold,
            {**self.options, "sample_weight": self.weights, "resampling": self.resampling(self.clusters)},
            max_rounds=self.max_rounds,
            asked=lambda: self.question.count.rows,
        )
        return _record(part, rounds.solved, lower_bound=rounds.lower_bound), rounds.found

    def within(self, part: Part, found: Answer) -> list[FeatureStability]:
        """Solve on each subgroup, with the points that are known."""
        records = []
        for name, rows in self.subgroups.items():
            clusters = None if self.clusters is None else self.clusters[rows]
            alone = clusters is not None and len(np.unique(clusters)) == 1
            options = {
                **self.options,
                "sample_weight": None if self.weights is None else self.weights[rows],
                "resampling": self.resampling(None if alone else clusters),
            }
            lower = found.lower
            solved = stability_criterion(found.loss.take(rows), self.threshold, **options)
            bound = None
            if lower is not None:
                bound = stability_criterion(lower.take(rows), self.threshold, **options).value
            record = _record(part, solved, subgroup=name, lower_bound=bound)
            if alone:  # one cluster says nothing of how clusters differ
                record = replace(record, standard_error=None, interval=None)
            records.append(record)
        return compared(records, self.level)


def _record(
    part: Part, solved: StabilityResult, *, subgroup: str | None = None, lower_bound: float | None = None
) -> FeatureStability:
    return FeatureStability(
        feature=part.name,
        columns=part.columns,
        subgroup=subgroup,
        value=solved.value,
        standard_error=solved.standard_error,
        interval=solved.interval,
        kind=solved.kind,
        lower_bound=lower_bound,
        status=solved.status,
        error_bound=solved.error_bound,
        n_samples=solved.n_samples,
        base_risk=solved.base_risk,
        dual=solved.dual,
        rms_move=solved.rms_move,
        share_moved=solved.share_moved,
        effective_sample_fraction=solved.effective_sample_fraction,
    )


def _sorted_by_feature(
    records: list[FeatureStability], features: Sequence[FeatureStability]
) -> list[FeatureStability]:
    place = {part.feature: position for position, part in enumerate(features)}
    return sorted(records, key=lambda part: (place.get(part.feature, -1), part.value))


def _status(features: Sequence[FeatureStability]) -> FeatureStabilityStatus:
    statuses = {part.status.code for part in features}
    if "max_iter" in statuses:
        return FeatureStabilityStatus.MAX_ITER
    if statuses == {"already_at_risk"}:
        return FeatureStabilityStatus.ALREADY_AT_RISK
    if statuses == {"unattainable"}:
        return FeatureStabilityStatus.UNATTAINABLE
    return FeatureStabilityStatus.CONVERGED


@contextmanager
def _bar(progress: bool, total: int) -> Iterator[Callable[[], object]]:
    if not progress:
        yield lambda: None
        return
    from tqdm.auto import tqdm

    with tqdm(total=total, desc="features", delay=2.0, leave=False) as bar:
        yield bar.update


@dataclass(frozen=True)
class Part:
    """Columns that move together, under a name."""

    name: str
    columns: tuple[str, ...]
    positions: tuple[int, ...]


def parts_of(question: Question, features: Any) -> list[Part]:
    """Return the features to look at, one by one or in the named groups of a dict."""
    domain = question.domain
    if isinstance(features, Mapping):
        parts = [_part(question, features[name], name) for name in features]
    else:
        flip_of = {int(column): flip for flip in domain.flips for column in flip.columns}
        wanted = range(domain.n_features) if features is None else domain.positions(features)
        found: dict[tuple[int, ...], Part] = {}
        for position in map(int, wanted):
            flip = flip_of.get(position)
            columns = (position,) if flip is None else tuple(flip.columns.tolist())
            if features is None and domain.restricted(columns).immovable:
                continue
            found[columns] = _part(question, columns, domain.names[position] if flip is None else flip.name)
        parts = list(found.values())
    if not parts:
        raise ValueError(describe("features", "at least one column that may move", "none"))
    return parts


def _part(question: Question, features: Sequence[str | int], name: str) -> Part:
    domain = question.domain
    columns = tuple(domain.positions(features, f"features[{name!r}]").tolist())
    if not columns or domain.restricted(columns).immovable:
        remedy = "They are immutable, or have one category."
        raise ValueError(describe("features", "columns that may move", repr(name), remedy))
    return Part(name, tuple(domain.names[column] for column in columns), columns)


def answers_of(
    question: Question, parts: Sequence[Part], method: str, can_move: bool, fixed: Answer
) -> Iterator[tuple[Part, Answer]]:
    """Yield the answer for each part; models of trees share one look at all of them, unless labels may change."""
    if not can_move:
        yield from ((part, fixed) for part in parts)
        return
    left = dict(enumerate(parts))
    if method in ("auto", "tree", "ensemble") and math.isinf(question.domain.label_flip):
        shared = answers_for_groups(question, [part.columns for part in parts])
        try:
            for position, found in shared or ():
                yield left.pop(position), found
        except NotTheModel:  # the trees are not all of it: the other routes have the rest
            pass
    for part in left.values():
        restricted = replace(question, domain=question.domain.restricted(part.positions))
        yield part, answer(restricted, method, _ask)[1]


def _ask(route: Route, question: Question) -> Answer | None:
    """Try a grid along a single column in place of a search."""
    along = answer_along_column(question) if route.searches else None
    return route.answer(question) if along is None else along
