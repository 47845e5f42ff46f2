"""The forms of preprocessing steps, read from their types and attributes: how each column that comes out may change.

A step that jumps where no row stands looks smooth at the rows. So nothing is concluded from values: a step counts as
affine or monotone because its class is on the register below, and whatever is not on it has no form that is known.
The search through outputs answers for those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.reading.estimators import (
    is_of_xgboost,
    is_sampler,
    last_step,
    steps_of,
)
from shiftmetrics.models.reading.model import ModelProblem
from shiftmetrics.models.reading.pieces import Before, Turn, around, turns_of
from shiftmetrics.models.reading.step_forms import (
    REGISTER,
    RISING_IN_RANGE,
    ColumnForm,
    FormName,
    Forms,
    UnknownForm,
)

_LIBRARIES = ("sklearn.", "imblearn.pipeline")


def forms_before(problem: ModelProblem) -> Forms | str:
    """Return the forms of the columns that the last step of a model takes, or why they are not known."""
    return problem.once("forms", _forms_before)


def is_additive(problem: ModelProblem) -> bool:
    """Return True if every column before the last step is a sum over raw columns; else note why not."""
    return _all_named(problem, ("constant", "states", "affine"), "linear in the columns")


def is_monotone(problem: ModelProblem) -> bool:
    """Return True if every column before the last step is a function of raw numbers that trees can cut."""
    return _all_named(
        problem, ("constant", "states", "affine", "monotone", "pieces"), "monotone in pieces"
    )


def turns_before(problem: ModelProblem) -> dict[int, list[Turn]]:
    """Return where the steps before trees turn, by the raw column of numbers."""
    found: dict[int, list[Turn]] = {}
    forms = forms_before(problem)
    if isinstance(forms, str):
        return found
    for form in forms:
        for turn in form.turns:
            (column,) = form.sources
            held = found.setdefault(column, [])
            if turn not in held:
                held.append(turn)
    return found


def _all_named(problem: ModelProblem, names: Sequence[FormName], in_words: str) -> bool:
    forms = forms_before(problem)
    why = ""
    if isinstance(forms, str):
        why = forms
    elif not all(form.name in names for form in forms):
        why = f"A step of the pipeline is not {in_words}."
    if not why:
        return True
    problem.note(f"{why} Changes are searched through the outputs of the model: an upper bound.")
    return False


def _forms_before(problem: ModelProblem) -> Forms | str:
    missing = np.asarray(np.isnan(problem.codes).any(axis=0))
    forms = []
    for column, is_category in enumerate(problem.domain.categorical.tolist()):
        name: FormName = "affine"
        if is_category:
            name = "states"
        forms.append(ColumnForm(name, frozenset([column]), bool(missing[column])))
    model = problem.model
    if not hasattr(model, "steps"):
        return forms
    try:
        before: Before = problem.table.decode
        for step in _steps(model)[:-1]:
            forms = _after(step, forms, before)
            before = _then(before, step)
        _check_width(model, forms)
        if absent_are_missing(problem):
            # Where a number becomes 0, its cell is not kept: that alone is missing.
            turns = [around(0.0)] * len(forms)
            forms = _in_pieces(model.steps[-1][1], forms, turns, before)
    except UnknownForm as unknown:
        return str(unknown)
    if needs_range(model) and not _stays_in_range(problem):
        return "A logarithm or root may be taken outside the range of the data."
    return forms


def absent_are_missing(problem: ModelProblem) -> bool:
    """Return True if a model takes cells that a sparse matrix does not keep, such as those of 0, as missing."""
    return problem.once("absent", _absent_are_missing)


def _absent_are_missing(problem: ModelProblem) -> bool:
    model = problem.model
    if not hasattr(model, "steps") or not is_of_xgboost(last_step(model)):
        return False
    rows = problem.table.decode(problem.codes[:1])
    for step in steps_of(model):
        rows = step.transform(rows)
    return hasattr(rows, "toarray")


def _steps(pipeline: Any) -> list[Any]:
    """Return the steps of a pipeline that take part in predictions, unless its class may do more than that."""
    _check_library(pipeline)
    steps = []
    for _, step in pipeline.steps:
        if step is None or isinstance(step, str) or is_sampler(step):  # "passthrough"
            continue
        steps.append(step)
    return steps


def _check_library(step: Any) -> None:
    kind = type(step)
    # A method that was set on the object itself counts in place of that of its class.
    own = {"transform", "predict", "decision_function"} & set(vars(step))
    if not kind.__module__.startswith(_LIBRARIES) or own:
        raise UnknownForm(f"The form of the step {kind.__name__} is not known.")


def _check_width(model: Any, forms: Forms) -> None:
    """Refuse forms that are not as many as the columns that the last step was fitted on."""
    expected = getattr(model.steps[-1][1], "n_features_in_", len(forms))
    if expected != len(forms):
        raise UnknownForm("The columns between the steps of the pipeline could not be told apart.")


def _then(before: Before, step: Any) -> Before:
    """Return what comes out of a step."""
    return lambda points: step.transform(before(points))


def _after(step: Any, forms: Forms, before: Before) -> Forms:
    """Return the forms after a step, by those before it and what gives it its columns."""
    if isinstance(step, str):
        return forms
    _check_library(step)
    name = type(step).__name__
    if name == "FrozenEstimator":
        return _after(step.estimator, forms, before)
    # A selection takes some columns as they are.
    if hasattr(step, "get_support") and type(step).__module__.startswith("sklearn.feature_sel"):
        return [forms[place] for place in step.get_support(indices=True)]
    several = _SEVERAL.get(name)
    if several is not None:
        return several(step, forms, before)
    rule = REGISTER.get(name)
    if rule is None:
        raise UnknownForm(f"The form of the step {name} is not known.")
    turns = turns_of(step, len(forms))
    if turns is not None:
        forms = _in_pieces(step, forms, turns, before)
    return rule(step, forms)


def _in_pieces(step: Any, forms: Forms, turns: list[list[float]], before: Before) -> Forms:
    """Return the forms of columns that a step takes apart: numbers, each a function of one raw number."""
    after = []
    for place, (form, thresholds) in enumerate(zip(forms, turns, strict=True)):
        if form.is_number and len(form.sources) > 1:
            raise UnknownForm(f"The step {type(step).__name__} bends a sum of several columns.")
        if form.name == "pieces":
            raise UnknownForm(f"The step {type(step).__name__} bends what another one bends.")
        if form.is_number:
            own = tuple(Turn(before, place, threshold) for threshold in thresholds)
            form = replace(form, name="pieces", turns=own)
        after.append(form)
    return after


# Steps of several steps.


def _chosen(step: Any, forms: Forms, before: Before) -> Forms:
    """Follow the columns of a `ColumnTransformer` through its parts, in the order in which these come out."""
    pieces: list[tuple[int, Forms]] = []
    inputs = step._transformer_to_input_indices
    for name, transformer, _ in step.transformers_:
        span = step.output_indices_.get(name)
        if span is None or span.start == span.stop:
            continue
        held = [forms[place] for place in inputs[name]]
        after = _after(transformer, held, _taken(before, inputs[name]))
        if len(after) != span.stop - span.start:
            raise UnknownForm("The columns of a ColumnTransformer could not be told apart.")
        pieces.append((span.start, after))
    pieces.sort(key=lambda piece: piece[0])
    return [form for _, part in pieces for form in part]


def _taken(before: Before, places: Sequence[int]) -> Before:
    """Return some columns of what a step takes."""

    def chosen(points: FloatArray) -> Any:
        rows = before(points)
        if hasattr(rows, "iloc"):
            return rows.iloc[:, list(places)]
        return rows[:, list(places)]

    return chosen


def _united(step: Any, forms: Forms, before: Before) -> Forms:
    after = []
    for _, transformer in step.transformer_list:
        if transformer != "drop":
            after.extend(_after(transformer, forms, before))
    return after


def _piped(step: Any, forms: Forms, before: Before) -> Forms:
    for part in _steps(step):
        forms = _after(part, forms, before)
        before = _then(before, part)
    return forms


_SEVERAL: dict[str, Callable[[Any, Forms, Before], Forms]] = {
    "ColumnTransformer": _chosen,
    "FeatureUnion": _united,
    "Pipeline": _piped,
}
"""Steps of several steps."""

# Functions that have no value below some number.


def needs_range(model: Any) -> bool:
    """Return True if a step takes a logarithm or a root, or a power that numbers below 0 do not have."""
    for step in _all_parts(model):
        function = getattr(step, "func", None)
        power = getattr(step, "method", None)
        if function in RISING_IN_RANGE or power == "box-cox":
            return True
    return False


def _all_parts(step: Any) -> Iterator[Any]:
    yield step
    for name in ("steps", "transformer_list", "transformers_"):
        for part in getattr(step, name, ()):
            # other libraries keep a table of columns under these names
            if isinstance(part, tuple):
                yield from _all_parts(part[1])


def _stays_in_range(problem: ModelProblem) -> bool:
    """Return True if no number may go below those in the rows."""
    domain = problem.domain
    able = domain.mutable & ~domain.categorical
    held = np.where(np.isnan(problem.codes), math.inf, problem.codes)
    smallest = held.min(axis=0)
    return bool((domain.lower[able] >= smallest[able]).all())
