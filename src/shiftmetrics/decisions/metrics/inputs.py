"""Two files of predictions as what a metric takes: all labels, classes by number, the positive class."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from shiftmetrics._core.arrays import FloatArray, IntArray
from shiftmetrics._core.exceptions import ArgumentValueError
from shiftmetrics._core.validation import first_few
from shiftmetrics.decisions.metrics.effects import ClassInputs
from shiftmetrics.decisions.metrics.names import TOP, NamedMetric
from shiftmetrics.decisions.metrics.outputs import OutputInputs
from shiftmetrics.decisions.metrics.own import OwnInputs, typed_names
from shiftmetrics.decisions.predictions.pairs import ClassPair, OutputPair
from shiftmetrics.decisions.predictions.predictions import ServedPredictions
from shiftmetrics.tables.boolean_words import as_booleans, boolean_spelling

SECOND_CLASS = ("the probability of ", "scores of ")
"""How a single column of scores is said: it is that of the positive class."""


def check_all_labelled(pair: ClassPair | OutputPair) -> None:
    """Check that each row has a label.

    Raises
    ------
    ValueError
        If some have none.
    """
    n_missing = int((~pair.rows.known).sum())
    if n_missing:
        got = f"none for {n_missing:,} of {len(pair.rows.known):,} rows"
        remedy = "With few labels compare the accuracy, without a metric: it has a plan of which rows to label."
        raise ArgumentValueError("labels", "given for each row, as a metric needs", got, remedy)


def class_inputs(
    pair: ClassPair, metric: NamedMetric, positive: Any
) -> tuple[ClassInputs, str | None]:
    """Return what a metric of classes takes, and the name of the positive class, where it has one.

    Raises
    ------
    ValueError
        If there are more than two classes, no probabilities, or no positive class where they are needed.
    """
    if metric.needs == "outputs":
        remedy = f"Of classes there are {first_few(('f1', 'balanced_accuracy', 'roc_auc'), 3, show=str)} and others."
        raise ArgumentValueError(
            "metric", "one of classes", f"{metric.name}, of a regression", remedy
        )
    if metric.name == "quadratic_kappa" and typed_names(pair.classes).dtype.kind == "U":
        got = f"{first_few(pair.classes.tolist(), 4)}"
        raise ArgumentValueError("classes", "numbers, whose order is that of the grades", got)
    n_classes = len(pair.classes)
    if metric.name == TOP and metric.n_top >= n_classes:
        got = f"{TOP} of {metric.n_top} among {n_classes} classes, which is always 1"
        remedy = "Of two classes there is accuracy."
        if n_classes > 2:
            remedy = f"Name fewer, such as {TOP}@{n_classes - 1}."
        raise ArgumentValueError("metric", "one that tells answers apart", got, remedy)
    code: int | None = None
    name: str | None = None
    if metric.is_binary:
        code = positive_code(pair, metric, positive)
        name = str(pair.classes[code])
    elif positive is not None:
        raise ArgumentValueError("positive", f"None for {metric.name}", value=positive)
    labels, old, new = pair.labels, pair.old_codes, pair.new_codes
    if metric.name == "quadratic_kappa":
        # Grades by their size, whatever the order of the columns.
        ranks = np.argsort(np.argsort(typed_names(pair.classes)))
        labels, old, new = (ranks[codes] for codes in (labels, old, new))
    probabilities: tuple[FloatArray | None, FloatArray | None] = (None, None)
    if metric.needs == "probabilities":
        probabilities = (
            _probabilities(pair, pair.old, "old"),
            _probabilities(pair, pair.new, "new"),
        )
    inputs = ClassInputs(
        labels=labels, old=old, new=new, n_classes=len(pair.classes),
        old_probabilities=probabilities[0], new_probabilities=probabilities[1], positive=code,
    )  # fmt: skip
    return inputs, name


def _probabilities(pair: ClassPair, side: ServedPredictions, argument: str) -> FloatArray:
    """Return the probabilities of all classes, in the order of the pair's."""
    if not side.has_probabilities:
        remedy = "Metrics of answers are f1, balanced_accuracy and others."
        raise ArgumentValueError(
            argument, "probabilities, as the metric needs", side.form, remedy, verb="hold"
        )
    found = pair.probabilities(side, slice(None))
    places = [pair.old.names.index(name) for name in pair.classes.tolist()]
    # mostly the order is that of the columns, and nothing is copied
    if places == list(range(found.shape[1])):
        return found
    return np.asarray(found[:, places])


def positive_code(pair: ClassPair, metric: NamedMetric, positive: Any) -> int:
    """Return which class is positive: the one that is named, that of a single column, or the true one of two words.

    Raises
    ------
    ValueError
        If there are not two classes, or nothing says which one is positive.
    """
    names = pair.classes.tolist()
    if len(names) != 2:
        other = "roc_auc_ovr" if metric.needs == "probabilities" else f"{metric.name}_macro"
        got = f"{len(names)} of them: {first_few(names, 4)}"
        raise ArgumentValueError(
            "classes", f"two for {metric.name}", got, f"Of more there is {other}."
        )
    if positive is not None:
        if str(positive) not in names:
            raise ArgumentValueError("positive", f"one of {first_few(names, 4)}", value=positive)
        return int(names.index(str(positive)))
    for start in SECOND_CLASS:
        if pair.old.form.startswith(start):
            return int(names.index(pair.old.form.removeprefix(start)))
    spelling = boolean_spelling(names)
    if spelling is not None:
        return as_booleans(names, spelling).index(True)
    # Labels of -1 and 1, as of support vector machines, are no spelling of Booleans.
    numbers = typed_names(pair.classes)
    if numbers.dtype.kind in "if" and sorted(numbers.tolist()) == [-1, 1]:
        return int(numbers.argmax())
    # A wrong guess would give the metric of the other class, and nothing would show it.
    got = f"nothing, and either of {names[0]!r} and {names[1]!r} may be it"
    raise ArgumentValueError(
        "positive", "the class that the metric counts", got, f"Name one: {names[0]} or {names[1]}."
    )


def output_inputs(pair: OutputPair, metric: NamedMetric) -> OutputInputs:
    """Return what a metric of a regression takes.

    Raises
    ------
    ValueError
        If the metric is of classes.
    """
    if metric.needs != "outputs":
        remedy = "Of outputs there are r2, neg_mean_absolute_error and others."
        raise ArgumentValueError(
            "metric", "one of a regression", f"{metric.name}, of classes", remedy
        )
    return OutputInputs(labels=pair.labels, old=pair.old_outputs, new=pair.new_outputs)


def own_inputs(
    pair: ClassPair | OutputPair,
    response: Literal["answers", "probabilities"],
    positive: Any,
    clusters: IntArray | None,
) -> OwnInputs:
    """Return what a function gets: names of classes, probabilities, or outputs."""
    if isinstance(pair, OutputPair):
        return OwnInputs(
            labels=pair.labels,
            old=pair.old_outputs,
            new=pair.new_outputs,
            clusters=clusters,
            are_answers=False,
        )
    names = typed_names(pair.classes)
    labels = names[pair.labels]
    if response == "answers":
        return OwnInputs(
            labels=labels,
            old=names[pair.old_codes],
            new=names[pair.new_codes],
            clusters=clusters,
            are_answers=True,
        )
    both = [
        _probabilities(pair, side, argument)
        for side, argument in ((pair.old, "old"), (pair.new, "new"))
    ]
    # A function of scikit-learn takes the columns in the order of the sorted classes; of two, the positive one.
    order = np.argsort(names)
    if len(names) == 2:
        code = int(order[1])
        if positive is not None:
            # This metric is there for the words of an error alone.
            code = positive_code(pair, NamedMetric(name="roc_auc", needs="probabilities"), positive)
        both = [probabilities[:, code] for probabilities in both]
    else:
        both = [probabilities[:, order] for probabilities in both]
    return OwnInputs(labels=labels, old=both[0], new=both[1], clusters=clusters, are_answers=False)
