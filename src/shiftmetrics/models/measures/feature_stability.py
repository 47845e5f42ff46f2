"""What changes of one feature alone do to a model: for all features, groups of them, and subgroups of samples."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.chunk_readers import gathered
from shiftmetrics._core.options import Computing, Resampling, progress_bar, resampling_of
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import check_labels
from shiftmetrics._core.validation import check_vector
from shiftmetrics.models.domain.perturbation import Perturbation, Search, perturbation_of
from shiftmetrics.models.domain.table import frame_of_samples
from shiftmetrics.models.measures.feature_result import (
    EVERYTHING,
    FeatureStability,
    FeatureStabilityResult,
)
from shiftmetrics.models.measures.features import FeatureGroup, feature_groups, subgroups_of
from shiftmetrics.models.measures.rounds import SolvedRounds, shifted_samples, solve_in_rounds
from shiftmetrics.models.measures.routes import (
    find_worst_case,
    search_options,
    worst_cases_by_group,
)
from shiftmetrics.models.reading.model import LossName, ModelProblem, problem_of
from shiftmetrics.models.search.importance import (
    Draws,
    ValueRisks,
    importance_interval,
    value_risks_of,
)
from shiftmetrics.models.search.worst_case import EVERYONE, WorstCase
from shiftmetrics.stability.divergence import DivergenceName


def feature_stability(
    model: Any,
    X: Any,
    y: Any,
    threshold: float | None = None,
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
    r"""Return how much a model depends on each feature, and how little of it alone brings the risk to a threshold.

    Features are ranked by permutation importance: the growth of the risk when their values are permuted, as the exact
    mean over all permutations, with an interval. Beside it stands the risk at worst when the values come from a
    distribution that differs from today's by at most 0.02 nats of relative entropy, and the stability R_j: that of
    `model_stability` at the threshold when no other feature may change.

    Parameters
    ----------
    model : object
        A fitted model; see `model_stability`.
    X : array_like or DataFrame of shape (n_samples, n_features)
        Samples as the model takes them.
    y : array_like of shape (n_samples,) or None
        Labels, or values for ``loss="squared"``; None for the model's own predictions.
    threshold : float, optional
        The risk (mean loss) that counts as broken. Default: an error rate 10 points above the current one, for the
        0/1 loss without costs.
    loss : {"zero_one", "hinge", "log_loss", "squared"}, default "zero_one"
        What a sample loses.
    theta1, theta2 : float, default 0.4 and inf
        Prices of data corruption and of sub-population shift: by default samples change and are not reweighted.
    divergence : {"kl", "chi2"}, default "kl"
        Price of a weight.
    perturbation : Perturbation, optional
        What may change, and at what cost. ``features`` are taken one at a time: by default all columns that may
        change, where a one-hot group counts as one; a dict names groups of columns that are taken together. By
        default two random samples are as far apart in one column as in another. ``by`` names subgroups of the
        samples: each gets the stability of every feature, and that with all columns free. ``target`` are samples
        without labels of where the model is to be used: the values of each feature are then sampled from theirs.
    sample_weight : array_like of shape (n_samples,), optional
        Weight of each sample.
    resampling : Resampling, float or None, default 0.95
        Confidence level of the intervals, and ``groups``: samples that belong together, such as
        the visits of one patient; a subgroup that lies in one of them has no standard error.
    computing : Search or Computing, optional
        How to search for changes, and how to compute. By default models of trees are scanned exactly, linear models
        have closed forms, and others are tried on a grid of values with bisection, which gives upper bounds.

    Returns
    -------
    FeatureStabilityResult
        ``value`` is the least stability of a feature; ``to_frame()`` is the sorted table; ``plot()`` draws it.

    Raises
    ------
    TypeError
        If ``model`` is no model, or a column is neither numbers nor categories.
    ValueError
        If a feature is unknown or may not change, subgroups do not match the samples, or as `model_stability`.

    See Also
    --------
    model_stability : All features together, with the rows that change.

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
    Errors reach 20 % (currently 0 %) if `x0` alone changes by at most 4 (0.35 sd) in 20 % of the samples. ...
    >>> result.least_stable.kind
    'exact'
    """
    perturbation = perturbation_of(perturbation)
    search = search_options(computing)
    quiet = replace(search, progress=False)
    # Every feature is searched on the same rows: those that are not in memory are taken there, if they fit.
    X = gathered(X, "X", search.memory_limit)
    y = gathered(y, "y", search.memory_limit)
    problem = problem_of(
        model,
        X,
        y,
        loss=loss,
        theta1=theta1,
        perturbation=perturbation,
        search=quiet,
        everything=True,
    )
    problem.check_threshold(threshold)
    groups = feature_groups(problem.domain, perturbation.features)
    subgroups, too_small = subgroups_of(frame_of_samples(X), perturbation.by, problem.n_samples)
    interval = resampling_of(resampling)
    if interval is not None and interval.groups is not None:
        labels = check_labels(interval.groups, "groups", length=problem.n_samples)
        interval = replace(interval, groups=labels)
    if sample_weight is not None:
        sample_weight = check_vector(
            sample_weight, "sample_weight", length=problem.n_samples, low=0.0
        )
    options: dict[str, Any] = {
        "theta1": theta1,
        "theta2": theta2,
        "divergence": divergence,
        "sample_weight": sample_weight,
        "resampling": interval,
        "computing": replace(quiet, memory_limit=None),
    }
    found: list[FeatureStability] = []
    by_subgroup: list[FeatureStability] = []
    warnings = dict.fromkeys((*problem.domain.warnings, *too_small))
    bar = progress_bar(search.progress, "features", len(groups) + bool(subgroups))
    with bar, problem.unchanged():
        solver = _FeatureSolver(problem, threshold, options, subgroups, perturbation.target)
        columns = [group.columns for group in groups]
        cases = worst_cases_by_group(problem, columns, solver.draws)
        for position, worst_case in cases:
            solution, whole, parts = solver.solve(groups[position], worst_case)
            searched = solution.found
            if groups[position].change == "columns":
                warnings |= dict.fromkeys(searched.notes(solution.solved.kind))
            else:  # where a scan of one column finds no error, there is none
                warnings |= dict.fromkeys(searched.warnings)
            found.append(whole)
            by_subgroup += parts
            bar.update()
        if subgroups:
            # Subgroups are compared with all columns free, too.
            everything = FeatureGroup(EVERYTHING, problem.domain.names)
            _, worst_case = find_worst_case(problem)
            by_subgroup += solver.solve(everything, worst_case)[2]
            bar.update()
    # The most important first; equal ones by their stability, then in the order of the columns.
    names = [group.name for group in groups]
    found.sort(key=lambda part: names.index(part.feature))
    found.sort(key=lambda part: (-round(part.permutation_importance, 12), part.value))
    # Subgroups in the same order, with all features together before them.
    order = {part.feature: place for place, part in enumerate(found)}
    by_subgroup.sort(key=lambda part: (order.get(part.feature, -1), part.value))
    # The value is that of the least stable feature.
    least = min(found, key=lambda part: part.value)
    fixed = np.array(problem.domain.names)[~problem.domain.mutable].tolist()
    unfinished = [part.status for part in found if not part.status.ok]
    status = least.status
    if unfinished:
        status = unfinished[0]
    resampled = None
    if interval is not None:
        resampled = interval.settings()
    weights = None
    if sample_weight is not None:
        weights = "given"
    return FeatureStabilityResult(
        value=least.value,
        error_bound=least.error_bound,
        interval=least.interval,
        status=status,
        n_samples=problem.n_samples,
        settings=settings_of(
            **problem.settings(),
            threshold=solver.threshold,
            theta1=theta1,
            theta2=theta2,
            divergence=divergence,
            perturbation=perturbation.settings(),
            computing=search.settings(),
            resampling=resampled,
            sample_weight=weights,
        ),
        warnings=tuple(warnings),
        features=tuple(found),
        subgroups=tuple(by_subgroup),
        fixed=tuple(fixed),
        n_queries=problem.count.rows,
    )


class _FeatureSolver:
    """Solves for one feature after another, on all samples and on subgroups.

    Parameters
    ----------
    problem : ModelProblem
        The model and its samples, with all that may change.
    threshold : float or None
        The risk threshold; None until the first solution says it.
    options : dict
        Arguments of `stability_criterion`.
    subgroups : dict of str to array
        The samples of each subgroup.
    target : array_like or DataFrame, optional
        Samples whose values replace those of a feature.
    """

    def __init__(
        self,
        problem: ModelProblem,
        threshold: float | None,
        options: dict[str, Any],
        subgroups: dict[str, IntArray],
        target: Any,
    ) -> None:
        self.problem = problem
        self.threshold = threshold
        self.options = options
        self.subgroups = subgroups
        self.base_losses = problem.losses(problem.codes, EVERYONE)
        # Weights in the sample, and in each subgroup, which sum to 1.
        given = options["sample_weight"]
        if given is None:
            given = np.ones(problem.n_samples)
        weights = np.zeros((1 + len(subgroups), problem.n_samples))
        weights[0] = given
        for place, rows in enumerate(subgroups.values(), 1):
            weights[place, rows] = given[rows]
        weights /= weights.sum(axis=1, keepdims=True)
        if target is None:
            self.draws = Draws(weights, problem.codes, weights[0])
        else:
            codes = problem.table.coded(target, "target")
            equal = np.full(len(codes), 1.0 / len(codes))
            self.draws = Draws(weights, codes, equal, True)

    def solve(
        self, group: FeatureGroup, worst_case: WorstCase
    ) -> tuple[SolvedRounds, FeatureStability, list[FeatureStability]]:
        """Return the solution on all samples, what it says of the feature, and the same for each subgroup."""
        problem = self.problem
        if self.subgroups:  # what matters in one of them may not matter in all samples
            worst_case = worst_case.at_any_price()
        options = self._options_of(EVERYONE)
        solution = solve_in_rounds(problem, worst_case, self.threshold, options)
        self.threshold = float(solution.solved.settings["threshold"])
        shifted_samples(problem, solution, options["sample_weight"])
        # A route may know the risks at all values; else the model is asked.
        risks = worst_case.value_risks
        if risks is None:
            columns = problem.domain.positions(group.columns)
            risks = value_risks_of(problem.losses, problem.codes, columns, self.draws)
        whole = self._record(group, solution, risks, 0)
        importance = importance_interval(
            risks, self.base_losses, self.draws, self.options["resampling"]
        )
        whole = replace(whole, importance_interval=importance)
        parts = []
        for place, (name, rows) in enumerate(self.subgroups.items(), 1):
            # Among the points that were found for all samples.
            options = self._options_of(rows)
            found = solution.found.take(rows)
            part = solve_in_rounds(problem, found, self.threshold, options)
            shifted_samples(problem, part, options["sample_weight"], of=rows)
            record = self._record(group, part, risks, place, name)
            # An interval was asked for, and these samples are of one cluster: no standard error.
            if self.options["resampling"] is not None and options["resampling"] is None:
                record = replace(record, standard_error=None)
            parts.append(record)
        return solution, whole, parts

    def _options_of(self, rows: IntArray | slice) -> dict[str, Any]:
        """Return the arguments of `stability_criterion` for some of the samples."""
        weights = self.options["sample_weight"]
        if weights is not None:
            weights = weights[rows]
        interval = self.options["resampling"]
        if interval is not None and interval.groups is not None:
            groups = interval.groups[rows]
            interval = replace(interval, groups=groups)
            if len(np.unique(groups)) < 2:  # one cluster has no sampling variance
                interval = None
        return {**self.options, "sample_weight": weights, "resampling": interval}

    def _record(
        self,
        group: FeatureGroup,
        solution: SolvedRounds,
        risks: ValueRisks,
        place: int,
        subgroup: str | None = None,
    ) -> FeatureStability:
        """Put the stability of a part of the sample and the risks at other values together."""
        solved = solution.solved
        plan = solved.plan
        assert plan.largest_distance is not None
        # Weighted as the permuted risk is, so that a feature without effect has importance 0.
        current: FloatArray = self.draws.weights[place] @ self.base_losses
        return FeatureStability(
            feature=group.name,
            columns=group.columns,
            change=group.change,
            unit=group.unit,
            subgroup=subgroup,
            permutation_importance=risks.average(place) - float(current),
            worst_case_risk=risks.worst(place),
            value=solved.value,
            standard_error=solved.standard_error,
            interval=solved.interval,
            kind=solved.kind,
            lower_bound=solution.lower_bound,
            status=solved.status,
            error_bound=solved.error_bound,
            n_samples=solved.n_samples,
            base_risk=solved.base_risk,
            risk=plan.risk,
            largest_distance=plan.largest_distance,
            rms_distance=plan.rms_distance,
            changed_fraction=plan.changed_fraction,
            effective_sample_fraction=plan.effective_sample_fraction,
        )
