"""What an audit says of a model: without labels, with some, and how large a mode may become."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import BoolArray, IntArray, is_table
from shiftmetrics._core.validation import describe
from shiftmetrics.decisions.audit_result import SampleChanges
from shiftmetrics.decisions.labelled import (
    LabelledAccuracy,
    ModeAccuracy,
    RightOrWrong,
    labelled_accuracy,
    labels_for_accuracy,
    mode_accuracy,
)
from shiftmetrics.decisions.labels import is_missing, labels_of_table
from shiftmetrics.decisions.matching import as_strings
from shiftmetrics.decisions.model_outputs import ModelOutputs, model_outputs, refuse_regression
from shiftmetrics.decisions.plan import LabelPlan, digest_of, draw_plan, plan_from_text
from shiftmetrics.decisions.tipping import LEAST_LABELS, Tipping, tipping_fraction
from shiftmetrics.decisions.unlabelled import UnlabelledAccuracy, estimate_without_labels

if TYPE_CHECKING:
    import pandas as pd

RowNamer = Callable[[IntArray], npt.NDArray[np.str_]]

_USUAL_HALF_WIDTH = 0.05


@dataclass(frozen=True, eq=False)
class Outputs:
    """What one model says of both samples."""

    reference: ModelOutputs
    current: ModelOutputs


@dataclass(frozen=True, eq=False, kw_only=True)
class Modelled:
    """What an audit says of the model."""

    unlabelled: UnlabelledAccuracy | None = None
    labelled: LabelledAccuracy | None = None
    inside: tuple[ModeAccuracy, ...] = ()
    tipping: tuple[Tipping, ...] = ()
    plan: LabelPlan | None = None
    warnings: tuple[str, ...] = ()


def audited_models(
    model: Any,
    reference: pd.DataFrame,
    current: pd.DataFrame,
    label: str | None,
    time: str | None,
    id_column: str | None,
) -> list[Outputs]:
    """Return what each model says of both samples; a name stands for a column of predictions.

    Raises
    ------
    TypeError, ValueError
        If a model refuses the columns, or a column of predictions is not in both samples.
    """
    models = list(model) if isinstance(model, list | tuple) else [model]
    if not models:
        raise ValueError(describe("model", "a model, or a sequence of at least one", "none"))
    not_features = {name for name in (label, time, id_column) if name is not None}
    not_features |= {each for each in models if isinstance(each, str)}
    found = []
    for each in models:
        if not isinstance(each, str):
            options: dict[str, Any] = {"not_features": not_features}
            sides = [model_outputs(each, frame, **options) for frame in (reference, current)]
        else:
            sides = [_column_outputs(each, frame) for frame in (reference, current)]
        found.append(Outputs(*sides))
    return found


def _column_outputs(name: str, frame: pd.DataFrame) -> ModelOutputs:
    if name not in frame:
        raise ValueError(describe("model", "a model, or a column of both samples", value=name))
    values = frame[name].to_numpy()
    refuse_regression(values, f"model: column {name!r}")
    return ModelOutputs(values, None, np.unique(as_strings(values)))


def judged(
    models: Sequence[Outputs],
    reference: pd.DataFrame,
    current: pd.DataFrame,
    label: str | None,
    labels: Any,
    names: RowNamer,
    changes: SampleChanges,
    *,
    plan: int | str | None,
    threshold: float | None,
    seed: int,
) -> Modelled:
    """Say what is known of the first model, without labels and with those that there are.

    Raises
    ------
    ValueError
        If labels are of samples that are not there, or a plan belongs to others.
    """
    n = len(current)
    everyone = np.arange(n)
    ids = names(everyone)
    if not models:
        # A plan without a model: which samples to label, and nothing to judge yet.
        return Modelled(plan=_drawn(plan, n, digest_of(ids), seed))
    own = models[0]
    digest = digest_of(ids, as_strings(own.current.predicted))
    before = _known(own.reference, reference[label].to_numpy()) if label in reference else None
    values, text = _labels_of(label, labels, current, ids)
    now = None if values is None else _known(own.current, values)
    unlabelled = _without_labels(models, reference, label, changes)
    if text is not None:
        drawn: LabelPlan | None = plan_from_text(text, everyone, n_samples=n, digest=digest)
    else:
        drawn = _drawn(plan, n, digest, seed)
    warnings = []
    labelled = None
    inside: tuple[ModeAccuracy, ...] = ()
    tipping: tuple[Tipping, ...] = ()
    if now is not None and now.known.any():
        found = [mode_accuracy(place, mode.rows, now) for place, mode in enumerate(changes.new)]
        inside = tuple(each for each in found if each is not None)
        if text is not None:
            labelled = labelled_accuracy(now, before, drawn)
        elif not _only_in_modes(changes, now):
            labelled = labelled_accuracy(now, before, None)
            if not now.known.all():
                warnings.append(
                    f"The {int(now.known.sum())} labelled samples are taken as a random part of all: "
                    "they belong to no plan."
                )
        if threshold is not None:
            tipping = _tipping(changes, now, threshold)
    return Modelled(
        unlabelled=unlabelled,
        labelled=labelled,
        inside=inside,
        tipping=tipping,
        plan=drawn,
        warnings=tuple(warnings),
    )


def _only_in_modes(changes: SampleChanges, now: RightOrWrong) -> bool:
    """Return True if all labels are of members of new modes: they tell nothing of the other samples."""
    inside = np.zeros(len(now.known), dtype=bool)
    for mode in changes.new:
        inside[mode.rows] = True
    return bool(not (now.known & ~inside).any() and not inside.all())


def suggested_labels(n_samples: int, accuracy: float) -> int:
    """Return how many labels tell an accuracy to about 5 points."""
    return labels_for_accuracy(n_samples, accuracy, _USUAL_HALF_WIDTH)


def _known(outputs: ModelOutputs, labels: npt.NDArray[Any]) -> RightOrWrong:
    """Return which predictions are right; labels compare by what they look like, 1 and "1" alike."""
    known: BoolArray = ~is_missing(labels)
    right = np.zeros(len(labels), dtype=bool)
    right[known] = as_strings(labels[known]) == as_strings(outputs.predicted[known])
    return RightOrWrong(right, known)


def _labels_of(
    label: str | None, labels: Any, current: pd.DataFrame, ids: npt.NDArray[np.str_]
) -> tuple[npt.NDArray[Any] | None, str | None]:
    """Return the labels of the current samples, and what a file of labels says of its plan."""
    import pandas as pd

    if labels is not None:
        table = labels
        if not is_table(labels):
            if not isinstance(labels, pd.Series):
                expected = "a table of ids and labels, or a Series with ids as its index"
                raise TypeError(describe("labels", expected, type(labels).__name__))
            table = pd.DataFrame({"id": labels.index, "label": labels.to_numpy()})
        known = labels_of_table(table, ids)
        values = known.values.astype(object)
        values[~known.known] = None
        return values, known.plan
    if label is not None and label in current:
        return current[label].to_numpy(), None
    return None, None


def _without_labels(
    models: Sequence[Outputs], reference: pd.DataFrame, label: str | None, changes: SampleChanges
) -> UnlabelledAccuracy | None:
    """Estimate the accuracy without labels, where the reference has labels and the model probabilities."""
    own = models[0]
    if label is None or label not in reference:
        return None
    if own.reference.probabilities is None or own.current.probabilities is None:
        return None
    truth = reference[label].to_numpy()
    known = ~is_missing(truth)
    if not known.any():
        return None
    positions = own.reference.positions(truth[known], f"column {label!r}")
    partners = [
        (_positions(own, other.reference)[known], _positions(own, other.current))
        for other in models[1:]
    ]
    why = "a new mode" if changes.new else ""
    return estimate_without_labels(
        own.reference.probabilities[known],
        positions,
        own.current.probabilities,
        unmatched_fraction=changes.unmatched_fraction,
        partners=partners,
        why_unmatched=why,
    )


def _positions(own: Outputs, other: ModelOutputs) -> IntArray:
    """Return the predictions of another model as positions of the classes of the audited one, -1 for others."""
    places = {str(name): place for place, name in enumerate(own.reference.classes.tolist())}
    return np.array(
        [places.get(str(name), -1) for name in other.predicted.tolist()], dtype=np.int64
    )


def _drawn(plan: int | str | None, n: int, digest: str, seed: int) -> LabelPlan | None:
    if plan is None:
        return None
    if isinstance(plan, str) and plan != "anytime":
        raise ValueError(describe("plan", 'a number of labels, or "anytime"', value=plan))
    mode: Any = "anytime" if plan == "anytime" else "exact"
    n_labels: Any = n if plan == "anytime" else plan
    return draw_plan(
        np.arange(n), n_samples=n, n_labels=n_labels, mode=mode, digest=digest, rng=seed
    )


def _tipping(changes: SampleChanges, now: RightOrWrong, threshold: float) -> tuple[Tipping, ...]:
    """Return how large each new mode may become, where enough of it is labelled and the answer is narrow enough."""
    found = []
    for place, mode in enumerate(changes.new):
        inside = np.zeros(len(now.known), dtype=bool)
        inside[mode.rows] = True
        counts = []
        for chosen in (inside & now.known, ~inside & now.known):
            n = int(chosen.sum())
            counts.append((n - int(now.right[chosen].sum()), n))
        within, without = counts
        if within[1] < LEAST_LABELS or without[1] < 1:
            continue
        tipping = tipping_fraction(within, without, threshold, mode=place, today=mode.fraction)
        if tipping.is_useful:
            found.append(tipping)
    return tuple(found)
