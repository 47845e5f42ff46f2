"""Models ranked by what they will be worth under a shift, from their scores before and after it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.chunk_readers import in_chunks
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.options import Computing, Resampling, always_resampling
from shiftmetrics._core.result import settings_of
from shiftmetrics._core.tables import Align
from shiftmetrics.agreement import posterior_agreement
from shiftmetrics.agreement.posterior import prior_setting
from shiftmetrics.agreement.priors import named_prior
from shiftmetrics.agreement.scores import (
    ScorePairs,
    align_rows,
    prepare_pairs,
)
from shiftmetrics.comparison.agreement_words import SHARED, criterion_in_words, unknown_predictions
from shiftmetrics.comparison.camps import collapsed_by_classes, name_camps, rare_events
from shiftmetrics.comparison.classes import Classes, read_model_classes, same_rows, same_scores
from shiftmetrics.comparison.criteria import SCORES
from shiftmetrics.comparison.deciding import beside_source_accuracy, name_tied_winners
from shiftmetrics.comparison.models import measure_each, model_names
from shiftmetrics.comparison.paired import PairedValues, check_paired
from shiftmetrics.comparison.ranking import rank_models
from shiftmetrics.comparison.result import AGREES_MOST, ComparisonResult
from shiftmetrics.comparison.selection_criteria import (
    AGREEMENT,
    ESTIMATED_ACCURACY,
    OVER_CEILING,
    SOURCE_ACCURACY,
    VOTE,
    VOTE_AND_SOURCE,
    SelectionCriterion,
    choose_criterion,
    resampled_values,
    selection_criterion,
    with_transfer_error,
)
from shiftmetrics.comparison.vote_accuracy import vote_accuracy, with_shared_mistakes

WIDEST_RANGE = 0.5
"""A range of the accuracy is shown where it is at most so wide, as a fraction of that from chance to 1."""


def compare_agreement(
    scores: Mapping[str, Any],
    reference_scores: Any = None,
    *,
    labels: Any = None,
    labelled_scores: Mapping[str, Any] | None = None,
    criterion: str = "auto",
    kind: str = "auto",
    prior: Any = "predicted",
    sample_weight: Any = None,
    floor: float | None = None,
    pairing: Align = "labels",
    resampling: Resampling | float = 0.95,
    computing: Computing | None = None,
) -> ComparisonResult:
    """Rank models for use under a shift, with intervals, paired differences and ranks that hold together.

    The criterion follows from what is known. With labels of the pairs it is a score of the shifted predictions; with
    labels of other rows an estimate of it; without labels, of three or more models, the match with their weighted
    vote; of two models, how far each agrees with itself. Without scores of the same rows before the shift (none are
    given, or both samples are the same rows) nothing is estimated from what changes: the vote is that of the shifted
    predictions, with labels of other rows beside the accuracy there, and two models are compared by that accuracy.

    Parameters
    ----------
    scores : mapping of str to array of shape (n_samples, n_classes)
        Each model's scores on the shifted sample, by its name; the same rows for all of them, in memory or not, as in
        `posterior_agreement` (batches hold one sample each). Classes are the names of columns, else their positions.
    reference_scores : mapping of str to array, or array, optional
        Its scores on the original sample, of the same rows; a single array is the reference of all models.
    labels : array of shape (n_samples,), optional
        True classes of the pairs, where the shift keeps them; with ``labelled_scores`` those of the labelled rows.
    labelled_scores : mapping of str to array of shape (n_labelled, n_classes), optional
        Scores of each model, of the same kind, on other rows, which are not shifted and have labels.
    criterion : str, default "auto"
        What models are ranked by. "vote", "agreement_over_ceiling" and "agreement" (as in the papers) need no labels;
        "source_accuracy" is that on the labelled rows, "vote_and_source_accuracy" the mean of both, each over its
        spread among the models;
        "accuracy_and_f1" (their mean, the default where there are labels), "accuracy", "balanced_accuracy",
        "f1_macro", and with labels of the pairs any classification
        scorer of scikit-learn by its name.
    kind : {"auto", "scores", "probabilities", "proportions"}, default "auto"
        What the rows hold, told from the values by default; proportions, such as percentages, are divided by their
        sum.
    prior : array of shape (n_classes,), "uniform" or "predicted", default "predicted"
        Class prior of the agreement; by the uniform one a constant classifier would rank first.
    sample_weight : array of shape (n_samples,), optional
        Non-negative observation weights.
    floor : float, optional
        Smaller probabilities are raised to it.
    pairing : {"labels", "position"}, default "labels"
        Whether tables are matched by row and column labels, over all models, or as they stand.
    resampling : Resampling or float, default 0.95
        Bootstrap resamples, the same for all models; the level is that of the intervals, and of all ranks together.
    computing : Computing, optional
        As in `posterior_agreement`.

    Returns
    -------
    ComparisonResult
        `to_frame` gives the table of models, `differences_frame` that of the pairs. Higher is better.

    Raises
    ------
    TypeError
        If ``scores`` is not a mapping, or holds no numbers.
    ValueError
        If there are fewer than two models, names of models differ, labels are missing for the criterion, or an
        argument of `posterior_agreement` is bad.

    Notes
    -----
    Without labels of these rows, of three or more models, the table has a range of the accuracy too, where it is at
    most half as wide as that from chance to 1: how often a model agrees with the vote of the others, times how often
    that was right on labelled rows, where there are some, with room for mistakes that the models share, as measured
    on other tasks.

    The vote weighs each model by its kappa with the vote of the others, before the shift; the value is the mean of
    accuracy and macro F1 against it. A majority that is wrong together misleads it, and of three models it is no
    safer than agreement over its ceiling. It is found from equal weights, and again from the models' mutual kappas:
    where the two choose differently there are two camps of models, and both are named.

    Labelled rows say what each prediction means, by thirds of its confidence. The estimate combines this with the
    changes of the predictions, and assumes that a prediction changes independently of whether it was right. The error
    of this assumption was measured on other tasks, and widens the intervals of the values; those of differences hold
    for sampling only. In resamples the votes of the rows stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from shiftmetrics import Resampling
    >>> from shiftmetrics.comparison import compare_agreement
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(5, size=500)
    >>> clean = {f"noise {s}": 3.0 * np.eye(5)[truth] + rng.normal(size=(500, 5)) for s in (1, 2, 4)}
    >>> noisy = {f"noise {s}": clean[f"noise {s}"] + s * rng.normal(size=(500, 5)) for s in (1, 2, 4)}
    >>> comparison = compare_agreement(noisy, clean, resampling=Resampling(rng=0))
    >>> [(model.name, model.rank_low, model.rank_high) for model in comparison.models]
    [('noise 1', 1, 1), ('noise 2', 2, 2), ('noise 4', 3, 3)]
    >>> compare_agreement(noisy, clean, labels=truth, criterion="accuracy").compared
    'Accuracy after the shift'
    """
    names = model_names(scores, "scores")
    references = _references(reference_scores, names)
    chosen = always_resampling(resampling)
    # Rows are brought into one order once, so that everything below is paired by position.
    tables = same_rows("scores", scores, pairing)
    options: dict[str, Any] = {
        "kind": kind,
        "prior": prior,
        "sample_weight": sample_weight,
        "floor": floor,
        "pairing": pairing,
    }

    # Without scores from before the shift each sample stands in for its own reference.
    before = references or tables

    pairs = measure_each(
        names, lambda name, _: prepare_pairs(tables[name], before[name], **options), computing
    )
    paired_rows = references is not None and not all(map(same_scores, pairs.values()))
    criterion = choose_criterion(
        criterion,
        len(names),
        labels=labels is not None,
        other_rows=labelled_scores is not None,
        paired=paired_rows,
    )
    if labelled_scores is not None and set(labelled_scores) != set(names):
        got = f"{list(labelled_scores)}"
        raise ArgumentValueError("labelled_scores", f"a mapping with the names {names}", got)
    # Only agreement needs an interval of its own; all other criteria are resampled together.
    robust = criterion in (AGREEMENT, OVER_CEILING)

    def measure(name: str, computing: Computing) -> Any:
        common: dict[str, Any] = {"resampling": chosen if robust else None, "computing": computing}
        return posterior_agreement(tables[name], before[name], **options, **common)

    results = measure_each(names, measure, computing) if paired_rows else {}
    classes = read_model_classes(tables, pairs, labels, labelled_scores, pairing)
    # One numbering of classes for all models, then what each criterion makes of it.
    criteria = _criteria(criterion, classes, list(pairs.values()), paired=paired_rows)
    groups = align_rows(tables[names[0]], chosen.groups, "groups", pairing)
    evaluated = {}
    if criteria:
        progress = computing is None or computing.progress
        aligned = replace(chosen, groups=groups)
        evaluated = resampled_values(criteria, classes, aligned, progress=progress)
    # Estimates err by more than sampling: their intervals allow for what was measured on other tasks.
    if paired_rows and labelled_scores is not None:
        for name in set(evaluated) & set(SCORES):
            evaluated[name] = with_transfer_error(evaluated[name], classes)
    if ESTIMATED_ACCURACY in evaluated:
        estimate = with_shared_mistakes(evaluated[ESTIMATED_ACCURACY], classes)
        evaluated[ESTIMATED_ACCURACY] = estimate
    # In nats only models of the same classes compare; over its ceiling, agreement of any models does.
    if criterion == AGREEMENT:
        check_paired(results)
    paired = evaluated.get(criterion)
    if paired is None:
        # By agreement: its own resamples, of each model over the most that its predictions allow.
        ceilings = [
            result.ceiling or math.inf for result in results.values()
        ]  # of a constant model 0
        scale = 1.0 / np.array(ceilings) if criterion == OVER_CEILING else 1.0
        paired = PairedValues.of(list(results.values()), chosen.rng, chosen.confidence_level, scale)
    title, basis = criterion_in_words(criterion, classes, paired=paired_rows)
    if ESTIMATED_ACCURACY in evaluated:
        basis = f"{basis} {SHARED}"
    secondary_metrics = []
    for model, name in enumerate(names):
        part = results.get(name)
        secondary_metrics.append(_secondary_metrics(model, part, evaluated, classes))
    ranked = rank_models(
        names,
        paired,
        chosen.confidence_level,
        collapsed=collapsed_by_classes(classes, probabilities=pairs[names[0]].kind != "scores"),
        collapsed_last=robust,
        secondary_metrics=secondary_metrics,
        compared=title,
        compared_unit="nats" if criterion == AGREEMENT else "",
        basis=basis,
        wording=_wording(criterion),
        n_samples=pairs[names[0]].n_samples,
        settings={
            **settings_of(
                kind=pairs[names[0]].kind,
                prior=prior_setting(named_prior(prior)),
                sample_weight=sample_weight is not None,
                floor=floor,
                pairing=pairing,
                criterion=criterion,
                paired=paired_rows,
                labels=labels is not None,
                labelled_scores=labelled_scores is not None,
                confidence_level=chosen.confidence_level,
                rng=chosen.rng,
                resampling=chosen.settings(),
            ),
        },
        warnings=(
            *(f"{name}: {text}" for name, result in results.items() for text in result.warnings),
            *unknown_predictions(names, classes),
            *rare_events(names, classes),
        ),
    )
    parts = list(pairs.values())
    if criterion in (VOTE, VOTE_AND_SOURCE, *SCORES):
        ranked = name_tied_winners(ranked, names, classes, _evaluated_by(criterion, parts))
    if criterion == VOTE:
        ranked = name_camps(ranked, names, classes, parts, tables[names[0]])
    if VOTE in evaluated and SOURCE_ACCURACY in evaluated:
        values = evaluated[VOTE].values, evaluated[SOURCE_ACCURACY].values
        ranked = beside_source_accuracy(ranked, names, classes, values, tables[names[0]])
    return ranked


def _references(reference_scores: Any, names: list[str]) -> dict[str, Any] | None:
    """Return the scores before the shift of each model, None where there are none."""
    if reference_scores is None:
        return None
    if not isinstance(reference_scores, Mapping):
        return dict.fromkeys(names, in_chunks(reference_scores, "reference_scores"))
    if set(reference_scores) != set(names):
        got = f"{list(reference_scores)}"
        raise ArgumentValueError("reference_scores", f"a mapping with the names {names}", got)
    return dict(reference_scores)


def _wording(criterion: str) -> tuple[str, str, str]:
    """Return what the first and the higher one are called by a criterion."""
    if criterion in (AGREEMENT, OVER_CEILING):
        return ("models", "steadiest", "steadier")
    if criterion == VOTE_AND_SOURCE:
        return ("models", "first", "higher")
    return AGREES_MOST if criterion == VOTE else ComparisonResult.wording


def _evaluated_by(criterion: str, pairs: list[ScorePairs]) -> Callable[[Classes], FloatArray]:
    """Return the function from classes to the values of the models, of all rows with equal weights."""

    def evaluate(classes: Classes) -> FloatArray:
        n_labelled = 0 if classes.labelled is None else classes.labelled.predictions.shape[1]
        of_weights = selection_criterion(criterion, classes, pairs)
        return of_weights(np.ones(len(classes.weights)), np.ones(n_labelled))

    return evaluate


def _criteria(
    criterion: str, classes: Classes, pairs: list[ScorePairs], *, paired: bool
) -> dict[str, SelectionCriterion]:
    """Return the criteria to evaluate: accuracy is shown beside any other where labels allow it."""
    asked = []
    if criterion not in (AGREEMENT, OVER_CEILING):
        asked.append(criterion)
    if criterion == VOTE_AND_SOURCE:
        asked.append(VOTE)
    if classes.labels is not None:
        asked.append("accuracy" if paired or classes.labelled is None else SOURCE_ACCURACY)
    found = {name: selection_criterion(name, classes, pairs) for name in asked}
    # Labels of these rows, or a chain from labelled ones, say more than a vote.
    labels_say = classes.labels is not None and (paired or classes.labelled is None)
    if len(pairs) > 2 and not labels_say:
        found[ESTIMATED_ACCURACY] = vote_accuracy(classes)
    return found


def _secondary_metrics(
    model: int,
    result: Any,
    evaluated: Mapping[str, PairedValues],
    classes: Classes,
) -> dict[str, float]:
    """Return what the table shows of a model beside the criterion."""
    shown = {}
    if result is not None:
        shown = {
            "unchanged": 1.0 - result.changes.disagreement,
            "agreement": result.value,
            "kappa": result.changes.kappa,
            "ceiling": result.ceiling,
            "normalized": result.normalized,
            "equivalent_error": result.equivalent_error,
        }
    if VOTE in evaluated:
        shown[VOTE] = float(evaluated[VOTE].values[model])
    for name in ("accuracy", SOURCE_ACCURACY):
        if name in evaluated:
            interval = evaluated[name].intervals[model]
            shown[name] = float(evaluated[name].values[model])
            shown[f"{name}_low"] = interval.low
            shown[f"{name}_high"] = interval.high
    # Without labels of these rows a single number would be wrong by .2: a range, where it says something.
    if ESTIMATED_ACCURACY in evaluated:
        interval = evaluated[ESTIMATED_ACCURACY].intervals[model]
        by_chance = 1.0 / classes.n_classes
        if interval.high - interval.low <= WIDEST_RANGE * (1.0 - by_chance):
            shown[f"{ESTIMATED_ACCURACY}_low"] = interval.low
            shown[f"{ESTIMATED_ACCURACY}_high"] = interval.high
    return shown
