"""What an audit says of a model: without labels, with some, and how large a mode may become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import is_table
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics.decisions.audit.labelled import (
    LabelledAccuracy,
    ModeAccuracy,
    labelled_accuracy,
    mode_accuracy,
)
from shiftmetrics.decisions.audit.sample_changes import SampleChanges
from shiftmetrics.decisions.audit.tipping import LEAST_LABELS, Tipping, tipping_fraction
from shiftmetrics.decisions.audit.unlabelled import UnlabelledAccuracy, estimate_without_labels
from shiftmetrics.decisions.labelling.plan import LabelPlan, digest_of, draw_plan, plan_from_text
from shiftmetrics.decisions.predictions.labels import KnownLabels, labels_of_table
from shiftmetrics.decisions.predictions.model_outputs import ModelOutputs, model_outputs
from shiftmetrics.decisions.right_or_wrong import RightOrWrong, right_or_wrong
from shiftmetrics.tables.label_cells import as_strings, is_missing

if TYPE_CHECKING:
    import pandas as pd

Outputs = tuple[ModelOutputs, ModelOutputs]
"""What one model says of the reference, and of the current sample."""

Labels = npt.NDArray[Any] | None
"""Labels of a sample, with gaps where they are not known; None where it has none."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Modelled:
    """What an audit says of the model."""

    unlabelled: UnlabelledAccuracy | None = None
    labelled: LabelledAccuracy | None = None
    inside: tuple[ModeAccuracy, ...] = ()
    tipping: tuple[Tipping, ...] = ()
    warnings: tuple[str, ...] = ()


def known_answers(
    label: str | None,
    labels: Sequence[Any],
    reference: pd.DataFrame,
    current: pd.DataFrame,
    ids: npt.NDArray[np.str_],
) -> tuple[Labels, Labels, str | None]:
    """Return the labels of the reference and of the current sample, and what files of them say of their plan.

    Raises
    ------
    TypeError, ValueError
        If labels are of samples that are not there, or two tables of them contradict each other.
    """
    import pandas as pd

    # A column of labels, where a sample has it.
    before = None
    if label is not None and label in reference:
        before = reference[label].to_numpy()
    if not labels:
        now = None
        if label is not None and label in current:
            now = current[label].to_numpy()
        return before, now, None
    # Labels by id: of files that were filled in, or of series whose index holds the ids.
    values: npt.NDArray[Any] = np.full(len(ids), None, dtype=object)
    plans: list[str] = []
    for table in labels:
        if isinstance(table, pd.Series):
            table = pd.DataFrame({"id": table.index, "label": table.to_numpy()})
        if not is_table(table):
            expected = "a table of ids and labels, or a Series with ids as its index"
            raise ArgumentTypeError("labels", expected, type(table).__name__)
        found = labels_of_table(table, ids)
        _check_no_contradiction(values, found, ids)
        values[found.known] = found.values[found.known]
        if found.plan is not None:
            plans.append(found.plan)
    if len(set(plans)) > 1:
        got = f"{plans[0]!r} and {plans[1]!r}"
        raise ArgumentValueError("labels", "of one plan", got, "Give the files of one plan.")
    return before, values, plans[0] if plans else None


def _check_no_contradiction(
    values: npt.NDArray[Any], found: KnownLabels, ids: npt.NDArray[np.str_]
) -> None:
    """Raise a ValueError if a sample has one label in one table and another one in the next."""
    twice = np.flatnonzero(found.known & ~is_missing(values))
    one, other = as_strings(values[twice]), as_strings(found.values[twice])
    differs = np.flatnonzero(one != other)
    if len(differs):
        place = differs[0]
        got = f"{one[place]} and {other[place]} for {ids[twice[place]]}"
        raise ArgumentValueError("labels", "one label for each sample", got)


def audited_models(
    models: Sequence[Any],
    reference: pd.DataFrame,
    current: pd.DataFrame,
    not_features: Sequence[Any],
) -> list[Outputs]:
    """Return what each model says of both samples; a name stands for a column of predictions.

    Raises
    ------
    TypeError, ValueError
        If a model refuses the columns, or a column of predictions is not in both samples.
    """
    return [
        (
            model_outputs(each, reference, not_features=not_features),
            model_outputs(each, current, not_features=not_features),
        )
        for each in models
    ]


def label_plan(
    models: Sequence[Outputs],
    ids: npt.NDArray[np.str_],
    plan: int | str | None,
    text: str | None,
    seed: int,
) -> LabelPlan | None:
    """Rebuild the plan that labels belong to, or make one: some random samples, or a random order of all.

    Raises
    ------
    ValueError
        If the labels' plan is of other samples or other predictions, or the number is not positive.
    """
    # A plan is one for these samples and these predictions: after either changes, its labels answer another question.
    parts = [ids]
    if models:
        parts.append(as_strings(models[0][1].predicted))
    digest = digest_of(*parts)
    n = len(ids)
    if text is not None:
        return plan_from_text(text, np.arange(n), n_samples=n, digest=digest)
    if plan is None:
        return None
    mode: Any = "exact"
    n_labels: Any = plan
    if isinstance(plan, str):
        if plan != "anytime":
            raise ArgumentValueError("plan", 'a number of labels, or "anytime"', value=plan)
        mode = plan
        n_labels = n
    return draw_plan(
        np.arange(n), n_samples=n, n_labels=n_labels, mode=mode, digest=digest, rng=seed
    )


def judged(
    models: Sequence[Outputs],
    reference_labels: Labels,
    labels: Labels,
    changes: SampleChanges,
    plan: LabelPlan | None,
    threshold: float | None,
) -> Modelled:
    """Say what is known of the first model: without labels, and with the labels that there are.

    Labels of a plan count in its order; others are taken as those of random samples.
    """
    # The first model is the one in question; the others only help to estimate without labels.
    base, sample = models[0]
    unlabelled = _without_labels(models, reference_labels, changes)
    if labels is None or is_missing(labels).all():
        return Modelled(unlabelled=unlabelled)
    now = right_or_wrong(sample.predicted, labels)
    before = None
    if reference_labels is not None:
        before = right_or_wrong(base.predicted, reference_labels)
    # Labels of new modes alone tell nothing of the other samples, and are kept to the modes.
    warnings: tuple[str, ...] = ()
    labelled = None
    if plan is not None or not _only_in_modes(changes, now):
        labelled = labelled_accuracy(now, before, plan)
    if plan is None and labelled is not None and not now.known.all():
        warnings = (
            f"The {labelled.n_labelled} labelled samples are taken as a random part of all: "
            "they belong to no plan.",
        )
    inside = [mode_accuracy(place, mode.rows, now) for place, mode in enumerate(changes.new)]
    return Modelled(
        unlabelled=unlabelled,
        labelled=labelled,
        inside=tuple(each for each in inside if each is not None),
        tipping=() if threshold is None else _tipping(changes, now, threshold),
        warnings=warnings,
    )


def _only_in_modes(changes: SampleChanges, now: RightOrWrong) -> bool:
    """Return True if all labels are of members of new modes: they tell nothing of the other samples."""
    n = len(now.known)
    inside = np.zeros(n, dtype=bool)
    for mode in changes.new:
        inside |= mode.is_member(n)
    return bool(inside[now.known].all() and not inside.all())


def _without_labels(
    models: Sequence[Outputs], labels: Labels, changes: SampleChanges
) -> UnlabelledAccuracy | None:
    """Estimate the accuracy without labels, where the reference has labels and the model probabilities."""
    base, sample = models[0]
    if labels is None or base.probabilities is None or sample.probabilities is None:
        return None
    known = ~is_missing(labels)
    if not known.any():
        return None
    # Classes compare by their places in the audited model; a partner's other classes never agree.
    partners = [
        (base.places(before.predicted[known]), base.places(now.predicted))
        for before, now in models[1:]
    ]
    why = "a new mode" if changes.new else ""
    return estimate_without_labels(
        base.probabilities[known],
        base.codes(labels[known], "the labels of the reference"),
        sample.probabilities,
        unmatched_fraction=changes.unmatched_fraction,
        partners=partners,
        why_unmatched=why,
    )


def _tipping(changes: SampleChanges, now: RightOrWrong, threshold: float) -> tuple[Tipping, ...]:
    """Return how large each new mode may become, where enough of it is labelled and the answer is narrow enough."""
    found = []
    for place, mode in enumerate(changes.new):
        inside = mode.is_member(len(now.known))
        right, n = now.counts(inside)
        right_outside, n_outside = now.counts(~inside)
        # With fewer labels the interval says nothing: on real cases it stayed open in half of them even at 60.
        if n < LEAST_LABELS or n_outside < 1:
            continue
        tipping = tipping_fraction(
            (n - right, n),
            (n_outside - right_outside, n_outside),
            threshold,
            mode=place,
            today=mode.fraction,
        )
        if tipping.is_useful:
            found.append(tipping)
    return tuple(found)
