"""What moves of one feature alone do to a model: for all features, groups of them, and subgroups of rows."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.options import Computing, Resampling, progress_bar, resampling_of
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import check_choice, check_vector
from shiftmetrics.models.feature_result import EVERYTHING, FeatureStability, FeatureStabilityResult
from shiftmetrics.models.features import FeatureGroup, answers_of, parts_of, redrawn, subgroups_of
from shiftmetrics.models.model import LOSSES, LossName, ModelProblem, problem_of
from shiftmetrics.models.perturbation import Perturbation, Search, perturbation_of, search_of
from shiftmetrics.models.rounds import shifted_rows, solve_in_rounds
from shiftmetrics.models.routes import ROUTES, find_worst_case
from shiftmetrics.models.table import frame_of
from shiftmetrics.models.worst_case import ValueRisks, WorstCase
from shiftmetrics.stability.criterion import stability_criterion
from shiftmetrics.stability.divergence import DivergenceName
from shiftmetrics.stability.losses import CandidateLoss, Loss, ZeroOneLoss
from shiftmetrics.stability.result import StabilityResult


def feature_stability(
    model: Any,
    X: Any,
    y: Any,
    threshold: float,
    *,
    loss: LossName = "zero_one",
    theta1: float = 0.4,
    theta2: float = math.inf,
    divergence: DivergenceName = "kl",
    perturbation: Perturbation | None = None,
    sample_weight: Any = None,
    resampling: Resampling | float | None = 0.95,
    computing: Search | Computing | None = None,
) -> FeatureStabilityResult:
    r"""Return what moves of each feature alone can do to a model, the most harmful first: a stress test.

    Features are ranked by the risk at worst when their values are drawn anew, without regard to the rest of a row,
    from a distribution that differs from today's by at most 0.02 nats of relative entropy: one budget for all. Drawn
    from today's distribution, they give permutation importance, which stands beside it. Equal risks are ranked by the
    stability R_j: that of `model_stability` at the threshold when no other feature may move.

    Parameters
    ----------
    model : object
        A fitted model; see `model_stability`.
    X : array_like or DataFrame of shape (n_samples, n_features)
        Rows as the model takes them.
    y : array_like of shape (n_samples,) or None
        Labels, or values for ``loss="squared"``; None for the model's own predictions.
    threshold : float
        The risk (mean loss) that counts as broken.
    loss : {"zero_one", "hinge", "log_loss", "squared"}, default "zero_one"
        What a row loses.
    theta1, theta2 : float, default 0.4 and inf
        Prices of data corruption and of sub-population shift: by default rows move and are not reweighted.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight.
    perturbation : Perturbation, optional
        What may move, and at what cost. ``features`` are taken one at a time: by default all columns that may move,
        where a one-hot group counts as one; a dict names groups of columns that are taken together. Costs decide
        what is harmful: by default two random rows are as far apart in one column as in another. ``by``
        names subgroups of the rows: each gets the stability of every feature, and that with all columns free.
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
        ``to_frame()`` is the sorted table, with the permutation importance; ``plot()`` draws it.

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
    >>> print(result.headline())
    `x0` does most harm: moving it by at most 4 (0.35 sd) in 20 % of the rows takes errors from 0 % to 20 %. ...
    >>> result.most_harmful.kind
    'exact'
    """
    check_choice(loss, "loss", LOSSES)
    perturbation = perturbation_of(perturbation)
    search = search_of(computing)
    check_choice(search.method, "method", ("auto", *ROUTES))
    quiet = replace(search, progress=False)
    problem = problem_of(
        model,
        X,
        y,
        loss=loss,
        theta1=theta1,
        theta2=theta2,
        perturbation=perturbation,
        search=quiet,
        everything=True,
    )
    n_samples = problem.n_samples
    parts = parts_of(problem, perturbation.features)
    subgroups, too_small = subgroups_of(frame_of(X), perturbation.by, n_samples)
    interval = resampling_of(resampling)
    if interval is not None and interval.groups is not None:
        interval = replace(
            interval, groups=check_labels(interval.groups, "groups", length=n_samples)
        )
    if sample_weight is not None:
        sample_weight = check_vector(sample_weight, "sample_weight", length=n_samples, low=0.0)
    options: dict[str, Any] = {
        "theta1": theta1, "theta2": theta2, "divergence": divergence, "sample_weight": sample_weight,
        "resampling": interval, "computing": replace(quiet, memory_limit=None),
    }  # fmt: skip
    fixed = WorstCase.fixed(problem)
    solver = _Solver(problem, threshold, options, subgroups, fixed.loss.base(slice(0, n_samples)))
    found: list[FeatureStability] = []
    by_subgroup: list[FeatureStability] = []
    warnings: dict[str, None] = dict.fromkeys((*problem.domain.warnings, *too_small))
    # Where moves have no price that can be paid, every feature stays: one answer for all.
    answers: Iterable[tuple[FeatureGroup, WorstCase]] = [(part, fixed) for part in parts]
    if math.isfinite(theta1):
        answers = answers_of(problem, parts, search.method, solver.weights)
    with progress_bar(search.progress, "features", len(parts) + bool(subgroups)) as bar:
        for part, first in answers:
            final, whole, *of_subgroups = solver.records(part, first)
            found.append(whole)
            warnings |= dict.fromkeys(final.warnings)
            by_subgroup += of_subgroups
            bar.update()
        if subgroups:
            # Subgroups are compared with all columns free, too.
            everything = FeatureGroup(EVERYTHING, problem.domain.names)
            first = fixed
            if math.isfinite(theta1):
                _, first = find_worst_case(problem, search.method)
            by_subgroup += solver.records(everything, first)[2:]
            bar.update()
    # The most harmful first; equal ones by their stability, then in the order of the columns.
    names = [part.name for part in parts]
    found.sort(
        key=lambda part: (-round(part.worst_case_risk, 12), part.value, names.index(part.feature))
    )
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
            **problem.settings(), threshold=float(threshold), theta1=theta1, theta2=theta2,
            divergence=divergence, perturbation=perturbation.settings(), computing=search.settings(),
            resampling=None if interval is None else interval.settings(),
            sample_weight=None if sample_weight is None else "given",
        ),
        warnings=tuple(warnings),
        features=tuple(found),
        subgroups=tuple(by_subgroup),
        frozen=tuple(np.array(problem.domain.names)[~problem.domain.mutable].tolist()),
        n_queries=problem.count.rows,
    )  # fmt: skip


@dataclass(frozen=True)
class _Solver:
    """Solves for answers, on all rows and on subgroups."""

    problem: ModelProblem
    threshold: float
    options: dict[str, Any]
    subgroups: dict[str, IntArray]
    base_losses: FloatArray

    @cached_property
    def weights(self) -> FloatArray:
        """Weights of the rows in the sample, and in each subgroup, which sum to 1."""
        n_samples = self.problem.n_samples
        given = self.options["sample_weight"]
        weights = np.zeros((1 + len(self.subgroups), n_samples))
        everyone = np.ones(n_samples) if given is None else given
        weights[0] = everyone
        for place, rows in enumerate(self.subgroups.values(), 1):
            weights[place, rows] = everyone[rows]
        weights /= weights.sum(axis=1, keepdims=True)
        return weights

    def options_of(self, rows: IntArray) -> dict[str, Any]:
        """Return the arguments of `stability_criterion` for some of the rows."""
        weights = self.options["sample_weight"]
        interval = self.options["resampling"]
        if interval is not None and interval.groups is not None:
            clusters = interval.groups[rows]
            # One cluster has no sampling variance.
            if len(np.unique(clusters)) > 1:
                interval = replace(interval, groups=clusters)
            else:
                interval = None
        if weights is not None:
            weights = weights[rows]
        return {**self.options, "sample_weight": weights, "resampling": interval}

    def records(self, part: FeatureGroup, found: WorstCase) -> tuple[Any, ...]:
        """Return the answer with all points that were found, what they say of all rows, and of each subgroup."""
        everyone = np.arange(self.problem.n_samples)
        rounds = solve_in_rounds(self.problem, found, self.threshold, self.options_of(everyone))
        value_risks = found.value_risks
        found = rounds.found
        shifted_rows(self.problem, rounds.solved, found, self.options["sample_weight"])
        if value_risks is None:
            value_risks = redrawn(
                self.problem, self.problem.domain.positions(part.columns), self.weights
            )
        whole = self._record(part, rounds.solved, value_risks, 0, lower_bound=rounds.lower_bound)
        records = []
        interval = self.options["resampling"]
        for place, (name, rows) in enumerate(self.subgroups.items(), 1):
            options = self.options_of(rows)
            solved = stability_criterion(found.loss.take(rows), self.threshold, **options)
            shifted_rows(self.problem, solved, found, options["sample_weight"], of=rows)
            lower = None
            if found.lower is not None:
                lower = stability_criterion(found.lower.take(rows), self.threshold, **options).value
            record = self._record(
                part, solved, value_risks, place, subgroup=name, lower_bound=lower
            )
            # An interval was asked for, and these rows are of one cluster.
            if interval is not None and options["resampling"] is None:
                record = replace(record, standard_error=None)
            records.append(record)
        return found, whole, *records

    def _record(
        self,
        part: FeatureGroup,
        solved: StabilityResult,
        value_risks: ValueRisks,
        place: int,
        **more: Any,
    ) -> FeatureStability:
        """Put the stability of a part of the rows and the risks when values are drawn anew together."""
        shared = {field.name for field in fields(FeatureStability)} & vars(solved).keys()
        values = {name: getattr(solved, name) for name in shared}
        assert solved.plan.largest_distance is not None
        # Permutation importance: the risk with the values of all rows shuffled, over the risk as it is.
        base_risk = float(self.weights[place] @ self.base_losses)
        return FeatureStability(
            feature=part.name,
            columns=part.columns,
            moves=part.moves,
            unit=part.unit,
            worst_case_risk=value_risks.worst(place),
            permutation_importance=value_risks.average(place) - base_risk,
            largest_move=solved.plan.largest_distance,
            risk=solved.plan.risk,
            rms_move=solved.plan.rms_distance,
            share_moved=solved.plan.changed_fraction,
            effective_sample_fraction=solved.plan.effective_sample_fraction,
            **{**values, **more},
        )


def least_changes(
    model: Any,
    X: Any,
    *,
    perturbation: Perturbation | None = None,
    computing: Search | Computing | None = None,
) -> Any:
    """Return the least change of a single feature that flips the model's prediction, for each row.

    Exact for linear models, models of trees and categories, as in `feature_stability`; for other models and numbers
    the nearest that a grid with bisection finds.

    Parameters
    ----------
    model : object
        A fitted classifier; see `model_stability`.
    X : array_like or DataFrame of shape (n_samples, n_features)
        Rows as the model takes them.
    perturbation : Perturbation, optional
        Which features may change, within which bounds and at what cost. By default numbers stay within the data, in
        whole steps where they are whole, and a distance of 1 is a standard deviation; see `feature_stability`.
    computing : Search or Computing, optional
        How to search, and how to compute.

    Returns
    -------
    DataFrame of shape (n_samples, 5)
        With the index of ``X``: the ``feature``, its values before and after (``value``, ``changed_to``; tuples for a
        one-hot or other group), the ``distance``, and the ``prediction`` there. A row whose prediction no single
        feature flips has None, and an infinite distance.

    Raises
    ------
    TypeError, ValueError
        As `feature_stability`.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from shiftmetrics.models import least_changes
    >>> X = pd.DataFrame({"age": [20, 30, 60, 70], "dose": [1.0, 2.0, 2.0, 1.0]})
    >>> model = DecisionTreeClassifier().fit(X, [0, 0, 1, 1])
    >>> least_changes(model, X)[["feature", "value", "changed_to"]]
      feature value changed_to
    0     age  20.0       46.0
    1     age  30.0       46.0
    2     age  60.0       45.0
    3     age  70.0       45.0
    """
    import pandas as pd

    perturbation = perturbation_of(perturbation)
    search = replace(search_of(computing), progress=False)
    problem = problem_of(
        model, X, None, theta2=np.inf, perturbation=perturbation, search=search, everything=True
    )
    n_samples = problem.n_samples
    best = np.full(n_samples, np.inf)
    points = problem.codes.copy()
    parts = parts_of(problem, perturbation.features)
    which = np.full(n_samples, -1)
    # The nearest error of each row over all features.
    for part, found in answers_of(problem, parts, search.method):
        distances, choices = _nearest_error(found.loss)
        nearer = np.flatnonzero(distances < best)
        best[nearer] = distances[nearer]
        which[nearer] = parts.index(part)
        points[nearer] = found.points(nearer, distances[nearer], choices[nearer])
    before = np.asarray(problem.table.decode(problem.codes), dtype=object)
    after = np.asarray(problem.table.decode(points), dtype=object)
    names = [parts[k].name if k >= 0 else None for k in which.tolist()]
    frame = pd.DataFrame({"feature": pd.Series(names, dtype=object)})
    for name, cells in (("value", before), ("changed_to", after)):
        frame[name] = pd.Series([None] * n_samples, dtype=object)
        for number, part in enumerate(parts):
            rows = np.flatnonzero(which == number)
            columns = problem.domain.positions(part.columns)
            # The cell of a single column, a tuple for a group of them.
            lines = cells[np.ix_(rows, columns)].tolist()
            held = [line[0] if len(line) == 1 else tuple(line) for line in lines]
            frame.loc[rows, name] = pd.Series(held, index=rows, dtype=object)
    assert problem.classes is not None
    told = pd.Series(problem.classes[problem.predict(points)], dtype=object)
    frame["distance"] = best
    frame["prediction"] = told.where(which >= 0, None)
    if problem.table.labels is None:
        return frame
    return frame.set_index(problem.table.labels)


def _nearest_error(loss: Loss) -> tuple[Any, Any]:
    """Return how far the nearest error of each row is, and which choice it is."""
    if isinstance(loss, ZeroOneLoss):
        distances = np.asarray(loss.distances)
        return distances, np.zeros(len(distances), dtype=np.int64)
    assert isinstance(loss, CandidateLoss)
    reached = np.where(loss.losses > 0.0, loss.distances, np.inf)
    choices = reached.argmin(axis=1)
    return reached[np.arange(len(reached)), choices], choices
