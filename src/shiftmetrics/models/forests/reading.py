"""Fitted models and boosters as forests, and the codes that their trees see for categories; imports no library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shiftmetrics.models.forests.forest import Forest
from shiftmetrics.models.reading.estimators import (
    is_of_catboost,
    is_of_interpret,
    is_of_sklearn,
    is_of_xgboost,
    known_categories,
    libraries_of,
    splits_categories,
)


def forest_of(model: Any) -> Forest | None:
    """Return a fitted model as a forest, or None where it is not made of trees that this package reads.

    Parameters
    ----------
    model : object
        A fitted decision tree, extra tree, random forest, extra trees, gradient boosting or histogram gradient
        boosting of scikit-learn; bagging, voting or adaptive boosting of these, also of imbalanced-learn; one of
        these against the rest, or calibrated; a model of CatBoost, an explainable boosting machine, or a scikit-learn
        wrapper of XGBoost or LightGBM. Splits are on numbers or on codes of categories (see `category_codes`), each
        leaf has one value, and a classifier has one label.

    Returns
    -------
    Forest or None

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from shiftmetrics.models.forests import forest_of
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> float(forest_of(model).threshold[0].round(6))
    0.5
    """
    # Committees of trees, of which each is read.
    if type(model).__module__.startswith(("sklearn.ensemble.", "imblearn.ensemble.")):
        from shiftmetrics.models.forests.from_committees import read_committee

        committee = read_committee(model, forest_of)
        if committee is not None:
            return committee
    around = _READERS_AROUND.get(type(model).__name__)
    if around is not None and is_of_sklearn(model):
        return around(model)
    libraries = libraries_of(model)
    if is_of_xgboost(model):
        from shiftmetrics.models.forests.from_xgboost import read_xgboost as read
    elif hasattr(model, "booster_"):
        from shiftmetrics.models.forests.from_lightgbm import read_lightgbm as read
    elif is_of_catboost(model):
        from shiftmetrics.models.forests.from_catboost import read_catboost as read
    elif is_of_interpret(model):
        from shiftmetrics.models.forests.from_interpret import read_interpret as read
    elif "sklearn" in libraries:
        from shiftmetrics.models.forests.from_sklearn import read_sklearn as read
    else:
        return None
    forest = read(model)
    # A classifier that was fitted with an objective of regressions has one value, and no score for each class.
    is_classifier = len(getattr(model, "classes_", ())) > 0
    if forest is not None and is_classifier and forest.link not in ("softmax", "probability"):
        return None
    return forest


def _without_codes(member: Any) -> Forest | None:
    """Return the forest of a model inside another one, which is given no codes of categories."""
    if category_codes(member) is not None:
        return None
    return forest_of(member)


def _one_vs_rest(model: Any) -> Forest | None:
    from shiftmetrics.models.forests.from_one_vs_rest import read_one_vs_rest

    return read_one_vs_rest(model, _without_codes)


def _calibrated(model: Any) -> Forest | None:
    from shiftmetrics.models.forests.from_calibrated import read_calibrated

    return read_calibrated(model, _without_codes)


_READERS_AROUND: dict[str, Callable[[Any], Forest | None]] = {
    "OneVsRestClassifier": _one_vs_rest,
    "CalibratedClassifierCV": _calibrated,
}


def category_codes(model: Any) -> Callable[[Any], Any] | None:
    """Return the step of a model from rows to the inputs of its trees, or None where there is none.

    Histogram gradient boosting of scikit-learn puts columns of categories first, as ordinal numbers. LightGBM and
    XGBoost number the categories of a data frame as in training; unknown ones count as missing. CatBoost says itself
    on which side of each split a category is.
    """
    if getattr(model, "_preprocessor", None) is not None:
        return lambda rows: model._preprocessor.transform(rows)
    if is_of_interpret(model):
        from shiftmetrics.models.forests.from_interpret import codes_of_interpret

        return codes_of_interpret(model)
    if is_of_catboost(model):
        from shiftmetrics.models.forests.from_catboost import codes_of_catboost

        return codes_of_catboost(model)
    booster = getattr(model, "booster_", None)
    if booster is not None:
        lists = getattr(booster, "pandas_categorical", None)
        if not lists:
            return None
        return lambda rows: _in_order(rows, lists)
    if not splits_categories(model):
        return None
    known = known_categories(model)
    return lambda rows: _by_position(rows, known)


def _in_order(rows: Any, lists: Sequence[Sequence[Any]]) -> Any:
    """Return a table with numbers for its categories: those of the first such column by the first list."""
    places = []
    for place, dtype in enumerate(getattr(rows, "dtypes", ())):
        if str(dtype) == "category":
            places.append(place)
    return _by_position(rows, dict(zip(places, lists, strict=False)))


def _by_position(rows: Any, lists: Mapping[int, Sequence[Any]]) -> Any:
    """Return a table with numbers for its categories, by the lists of their columns or their own."""
    import pandas as pd

    if not isinstance(rows, pd.DataFrame):
        return rows
    columns = {}
    for place, name in enumerate(rows.columns):
        column = rows.iloc[:, place]
        known = lists.get(place)
        if known is None and isinstance(column.dtype, pd.CategoricalDtype):
            known = list(column.cat.categories)
        if known is not None:
            # The number of each category in the list; one that is not in it counts as missing.
            index = pd.Index(list(known), dtype=object)
            codes = index.get_indexer(column.astype(object))
            columns[name] = np.where(codes < 0, np.nan, codes)
        else:
            columns[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(columns)
