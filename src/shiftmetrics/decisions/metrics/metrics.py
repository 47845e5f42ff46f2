"""The public function that compares two models by a metric: F1, areas under curves, losses, R2, or one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import IntArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.result import Interval, Status, settings_of
from shiftmetrics._core.validation import check_choice, check_number
from shiftmetrics.decisions import verdicts
from shiftmetrics.decisions.diff.diff import verdict_on_difference
from shiftmetrics.decisions.diff.gains import LEVEL
from shiftmetrics.decisions.metrics.effects import (
    ClassInputs,
    MetricEffects,
    effects_on_answers,
    effects_on_probabilities,
)
from shiftmetrics.decisions.metrics.inputs import (
    check_all_labelled,
    class_inputs,
    output_inputs,
    own_inputs,
)
from shiftmetrics.decisions.metrics.interval import metric_interval, shortage
from shiftmetrics.decisions.metrics.label_sets import (
    LabelSets,
    effects_on_sets,
    moving_sets,
    read_label_sets,
)
from shiftmetrics.decisions.metrics.names import POINTS, NamedMetric, named_metric
from shiftmetrics.decisions.metrics.outputs import effects_on_outputs
from shiftmetrics.decisions.metrics.own import effects_on_own_metric
from shiftmetrics.decisions.metrics.queries import (
    check_whole_rankings,
    effects_on_queries,
    moving_queries,
    query_scores,
)
from shiftmetrics.decisions.metrics.records import MovingRows
from shiftmetrics.decisions.metrics.result import MEASURED, TOO_FEW, MetricDiffResult
from shiftmetrics.decisions.predictions.pairs import ClassPair, OutputPair
from shiftmetrics.decisions.predictions.reading import PairArguments, read_pair

RESPONSES = ("answers", "probabilities")


def diff_metric(
    old: Any,
    new: Any,
    metric: str | Callable[[Any, Any], float],
    *,
    labels: Any = None,
    allow: float | None = None,
    ids: Any = None,
    classes: Any = None,
    threshold: float | None = None,
    groups: Any = None,
    positive: Any = None,
    response: Literal["answers", "probabilities"] = "answers",
) -> MetricDiffResult:
    """Compare two models by the metric that decides, and say whether the new one is safe to ship.

    Parameters
    ----------
    old, new : table or array of shape (n_samples,) or (n_samples, n_classes)
        What both models predict on the same rows, as for `diff_models`.
    metric : str or callable
        A name of scikit-learn's scorers: ``f1``, ``precision``, ``recall`` and ``jaccard`` of a positive class, or
        with ``_macro``, ``_micro``, ``_weighted``; ``accuracy``, ``balanced_accuracy``, ``matthews_corrcoef``; of
        probabilities ``roc_auc`` and with ``_ovr`` or ``_ovo`` of several classes, ``average_precision``,
        ``neg_log_loss``, ``neg_brier_score``, ``d2_log_loss_score``, ``d2_brier_score``, and ``top_k_accuracy``,
        with ``@5`` behind it for another number of classes than 2; of outputs ``r2``, ``explained_variance``,
        ``neg_mean_absolute_error`` and all others that are means, and ``neg_mean_pinball_loss``, with ``@0.9``
        behind it for another quantile than the median.
        ``quadratic_kappa`` is Cohen's kappa of grades with squared distances. Of several labels a row, with tables of
        0 and 1 that have one column a label: ``exact_match``, ``neg_hamming_loss``, ``jaccard_samples``,
        ``f1_samples``, ``precision_samples`` and ``recall_samples``. Of rankings ``ndcg``, with ``@10`` behind it for
        the first documents alone: labels are relevances, groups the queries. Or a function of true values and
        predictions whose larger values are better, smooth enough that no single row decides.
    labels : str, array or DataFrame, optional
        True classes or values of all rows; found as in `diff_models`.
    allow : float, optional
        By how much the metric of the new model may be lower.
    ids, classes, threshold : optional
        As in `diff_models`.
    groups : str or array, optional
        A column, or one value for each row: rows of one group depend on each other, and count as a cluster. Of
        ``ndcg``, the query.
    positive : optional
        The positive class of a metric of two. By default that of a single column of probabilities, or the true one
        of 0 and 1, yes and no, and the like.
    response : {"answers", "probabilities"}, default "answers"
        What a function gets of classifiers: answers, or the probabilities of the positive class, or of all classes
        where there are more than two.

    Returns
    -------
    MetricDiffResult
        Positive differences mean that the new model is better.

    Raises
    ------
    TypeError, ValueError
        If a label is missing, the metric is none of these or does not fit the predictions, or nothing says which
        class is positive.

    See Also
    --------
    diff_models : Accuracy, costs and absolute errors, also from few labels.
    diff_scores : Scores of each row: exact match, Jaccard or NDCG of a query.

    Notes
    -----
    The interval is for future rows: Student's interval of the jackknife's pseudo-values, with one row more that
    gains as much as a row can and one that loses it. Losses and errors without a limit are taken to be no larger in
    future rows than the largest that either model has here.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1] * 100 + [0] * 300)
    >>> old, new = y.copy(), y.copy()
    >>> old[:20], new[:16], new[100:102] = 0, 0, 1
    >>> print(diff_metric(old, new, "f1", labels=y, allow=0.05).headline())
    SAFE  f1 of 1 is 1.4 points better on 400 rows (88.9 % to 90.3 %; 95 %: -1.8 to +5.0): 6 answers changed.
    """
    if allow is not None:
        allow = check_number(allow, "allow", low=0.0)
    check_choice(response, "response", RESPONSES)
    named = _checked_metric(metric)
    name = named.name if named is not None else str(getattr(metric, "__name__", "metric"))
    is_fraction = name in POINTS
    if is_fraction and allow is not None and allow >= 1.0:
        remedy = "One point is 0.01."
        raise ArgumentValueError("allow", f"less than 1 for {name}", value=allow, remedy=remedy)
    # Several labels a row and rankings by query have readings of their own; all else has one prediction in each row.
    if named is not None and named.needs == "sets":
        others = {"classes": classes, "threshold": threshold, "positive": positive}
        for argument, value in others.items():
            if value is not None:
                raise ArgumentValueError(argument, f"None for {name}", value=value)
        return _diff_of_sets(name, read_label_sets(old, new, labels, ids, groups), allow)
    is_ranking = named is not None and named.needs == "queries"
    if is_ranking:
        check_whole_rankings(ids)
    arguments = PairArguments(
        labels=labels,
        ids=ids,
        classes=classes,
        groups=groups,
        threshold=threshold,
        task="rankings" if is_ranking else None,
    )
    pair = read_pair(old, new, arguments)
    check_all_labelled(pair)
    if named is not None and is_ranking:
        return _diff_of_queries(metric_name=str(metric), pair=pair, named=named, allow=allow)
    clusters = _clusters(pair)
    positive_name: str | None = None
    inputs: ClassInputs | None = None
    if named is None:
        assert callable(metric)
        own = own_inputs(pair, response, positive, clusters)
        effects, clusters = effects_on_own_metric(metric, own)
    elif isinstance(pair, OutputPair):
        effects = effects_on_outputs(named, output_inputs(pair, named))
    else:
        inputs, positive_name = class_inputs(pair, named, positive)
        if len(np.unique(inputs.labels)) < 2:
            only = str(pair.classes[pair.labels[0]])
            raise ArgumentValueError(
                "labels", f"of two classes at least for {name}", f"only {only!r}"
            )
        of = effects_on_answers if named.needs == "answers" else effects_on_probabilities
        effects = of(named, inputs)
    doubts = pair.rows.reading.warnings
    lack, interval, verdict = _decided(effects, clusters, allow, doubts)
    uses_scores = response == "probabilities" if named is None else named.needs == "probabilities"
    return MetricDiffResult(
        value=effects.difference,
        error_bound=0.0,
        interval=interval,
        status=_status(lack),
        n_samples=len(pair.rows.known),
        settings=settings_of(
            metric=metric if isinstance(metric, str) else name,
            allow=allow,
            groups=clusters is not None and pair.rows.group is not None,
            positive=positive_name,
            response=response,
            threshold=threshold,
            is_fraction=is_fraction,
            lack=lack,
            doubts=doubts,
            found=(*pair.rows.reading.sentences(), *pair.forms),
        ),
        warnings=pair.rows.warnings,
        verdict=verdict,
        allow=allow,
        metric=name,
        old_score=effects.old.score,
        new_score=effects.new.score,
        rarest=effects.rarest,
        n_groups=None if pair.rows.group is None else len(np.unique(pair.rows.group)),
        rows=_moving_rows(pair, effects, inputs, uses_scores=uses_scores),
    )


def _decided(
    effects: MetricEffects,
    clusters: IntArray | None,
    allow: float | None,
    doubts: Sequence[str],
) -> tuple[str | None, Interval | None, str]:
    """Return why nothing can be said of future rows, or the interval, and the verdict.

    On a doubtful reading nothing is safe or better; worse it may be.
    """
    lack = shortage(effects, clusters)
    if lack is not None:
        return lack, None, verdicts.CANNOT_TELL
    interval = metric_interval(effects, clusters, LEVEL)
    verdict = verdict_on_difference(allow, None, interval)
    if doubts and verdict != verdicts.WORSE:
        verdict = verdicts.CANNOT_TELL
    return None, interval, verdict


def _diff_of_sets(name: str, sets: LabelSets, allow: float | None) -> MetricDiffResult:
    """Compare two models that give each row several labels."""
    effects = effects_on_sets(name, sets.truth, sets.old, sets.new)
    clusters = sets.clusters
    doubts = sets.warnings
    lack, interval, verdict = _decided(effects, clusters, allow, doubts)
    return MetricDiffResult(
        value=effects.difference,
        # A mean over rows has no numerical error to speak of; the interval is for that of sampling.
        error_bound=0.0,
        interval=interval,
        status=_status(lack),
        n_samples=len(sets.truth),
        settings=settings_of(
            metric=name,
            allow=allow,
            groups=clusters is not None,
            is_fraction=name in POINTS,
            lack=lack,
            doubts=doubts,
            found=sets.found,
        ),
        verdict=verdict,
        allow=allow,
        metric=name,
        old_score=effects.old.score,
        new_score=effects.new.score,
        rarest=effects.rarest,
        n_groups=None if clusters is None else len(np.unique(clusters)),
        rows=moving_sets(sets, effects),
    )


def _diff_of_queries(
    metric_name: str, pair: ClassPair | OutputPair, named: NamedMetric, allow: float | None
) -> MetricDiffResult:
    """Compare two models that order the documents of queries, by the mean over queries."""
    queries = query_scores(pair, named.n_top)
    effects = effects_on_queries(queries)
    doubts = pair.rows.reading.warnings
    # The groups were the queries, and each query has one score: no clusters are left.
    lack, interval, verdict = _decided(effects, None, allow, doubts)
    found = (*pair.rows.reading.sentences(), *(f"{text}." for text in queries.notes))
    return MetricDiffResult(
        value=effects.difference,
        error_bound=0.0,
        interval=interval,
        status=_status(lack),
        n_samples=len(queries.names),
        settings=settings_of(
            metric=metric_name,
            allow=allow,
            groups=False,
            unit="query",
            is_fraction=True,
            lack=lack,
            doubts=doubts,
            found=found,
        ),
        warnings=pair.rows.warnings,
        verdict=verdict,
        allow=allow,
        metric=named.name,
        old_score=effects.old.score,
        new_score=effects.new.score,
        rarest=effects.rarest,
        rows=moving_queries(queries, effects),
    )


def _checked_metric(metric: Any) -> NamedMetric | None:
    """Return a metric by name; None for a function."""
    if isinstance(metric, str):
        return named_metric(metric)
    if not callable(metric):
        raise ArgumentTypeError("metric", "a name or a function", value=metric)
    return None


def _clusters(pair: ClassPair | OutputPair) -> IntArray | None:
    """Return the number of the group of each row."""
    if pair.rows.group is None:
        return None
    _, codes = np.unique(pair.rows.group, return_inverse=True)
    return np.asarray(codes.ravel(), dtype=np.int64)


def _status(lack: str | None) -> Status:
    return MEASURED if lack is None else TOO_FEW


def _moving_rows(
    pair: ClassPair | OutputPair,
    effects: MetricEffects,
    inputs: ClassInputs | None,
    *,
    uses_scores: bool,
) -> MovingRows:
    """Return the rows whose prediction changes, those that cost the new model most first."""
    label: Any
    if isinstance(pair, OutputPair):
        label, old, new = pair.labels, pair.old_outputs, pair.new_outputs
    elif uses_scores:
        label = pair.classes[pair.labels]
        rows = np.arange(len(pair.labels))
        # The probability of the positive class where there is one, else that of the label.
        column = pair.labels
        if inputs is not None and inputs.positive is not None:
            column = np.full(len(rows), inputs.positive)
        places = np.array([pair.old.names.index(name) for name in pair.classes.tolist()])
        old, new = (
            pair.probabilities(side, rows)[rows, places[column]] for side in (pair.old, pair.new)
        )
    else:
        label = pair.classes[pair.labels]
        old, new = pair.classes[pair.old_codes], pair.classes[pair.new_codes]
    changed = np.flatnonzero(np.asarray(old != new))
    # Leaving out one of n rows lowers the difference by its effect over n - 1.
    moved = effects.moved[changed] / max(len(effects.moved) - 1, 1)
    order = np.argsort(moved, kind="stable")
    changed = changed[order]
    return MovingRows(
        position=changed,
        id=pair.rows.ids[changed],
        label=np.asarray(label)[changed],
        old=np.asarray(old)[changed],
        new=np.asarray(new)[changed],
        effect=moved[order],
        beside=pair.rows.columns_of(changed),
    )
