"""The forms of columns, and one rule for each kind of step that says what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from shiftmetrics.models.reading.pieces import Turn, turns_of

FormName = Literal["constant", "states", "affine", "monotone", "pieces"]


@dataclass(frozen=True)
class ColumnForm:
    """How one column depends on the raw columns.

    Attributes
    ----------
    name : {"constant", "states", "affine", "monotone", "pieces"}
        A constant depends on nothing that may change; "states" is any function of one column of categories; "affine"
        a sum over raw columns, with any function of each column of categories; "monotone" a function of one raw
        number that never falls, or never rises; "pieces" one that is monotone between its turns.
    sources : frozenset of int
        The raw columns.
    may_miss : bool
        Whether cells may be missing.
    turns : tuple of Turn
        Where pieces begin.
    """

    name: FormName
    sources: frozenset[int]
    may_miss: bool = False
    turns: tuple[Turn, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether it changes smoothly."""
        return self.name in ("affine", "monotone")


Forms = list[ColumnForm]


class UnknownForm(Exception):  # noqa: N818 - no error of the caller: a search answers
    """A step has no form that is known; the text says which, and why."""


# One rule for each kind of step.


def _same(step: Any, forms: Forms) -> Forms:
    """Scale each column by itself."""
    # A scaler that clips is level beyond the range of the data: monotone, and no longer affine.
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
    if any(form.name in ("monotone", "pieces") for form in forms):
        raise UnknownForm(f"The step {type(step).__name__} adds columns that are not affine.")
    sources: frozenset[int] = frozenset().union(*(form.sources for form in forms))
    n_columns = len(step.get_feature_names_out())
    return [ColumnForm("affine", sources)] * n_columns


def _imputed(step: Any, forms: Forms) -> Forms:
    """Fill missing cells, which stay missing: present ones stay as they are, unless a number stands for missing."""
    _refuse_sentinel(step, forms)
    kept = []
    # A column without any value has no statistic, and is left out unless it is kept as empty.
    dropped = _are_missing(step.statistics_) & (not step.keep_empty_features)
    for form, is_dropped in zip(forms, dropped, strict=True):
        if not is_dropped:
            kept.append(replace(form, may_miss=False))
    return kept + _indicators(step, forms)


def _imputed_together(step: Any, forms: Forms) -> Forms:
    """Fill missing cells by the other columns: without any, all stays as it is."""
    _refuse_sentinel(step, forms)
    if any(form.may_miss for form in forms):
        raise UnknownForm(f"The step {type(step).__name__} fills cells by other columns.")
    return forms + _indicators(step, forms)


def _missing_flags(step: Any, forms: Forms) -> Forms:
    _refuse_sentinel(step, forms)
    if bool(_are_missing([step.missing_values])[0]):
        # What is missing stays missing, so that its flags never change.
        return [ColumnForm("constant", frozenset())] * len(step.features_)
    return [forms[place] for place in step.features_]


def _indicators(step: Any, forms: Forms) -> Forms:
    indicator = getattr(step, "indicator_", None)
    if indicator is None:
        return []
    return _missing_flags(indicator, forms)


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
        # All infrequent categories share one column, and the category that is dropped has none.
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


def _splined(step: Any, forms: Forms) -> Forms:
    _refuse_numbers(step, forms)  # where it is not known where they turn
    each = step.n_features_out_ // len(forms)
    return [form for form in forms for _ in range(each)]


def _function(step: Any, forms: Forms) -> Forms:
    """Map by a function on the list; nothing is known of any other."""
    if step.func is None or turns_of(step, len(forms)) is not None:
        return forms
    # By identity: a function of the same name may be another one.
    if step.kw_args or not any(step.func is known for known in (*_RISING, *RISING_IN_RANGE)):
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
RISING_IN_RANGE = (np.log, np.log10, np.log1p, np.log2, np.sqrt)
"""They have no value below some number."""


REGISTER: dict[str, Callable[[Any, Forms], Forms]] = {
    "StandardScaler": _same,
    "MinMaxScaler": _same,
    "MaxAbsScaler": _same,
    "RobustScaler": _same,
    "Binarizer": _monotone,
    "PowerTransformer": _monotone,
    "QuantileTransformer": _monotone,
    "KBinsDiscretizer": _bins,
    "SplineTransformer": _splined,
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
}
"""The steps of scikit-learn whose forms are known, by the names of their classes."""
