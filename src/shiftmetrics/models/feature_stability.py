"""The stability of a model to moves of one feature alone: for all features, groups of them, and subgroups of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from shiftmetrics._core.arrays import BoolArray, IntArray, is_table
from shiftmetrics._core.labels import check_labels
from shiftmetrics._core.options import Computing, Resampling, resampling_of
from shiftmetrics._core.result import Interval, settings_of
from shiftmetrics._core.validation import check_choice, check_vector, describe
from shiftmetrics.models.along_column import answer_along_column
from shiftmetrics.models.forests.answers import NotTheModel
from shiftmetrics.models.moves import Moves, Search, moves_of, search_of
from shiftmetrics.models.question import LOSSES, LossName, Question, question_of
from shiftmetrics.models.result import EVERYTHING, FeatureStability, FeatureStabilityResult
from shiftmetrics.models.route import ROUTES, Answer, Route, answer, fixed_answer
from shiftmetrics.models.stability import solve_in_rounds
from shiftmetrics.models.trees import answers_for_groups
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.divergence import DivergenceName
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
    check_choice(search.method, "method", ("auto", *ROUTES))
    quiet = replace(search, progress=False)
    question = question_of(
        model, X, y, loss=loss, theta1=theta1, theta2=theta2, moves=moves, search=quiet, everything=True
    )
    n_samples = question.n_samples
    parts = _parts(question, moves.features)
    subgroups = _subgroups(X, moves.by, n_samples)
    interval = resampling_of(resampling)
    if interval is not None and interval.groups is not None:
        interval = replace(interval, groups=check_labels(interval.groups, "groups", length=n_samples))
    if sample_weight is not None:
        sample_weight = check_vector(sample_weight, "sample_weight", length=n_samples, low=0.0)
    options: dict[str, Any] = {
        "theta1": theta1, "theta2": theta2, "divergence": divergence, "sample_weight": sample_weight,
        "resampling": interval, "computing": replace(quiet, memory_limit=None),
    }  # fmt: skip
    solver = _Solver(question, threshold, options, search.max_rounds, subgroups)
    fixed = fixed_answer(question)
    alone = stability_criterion(fixed.loss, threshold, **solver.options_of(np.arange(n_samples)))
    can_move = not (math.isinf(theta1) or alone.value == 0.0)
    found: list[FeatureStability] = []
    by_subgroup: list[FeatureStability] = []
    warnings: dict[str, None] = dict.fromkeys(question.domain.warnings)
    from tqdm.auto import tqdm

    still = ((part, fixed) for part in parts)
    answers = _answers(question, parts, search.method) if can_move else still
    n_steps = len(parts) + bool(subgroups)
    with tqdm(total=n_steps, desc="features", delay=2.0, leave=False, disable=not search.progress) as bar:
        for part, first in answers:
            whole, final = solver.whole(part, first)
            found.append(whole)
            warnings |= dict.fromkeys(final.warnings)
            by_subgroup += solver.within(part, final)
            bar.update()
        if subgroups:
            everything = _Part(EVERYTHING, question.domain.names)
            first = answer(question, search.method)[1] if can_move else fixed
            by_subgroup += solver.within(everything, solver.whole(everything, first)[1])
            bar.update()
    found.sort(key=lambda part: part.value)
    order = {part.feature: place for place, part in enumerate(found)}
    by_subgroup.sort(key=lambda part: (order.get(part.feature, -1), part.value))
    unfinished = [part.status for part in found if not part.status.ok]
    return FeatureStabilityResult(
        value=found[0].value,
        error_bound=found[0].error_bound,
        interval=found[0].interval,
        status=unfinished[0] if unfinished else found[0].status,
        n_samples=n_samples,
        settings=settings_of(
            model=type(model).__name__, threshold=float(threshold), loss=loss, theta1=theta1, theta2=theta2,
            divergence=divergence, moves=moves.settings(), computing=search.settings(),
            resampling=None if interval is None else interval.settings(),
            sample_weight=None if sample_weight is None else "given",
        ),
        warnings=tuple(warnings),
        features=tuple(found),
        subgroups=tuple(by_subgroup),
        reweighting_alone=alone.value,
        n_queries=question.count.rows,
    )  # fmt: skip


class _Part(NamedTuple):
    """Columns that move together, under a name."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class _Solver:
    """Solves for answers, on all rows and on subgroups."""

    question: Question
    threshold: float
    options: dict[str, Any]
    max_rounds: int
    subgroups: dict[str, IntArray]

    def options_of(self, rows: IntArray) -> dict[str, Any]:
        """Return the arguments of `stability_criterion` for some of the rows."""
        weights, interval = self.options["sample_weight"], self.options["resampling"]
        if interval is not None and interval.groups is not None:
            clusters = interval.groups[rows]
            several = len(np.unique(clusters)) > 1  # one cluster has no sampling variance
            interval = replace(interval, groups=clusters) if several else None
        weights = None if weights is None else weights[rows]
        return {**self.options, "sample_weight": weights, "resampling": interval}

    def whole(self, part: _Part, found: Answer) -> tuple[FeatureStability, Answer]:
        """Solve on all rows; return the answer with the points that were found on the way, too."""
        options = self.options_of(np.arange(self.question.n_samples))
        rounds = solve_in_rounds(self.question, found, self.threshold, options, self.max_rounds)
        return _record(part, rounds.solved, lower_bound=rounds.lower_bound), rounds.found

    def within(self, part: _Part, found: Answer) -> list[FeatureStability]:
        """Solve on each subgroup, with the points that are known."""
        records, interval = [], self.options["resampling"]
        for name, rows in self.subgroups.items():
            options = self.options_of(rows)
            solved = stability_criterion(found.loss.take(rows), self.threshold, **options)
            lower = None
            if found.lower is not None:
                lower = stability_criterion(found.lower.take(rows), self.threshold, **options).value
            record = _record(part, solved, subgroup=name, lower_bound=lower)
            unknown = interval is not None and options["resampling"] is None
            records.append(replace(record, standard_error=None) if unknown else record)
        return records if interval is None else compared(records, interval.level)


def _record(part: _Part, solved: StabilityResult, **more: Any) -> FeatureStability:
    shared = {field.name for field in fields(FeatureStability)} & vars(solved).keys()
    values = {name: getattr(solved, name) for name in shared}
    return FeatureStability(feature=part.name, columns=part.columns, **{**values, **more})


def _parts(question: Question, features: Any) -> list[_Part]:
    """Return the features to look at, one by one or in the named groups of a dict."""
    domain = question.domain
    if isinstance(features, Mapping):
        wanted: dict[str, IntArray] = {
            str(name): domain.positions(group, f"features[{name!r}]") for name, group in features.items()
        }
    else:
        flip_of = {int(column): flip for flip in domain.flips for column in flip.columns}
        wanted = {}
        for column in range(domain.n_features) if features is None else domain.positions(features).tolist():
            flip = flip_of.get(column)
            columns = np.array([column]) if flip is None else flip.columns
            if features is not None or not domain.restricted(columns).immovable:
                wanted[domain.names[column] if flip is None else flip.name] = columns
    for name, columns in wanted.items():
        if not len(columns) or domain.restricted(columns).immovable:
            remedy = "They are immutable, or have one category."
            raise ValueError(describe("features", "columns that may move", repr(name), remedy))
    if not wanted:
        raise ValueError(describe("features", "at least one column that may move", "none"))
    return [_Part(name, tuple(domain.names[k] for k in columns)) for name, columns in wanted.items()]


def _answers(question: Question, parts: Sequence[_Part], method: str) -> Iterator[tuple[_Part, Answer]]:
    """Yield the answer for each part; models of trees look at all parts at once, unless labels may change."""
    left = dict(enumerate(parts))
    if method in ("auto", "tree", "ensemble") and math.isinf(question.domain.label_flip):
        shared = answers_for_groups(question, [part.columns for part in parts])
        try:
            for position, found in shared:
                yield left.pop(position), found
        except NotTheModel:  # the trees are not the whole model: other routes answer for the rest
            pass
    for part in left.values():
        restricted = replace(question, domain=question.domain.restricted(part.columns))
        yield part, answer(restricted, method, _by_grid)[1]


def _by_grid(route: Route, question: Question) -> Answer | None:
    """Try a grid along a single column in place of a search."""
    along = answer_along_column(question) if route.searches else None
    return route.answer(question) if along is None else along


def _subgroups(X: Any, by: Any, n_samples: int) -> dict[str, IntArray]:
    """Return the rows of each subgroup."""
    if by is None:
        return {}
    masks: dict[str, BoolArray]
    if isinstance(by, Mapping):
        masks = {str(name): np.asarray(mask) for name, mask in by.items()}
        for name, mask in masks.items():
            if mask.dtype != np.bool_ or mask.shape != (n_samples,):
                expected, got = f"a bool array of length {n_samples}", f"{mask.dtype} {mask.shape}"
                raise ValueError(describe(f"by[{name!r}]", expected, got))
            if not mask.any():
                raise ValueError(describe(f"by[{name!r}]", "a subgroup of at least one row", "an empty one"))
    else:
        if isinstance(by, str):
            if not is_table(X) or by not in X.columns:
                expected = "labels of the rows, masks, or a column of X"
                raise ValueError(describe("by", expected, repr(by), "Pass the labels."))
            by = X[by]
        labels = check_labels(by, "by", length=n_samples)
        masks = {str(label): labels == label for label in np.unique(labels)}
    return {name: np.flatnonzero(mask) for name, mask in masks.items()}


def compared(records: list[FeatureStability], level: float) -> list[FeatureStability]:
    """Add intervals that are meant to be compared: where two do not overlap, the subgroups differ.

    H. Goldstein and M. Healy, "The graphical presentation of a collection of means", Journal of the Royal
    Statistical Society A 158 (1995), doi:10.2307/2983411: standard errors s_i and s_j are shortened so that the
    chance of no overlap is 1 - level on the average of all pairs.
    """
    from scipy.special import ndtri

    known = [part for part in records if part.standard_error is not None and math.isfinite(part.value)]
    errors = np.array([part.standard_error for part in known], dtype=np.float64)
    first, second = np.triu_indices(len(known), 1)
    usable = errors[first] + errors[second] > 0.0
    first, second = first[usable], second[usable]
    if not first.size:
        return records
    shrink = float(np.mean(np.hypot(errors[first], errors[second]) / (errors[first] + errors[second])))
    half = float(ndtri(0.5 + 0.5 * level)) * shrink
    compared = {
        part.subgroup: Interval(
            low=max(part.value - half * error, 0.0), high=part.value + half * error, level=level,
            method="comparison of subgroups",
        )
        for part, error in zip(known, errors.tolist(), strict=True)
    }  # fmt: skip
    return [replace(part, comparison_interval=compared.get(part.subgroup)) for part in records]
