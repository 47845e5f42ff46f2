"""Is the new model safe to ship? The public function that compares the predictions of two models."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import is_partitioned
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.result import Interval, Status, settings_of
from shiftmetrics._core.validation import check_integer
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.allowance import Allowance, Population
from shiftmetrics.decisions.diff.changes import labelled_rows, prediction_diff
from shiftmetrics.decisions.diff.compared import ComparedRows, PairTotals, compared_rows
from shiftmetrics.decisions.diff.evidence import (
    evidence_of_classes,
    evidence_of_outputs,
)
from shiftmetrics.decisions.diff.gains import (
    LEVEL,
    Gains,
    future_difference,
    gains_of_classes,
    gains_of_outputs,
    sampled_difference,
)
from shiftmetrics.decisions.diff.parts import bounds_by_group, differences_by_part
from shiftmetrics.decisions.diff.records import PartDifference
from shiftmetrics.decisions.diff.result import (
    BOUNDED,
    LABELLED,
    SAMPLED,
    UNCHANGED,
    UNLABELLED,
    DiffResult,
)
from shiftmetrics.decisions.labelling.plan import (
    LabelPlan,
    Mode,
    draw_plan,
    plan_from_text,
    planned_labels,
)
from shiftmetrics.decisions.predictions.pairs import OutputPair
from shiftmetrics.decisions.predictions.reading import PairArguments, read_pair

QUARTER = 0.25
"""Half width of the interval that labels are planned for by default, as a fraction of the certain bound."""

ROUNDING = 1e-12
"""Rounding error of a mean."""


def diff_models(
    old: Any,
    new: Any,
    *,
    labels: Any = None,
    allow: float | Allowance | None = None,
    ids: Any = None,
    classes: Any = None,
    threshold: float | None = None,
    tolerance: float | None = None,
    costs: Mapping[Any, float] | None = None,
    groups: Any = None,
    plan: Any = None,
    rng: Any = None,
) -> DiffResult:
    """Compare the predictions of two models on the same rows, and say whether the new one is safe to ship.

    Only rows whose prediction changes can change the accuracy, so the accuracy changes by at most
    their fraction: this is certain, and needs no labels. Labels of a few of these rows, chosen at
    random, give an exact interval of the difference; all labels give one for future rows.

    Parameters
    ----------
    old, new : table or array of shape (n_samples,) or (n_samples, n_classes)
        What both models predict: scores, probabilities or log-probabilities of each class, one
        column of probabilities of the second class, labels (strings or integers), or the outputs of
        a regression. The answer is the class of the largest score, the first of equal ones. Tables
        may hold ids, labels and groups too: they are found by what both tables hold, and
        ``settings["found"]`` says so. ``new`` may be None where `RoleOptions` names the answers of
        two models in one table. Two data frames of Dask are joined by their ids where they live:
        only changed rows come to this process. Labels and groups are named columns then, labels also a table.
    labels : str, array or DataFrame, optional
        True classes or values: a column of either table, one for each row of ``old`` (missing where
        unknown), or a table of ids and labels. The table of `DiffResult.to_frame`, filled in, says
        itself which plan it belongs to. By default a column with the name of a label is taken where
        there is one.
    allow : float or Allowance, optional
        By how much the new model may be worse: accuracy as a fraction, mean cost, or mean absolute
        error. An `Allowance` also says of which rows.
    ids : str, array or RoleOptions, optional
        The column of ids in both tables ("none": rows by their place), or the ids of arrays. By default they
        are found. `RoleOptions` says what else is known of the columns, and whether rows that only one of both
        has are left out.
    classes : sequence, fitted model, or pair of fitted models, optional
        The classes of columns that do not name them, in the order of the columns, such as ``model.classes_``.
    threshold : float, optional
        Two classes: the second one is the answer from this probability (or score) on.
    tolerance : float, optional
        The predictions are outputs of a regression; changes up to this one do not count. By default
        rounding errors do not.
    costs : dict of class to float, optional
        Cost of an error on a row of a class, 1 where it is not named. Mean costs are compared then,
        in place of accuracies.
    groups : str or array, optional
        A column of either table, or one value for each row of ``old``: the difference in each group
        is given too.
    plan : int, "anytime" or LabelPlan, optional
        How rows to label are chosen. A number: an exact interval once so many rows are labelled. "anytime":
        a wider one that holds after each label, so that labelling may stop at any time. The plan of an
        earlier result: the one that the labels belong to. By default, a number that suits
        ``allow``, or a quarter of the certain bound.
    rng : int or Generator, optional
        Seed of the plan.

    Returns
    -------
    DiffResult
        Verdict, difference with its interval, the changed rows, the plan. Positive differences mean
        that the new model is better.

    Raises
    ------
    TypeError, ValueError
        If rows or classes of both do not match, a value is missing, a row is labelled twice
        differently, a label is none of the classes, or labels belong to a plan for other
        predictions. The message names the column and the row.

    See Also
    --------
    shiftmetrics.posterior_agreement : How far probabilities agree, beyond the answers.

    Notes
    -----
    The exact interval inverts the multivariate hypergeometric distribution; the anytime one is a
    betting sequence (I. Waudby-Smith and A. Ramdas, arXiv:2010.09686). For future rows two
    Clopper-Pearson intervals are joined, so that the interval leaves out 0 exactly where McNemar's
    exact test rejects.

    Examples
    --------
    >>> import numpy as np
    >>> old = np.array(["cat"] * 60 + ["dog"] * 40)
    >>> new = np.array(["cat"] * 57 + ["dog"] * 43)
    >>> print(diff_models(old, new, rng=0).headline())
    CANNOT TELL  3 of 100 predictions changed (3.0 %). Accuracy on these 100 rows changes by at most
    3.0 points, up or down.
    >>> result = diff_models(old, new, labels=new, allow=0.05)
    >>> print(result.headline())
    SAFE  new is 3.0 points better (97.0 % to 100 %; 95 %: -1.7 to +9.4): 3 errors fixed, 0 new.
    """
    allowance = allow if isinstance(allow, Allowance) else Allowance(allow=allow)
    allow = allowance.allow
    population = allowance.population
    arguments = PairArguments(
        labels=labels,
        ids=ids,
        classes=classes,
        groups=groups,
        threshold=threshold,
        tolerance=tolerance,
    )
    if is_partitioned(old) or is_partitioned(new):
        from shiftmetrics.decisions.diff.partitions import compared_in_partitions

        compared = compared_in_partitions(old, new, arguments)
    else:
        compared = compared_rows(read_pair(old, new, arguments))
    pair = compared.pair
    if isinstance(pair, OutputPair):
        if costs is not None:
            raise ArgumentValueError("costs", "None for outputs of a regression", value=costs)
        gains = gains_of_outputs(compared)
        metric = "mean absolute error"
    else:
        gains = gains_of_classes(compared, costs)
        metric = "accuracy" if costs is None else "mean cost"
    if metric == "accuracy" and allow is not None and allow >= 1.0:
        remedy = "It is a fraction: one point of accuracy is 0.01."
        raise ArgumentValueError("allow", "less than 1", value=allow, remedy=remedy)
    settings = settings_of(
        allow=allow,
        threshold=threshold if isinstance(pair, OutputPair) else pair.threshold,
        tolerance=pair.tolerance if isinstance(pair, OutputPair) else None,
        costs=None if costs is None else {str(name): cost for name, cost in costs.items()},
        groups=pair.rows.group is not None,
        population=population,
        found=(*pair.rows.reading.sentences(), *pair.forms),
    )
    drawn = _plan_of(plan, compared, gains, allow, rng)
    # Labels without a plan are of rows that somebody chose.
    belongs = pair.rows.plan is not None or isinstance(plan, LabelPlan)
    return _result(compared, gains, metric, drawn, belongs, allow, population, settings)


def _plan_of(
    plan: Any, compared: ComparedRows, gains: Gains, allow: float | None, rng: Any
) -> LabelPlan | None:
    """Return the plan that labels belong to, or a new one; None where no row changes or all labels are known.

    Raises
    ------
    TypeError, ValueError
        If ``plan`` is something else, or a plan for other predictions.
    """
    rows = gains.positions[gains.candidates]
    n = gains.n_samples
    plan_text = compared.pair.rows.plan
    # A plan that labels belong to is checked and kept, whether it is given or their file names it.
    if isinstance(plan, LabelPlan):
        digest = compared.digest
        if plan.digest != digest or not np.array_equal(np.sort(plan.order), rows):
            remedy = "The plan belongs to other predictions, or to other rows: make a new plan."
            got = f"one for others ({plan.digest[:12]})"
            raise ArgumentValueError("plan", "made for these predictions", got, remedy)
        return plan
    if plan_text is not None:
        return plan_from_text(
            plan_text,
            rows,
            n_samples=n,
            digest=compared.digest,
            scale=gains.scale,
            sizes=gains.sizes,
        )
    if not len(rows):
        return None
    mode: Mode = "exact" if plan != "anytime" else "anytime"
    if isinstance(plan, str) and plan != "anytime":
        expected = 'a number of labels, "anytime" or a plan'
        raise ArgumentValueError("plan", expected, value=plan)
    if plan is None or plan == "anytime":
        # Wide enough to be cheap, narrow enough to decide on what is allowed.
        half_width = QUARTER * gains.scale * len(rows) / n
        if allow is not None:
            half_width = min(allow, half_width)
        n_labels = max(planned_labels(half_width / gains.scale, len(rows), n), 1)
    else:
        n_labels = check_integer(plan, "plan", low=1)
    # Nothing is left to label.
    if gains.known.all():
        return None
    return draw_plan(
        rows,
        n_samples=n,
        n_labels=n_labels,
        mode=mode,
        digest=compared.digest,
        scale=gains.scale,
        sizes=gains.sizes,
        rng=rng,
    )


def _result(
    compared: ComparedRows,
    gains: Gains,
    metric: str,
    plan: LabelPlan | None,
    belongs: bool,
    allow: float | None,
    population: Population | None,
    settings: dict[str, Any],
) -> DiffResult:
    """Put the result together: what is known of the changed rows decides which interval is given."""
    pair = compared.pair
    rows = gains.candidates
    certain = gains.certain
    value = 0.5 * (certain.low + certain.high)
    interval: Interval | None = None
    used = rows[gains.known[rows]]
    is_complete = bool(gains.known.all())
    if not len(rows):
        status = UNCHANGED
    elif belongs and len(used) and population != "future":
        status = SAMPLED
        assert plan is not None
        value, interval, used = sampled_difference(gains, plan)
    elif is_complete:
        status = LABELLED
        plan = None  # nothing is left to label, so that the rows stay in their order
    else:
        status = BOUNDED if len(used) else UNLABELLED
    # What is certain speaks for these rows alone: of future rows, others may change.
    bound: Interval | None = certain
    if _is_for_future_rows(population, status, compared.totals):
        interval = future_difference(gains)
        bound = None
    elif status is LABELLED:
        interval = dataclasses.replace(certain, confidence_level=LEVEL, method="exact")
    # Labels of a plan speak for its population in classes and groups too; chosen ones do not.
    is_planned = status is SAMPLED
    labelled = None
    if len(used):
        labelled = labelled_rows(compared, gains, used, is_complete=is_complete)
    parts: tuple[PartDifference, ...] = ()
    if isinstance(pair, OutputPair):
        evidence = evidence_of_outputs(pair)
    else:
        evidence = evidence_of_classes(compared, gains)
    if interval is not None:
        parts = differences_by_part(
            compared, gains, plan if is_planned else None, is_complete=is_complete
        )
    elif pair.rows.group is not None:
        parts = bounds_by_group(compared, gains)
    verdict = verdict_on_difference(allow, bound, interval)
    if allow is None and not len(rows):
        verdict = verdicts.SAME
    # Nothing good is said of a reading that something speaks against.
    doubts = pair.rows.reading.warnings
    if doubts and verdict != verdicts.WORSE:
        verdict = verdicts.CANNOT_TELL
    return DiffResult(
        value=value,
        error_bound=max(value - certain.low, certain.high - value, 0.0),
        interval=interval,
        status=status,
        n_samples=gains.n_samples,
        settings=settings,
        warnings=pair.rows.warnings,
        verdict=verdict,
        allow=allow,
        metric=metric,
        certain=certain,
        changes=prediction_diff(compared, gains, plan),
        labelled=labelled,
        plan=plan,
        parts=parts,
        evidence=dataclasses.replace(evidence, doubts=doubts),
    )


def _is_for_future_rows(population: Population | None, status: Status, totals: PairTotals) -> bool:
    """Return True if the verdict speaks of future rows: by default where all labels are known.

    Raises
    ------
    ValueError
        If that is asked for and labels of changed rows are missing.
    """
    is_known = status is LABELLED or (status is UNCHANGED and totals.all_labelled)
    if population is None:
        return is_known
    if population == "future" and not is_known:
        remedy = "Label every changed row, or ask for these rows."
        got = "rows without a label"
        raise ArgumentValueError("population", "'these' where labels are missing", got, remedy)
    return population == "future"


def verdict_on_difference(
    allow: float | None, bound: Interval | None, interval: Interval | None
) -> str:
    """Return the verdict on a difference.

    Parameters
    ----------
    allow : float or None
        By how much the new model may be worse.
    bound : Interval or None
        Of the difference in these rows, for certain; None where the verdict is on future rows.
    interval : Interval or None
        Of the difference, from labels.

    Examples
    --------
    >>> bound = Interval(low=-0.05, high=0.05, confidence_level=1.0)
    >>> verdict_on_difference(0.01, bound, None), verdict_on_difference(0.05, bound, None)
    ('CANNOT TELL', 'SAFE')
    >>> verdict_on_difference(0.01, bound, Interval(low=-0.004, high=0.02)), verdict_on_difference(None, bound, None)
    ('SAFE', 'CANNOT TELL')
    """
    if allow is not None:
        if bound is not None and bound.low >= -allow - ROUNDING:
            return verdicts.SAFE
        if bound is not None and bound.high < -allow - ROUNDING:
            return verdicts.WORSE
        if interval is None:
            return verdicts.CANNOT_TELL
        # A single point is known exactly, so that it may lie on the limit.
        is_point = interval.low == interval.high
        if interval.low > -allow or (is_point and interval.low >= -allow - ROUNDING):
            return verdicts.SAFE
        return verdicts.WORSE if interval.high < -allow else verdicts.CANNOT_TELL
    # Without a limit the sign is asked for.
    ends = bound if interval is None else interval
    assert ends is not None
    if ends.low > 0.0:
        return verdicts.BETTER
    if ends.high < 0.0:
        return verdicts.WORSE
    return verdicts.SAME if ends.low == ends.high == 0.0 else verdicts.CANNOT_TELL
