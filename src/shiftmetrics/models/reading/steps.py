"""The forms of preprocessing steps, read from their types and attributes: how each column that comes out may change.

A step that jumps where no row stands looks smooth at the rows. So nothing is concluded from values: a step counts as
affine or monotone because its class is on the register below, and whatever is not on it has no form that is known.
The search through outputs answers for those.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from shiftmetrics.models.reading.estimators import is_sampler
from shiftmetrics.models.reading.model import ModelProblem

FormName = Literal["constant", "states", "affine", "monotone"]
_LIBRARIES = ("sklearn.", "imblearn.pipeline")


@dataclass(frozen=True)
class ColumnForm:
    """How one column depends on the raw columns.

    Attributes
    ----------
    name : {"constant", "states", "affine", "monotone"}
        A constant depends on nothing that may change; "states" is any function of one column of categories; "affine"
        a sum over raw columns, with any function of each column of categories; "monotone" a function of one raw
        number that never falls, or never rises.
    sources : frozenset of int
        The raw columns.
    may_miss : bool
        Whether cells may be missing.
    """

    name: FormName
    sources: frozenset[int]
    may_miss: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it changes smoothly."""
        return self.name in ("affine", "monotone")


Forms = list[ColumnForm]


class UnknownForm(Exception):  # noqa: N818 - no error of the caller: a search answers
    """A step has no form that is known; the text says which, and why."""


def forms_before(problem: ModelProblem) -> Forms | str:
    """Return the forms of the columns that the last step of a model takes, or why they are not known."""
    return problem.once("forms", _forms_before)


def is_additive(problem: ModelProblem) -> bool:
    """Return True if every column before the last step is a sum over raw columns; else note why not."""
    return _all_named(problem, ("constant", "states", "affine"), "linear in the columns")


def is_monotone(problem: ModelProblem) -> bool:
    """Return True if every column before the last step is a function of raw numbers that trees can cut."""
    return _all_named(problem, ("constant", "states", "affine", "monotone"), "monotone")


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
        for step in _steps(model)[:-1]:
            forms = _after(step, forms)
        _check_width(model, forms)
    except UnknownForm as unknown:
        return str(unknown)
    if needs_range(model) and not _stays_in_range(problem):
        return "A logarithm or root may be taken outside the range of the data."
    return forms


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
    own = {"transform", "predict", "decision_function"} & set(vars(step))
    if not kind.__module__.startswith(_LIBRARIES) or own:
        raise UnknownForm(f"The form of the step {kind.__name__} is not known.")


def _check_width(model: Any, forms: Forms) -> None:
    """Refuse forms that are not as many as the columns that the last step was fitted on."""
    expected = getattr(model.steps[-1][1], "n_features_in_", len(forms))
    if expected != len(forms):
        raise UnknownForm("The columns between the steps of the pipeline could not be told apart.")


def _after(step: Any, forms: Forms) -> Forms:
    """Return the forms after a step."""
    if isinstance(step, str):
        return forms
    _check_library(step)
    name = type(step).__name__
    if name == "FrozenEstimator":
        return _after(step.estimator, forms)
    if hasattr(step, "get_support") and type(step).__module__.startswith("sklearn.feature_sel"):
        return [forms[place] for place in step.get_support(indices=True)]
    rule = REGISTER.get(name)
    if rule is None:
        raise UnknownForm(f"The form of the step {name} is not known.")
    return rule(step, forms)


# One rule for each kind of step.


def _same(step: Any, forms: Forms) -> Forms:
    """Scale each column by itself."""
    if getattr(step, "clip", False):
        return _monotone(step, forms)
    return forms


def _monotone(step: Any, forms: Forms) -> Forms:
    """Map each column by a function that never falls; of a sum of several columns that is no form."""
    after = []
    for form in forms:
        if form.is_number and len(form.sources) > 1:
            raise UnknownForm(f"The step {type(step).__name__} bends a sum of several columns.")
        if form.is_number:
            form = replace(form, name="monotone")
        after.append(form)
    return after


def _mixed(step: Any, forms: Forms) -> Forms:
    """Project: every new column is a sum over all."""
    if any(form.name == "monotone" for form in forms):
        raise UnknownForm(f"The step {type(step).__name__} adds columns that are not affine.")
    sources: frozenset[int] = frozenset().union(*(form.sources for form in forms))
    n_columns = len(step.get_feature_names_out())
    return [ColumnForm("affine", sources)] * n_columns


def _imputed(step: Any, forms: Forms) -> Forms:
    """Fill missing cells, which stay missing: present ones stay as they are, unless a number stands for missing."""
    _refuse_sentinel(step, forms)
    kept = []
    dropped = _are_missing(step.statistics_) & (not step.keep_empty_features)
    for form, is_dropped in zip(forms, dropped, strict=True):
        if not is_dropped:
            kept.append(replace(form, may_miss=False))
    return kept + _indicators(step)


def _imputed_together(step: Any, forms: Forms) -> Forms:
    """Fill missing cells by the other columns: without any, all stays as it is."""
    _refuse_sentinel(step, forms)
    if any(form.may_miss for form in forms):
        raise UnknownForm(f"The step {type(step).__name__} fills cells by other columns.")
    return forms + _indicators(step)


def _missing_flags(step: Any, forms: Forms) -> Forms:
    _refuse_sentinel(step, forms)
    return [ColumnForm("constant", frozenset())] * len(step.features_)


def _indicators(step: Any) -> Forms:
    indicator = getattr(step, "indicator_", None)
    if indicator is None:
        return []
    return [ColumnForm("constant", frozenset())] * len(indicator.features_)


def _refuse_sentinel(step: Any, forms: Forms) -> None:
    """Refuse a number that stands for missing: there the step jumps."""
    mark = step.missing_values
    if bool(_are_missing([mark])[0]):
        return
    if any(form.is_number for form in forms):
        name = type(step).__name__
        raise UnknownForm(f"The step {name} jumps at {mark!r}, which stands for a missing cell.")


def _are_missing(values: Any) -> np.ndarray[Any, np.dtype[np.bool_]]:
    import pandas as pd

    return np.asarray(pd.isna(np.asarray(values, dtype=object)))


def _one_hot(step: Any, forms: Forms) -> Forms:
    _refuse_numbers(step, forms)
    infrequent = getattr(step, "infrequent_categories_", None) or [None] * len(forms)
    dropped = getattr(step, "drop_idx_", None)
    after = []
    for place, form in enumerate(forms):
        width = len(step.categories_[place])
        if infrequent[place] is not None:
            width += 1 - len(infrequent[place])
        if dropped is not None and dropped[place] is not None:
            width -= 1
        after.extend([form] * width)
    return after


def _level_numbers(step: Any, forms: Forms) -> Forms:
    _refuse_numbers(step, forms)
    return forms


def _target_means(step: Any, forms: Forms) -> Forms:
    _refuse_numbers(step, forms)
    each = len(step.encodings_) // len(forms)  # one a class, where there are more than two
    return [form for form in forms for _ in range(each)]


def _refuse_numbers(step: Any, forms: Forms) -> None:
    if any(form.is_number for form in forms):
        raise UnknownForm(f"The step {type(step).__name__} takes a column of numbers apart.")


def _bins(step: Any, forms: Forms) -> Forms:
    if step.encode == "ordinal":
        return _monotone(step, forms)
    _refuse_numbers(step, forms)
    return [form for form, n in zip(forms, step.n_bins_, strict=True) for _ in range(n)]


def _function(step: Any, forms: Forms) -> Forms:
    """Map by a function on the list; nothing is known of any other."""
    if step.func is None:
        return forms
    if step.kw_args or not any(step.func is known for known in (*_RISING, *_RISING_IN_RANGE)):
        name = getattr(step.func, "__name__", "its function")
        raise UnknownForm(f"The form of the step FunctionTransformer({name}) is not known.")
    return _monotone(step, forms)


_RISING = (
    np.arcsinh,
    np.arctan,
    np.cbrt,
    np.ceil,
    np.exp,
    np.expm1,
    np.floor,
    np.rint,
    np.sign,
    np.tanh,
)
_RISING_IN_RANGE = (np.log, np.log10, np.log1p, np.log2, np.sqrt)
"""They have no value below some number."""


def _chosen(step: Any, forms: Forms) -> Forms:
    """Follow the columns of a `ColumnTransformer` through its parts, in the order in which these come out."""
    pieces: list[tuple[int, Forms]] = []
    inputs = step._transformer_to_input_indices
    for name, transformer, _ in step.transformers_:
        span = step.output_indices_.get(name)
        if span is None or span.start == span.stop:
            continue
        held = [forms[place] for place in inputs[name]]
        after = _after(transformer, held)
        if len(after) != span.stop - span.start:
            raise UnknownForm("The columns of a ColumnTransformer could not be told apart.")
        pieces.append((span.start, after))
    pieces.sort(key=lambda piece: piece[0])
    return [form for _, part in pieces for form in part]


def _united(step: Any, forms: Forms) -> Forms:
    after = []
    for _, transformer in step.transformer_list:
        if transformer != "drop":
            after.extend(_after(transformer, forms))
    return after


def _piped(step: Any, forms: Forms) -> Forms:
    for part in _steps(step):
        forms = _after(part, forms)
    return forms


REGISTER: dict[str, Callable[[Any, Forms], Forms]] = {
    "StandardScaler": _same,
    "MinMaxScaler": _same,
    "MaxAbsScaler": _same,
    "RobustScaler": _same,
    "Binarizer": _monotone,
    "PowerTransformer": _monotone,
    "QuantileTransformer": _monotone,
    "KBinsDiscretizer": _bins,
    "FunctionTransformer": _function,
    "PCA": _mixed,
    "IncrementalPCA": _mixed,
    "TruncatedSVD": _mixed,
    "FactorAnalysis": _mixed,
    "FastICA": _mixed,
    "LinearDiscriminantAnalysis": _mixed,
    "NeighborhoodComponentsAnalysis": _mixed,
    "GaussianRandomProjection": _mixed,
    "SparseRandomProjection": _mixed,
    "SimpleImputer": _imputed,
    "KNNImputer": _imputed_together,
    "IterativeImputer": _imputed_together,
    "MissingIndicator": _missing_flags,
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _level_numbers,
    "TargetEncoder": _target_means,
    "ColumnTransformer": _chosen,
    "FeatureUnion": _united,
    "Pipeline": _piped,
}
"""The steps of scikit-learn whose forms are known, by the names of their classes."""


# Functions that have no value below some number.


def needs_range(model: Any) -> bool:
    """Return True if a step takes a logarithm or a root, or a power that numbers below 0 do not have."""
    for step in _all_parts(model):
        function = getattr(step, "func", None)
        power = getattr(step, "method", None)
        if function in _RISING_IN_RANGE or power == "box-cox":
            return True
    return False


def _all_parts(step: Any) -> Iterator[Any]:
    yield step
    for name in ("steps", "transformer_list", "transformers_"):
        for part in getattr(step, name, ()):
            yield from _all_parts(part[1])


def _stays_in_range(problem: ModelProblem) -> bool:
    """Return True if no number may go below those in the rows."""
    domain = problem.domain
    able = domain.mutable & ~domain.categorical
    held = np.where(np.isnan(problem.codes), math.inf, problem.codes)
    smallest = held.min(axis=0)
    return bool((domain.lower[able] >= smallest[able]).all())
