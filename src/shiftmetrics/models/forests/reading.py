"""Fitted models and boosters as forests, and the codes that their trees see for categories; imports no library."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics.models.forests.forest import Forest


def forest_of(model: Any) -> Forest | None:
    """Return a fitted model as a forest, or None where it is not made of trees that this package reads.

    Parameters
    ----------
    model : object
        A fitted decision tree, extra tree, random forest, extra trees, gradient boosting or histogram gradient
        boosting of scikit-learn, or a scikit-learn wrapper of XGBoost or LightGBM. Splits are on numbers or on codes
        of categories (see `category_codes`), each leaf has one value, and a classifier has one label.

    Returns
    -------
    Forest or None

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from shiftmetrics.models.forests import forest_of
    >>> model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["no", "yes"])
    >>> forest_of(model).threshold[0].round(6)
    np.float64(0.5)
    """
    libraries = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "xgboost" in libraries and hasattr(model, "get_booster"):
        from shiftmetrics.models.forests.from_xgboost import read_xgboost as read
    elif hasattr(model, "booster_"):
        from shiftmetrics.models.forests.from_lightgbm import read_lightgbm as read
    elif "sklearn" in libraries:
        from shiftmetrics.models.forests.from_sklearn import read_sklearn as read
    else:
        return None
    return read(model)


def category_codes(model: Any) -> Callable[[Any], Any] | None:
    """Return the step of a model from rows to the inputs of its trees, or None where there is none.

    Histogram gradient boosting of scikit-learn puts columns of categories first, as ordinal numbers. LightGBM and
    XGBoost number the categories of a data frame as in training; unknown ones count as missing.
    """
    if getattr(model, "_preprocessor", None) is not None:
        return lambda rows: model._preprocessor.transform(rows)
    booster = getattr(model, "booster_", None)
    if booster is not None:
        lists = getattr(booster, "pandas_categorical", None)
        return None if not lists else lambda rows: _in_order(rows, lists)
    if not _splits_categories(model):
        return None
    known = known_categories(model)
    return lambda rows: _by_position(rows, known)


def known_categories(model: Any) -> dict[int, list[Any]]:
    """Return the categories that a fitted XGBoost model knows, by the position of their column."""
    model = getattr(model, "best_estimator_", model)
    if not _splits_categories(model):
        return {}
    document = json.loads(bytes(model.get_booster().save_raw("json")))
    booster = document["learner"]["gradient_booster"]
    stored = booster.get("gbtree", booster).get("model", {}).get("cats") or {}
    lists = {column: _values(part) for column, part in enumerate(stored.get("enc") or [])}
    return {column: values for column, values in lists.items() if values}


def _splits_categories(model: Any) -> bool:
    """Return whether a model is one of XGBoost with columns of categories."""
    if not type(model).__module__.startswith("xgboost") or not hasattr(model, "get_booster"):
        return False
    return "c" in (model.get_booster().feature_types or ())


def _values(part: Mapping[str, Any]) -> list[Any]:
    """Return stored categories: numbers, or texts as bytes one after another; none where the texts are not whole.

    XGBoost counts characters where it should count bytes, and so cuts texts that are not ASCII.
    """
    if "offsets" not in part:
        return list(part["values"])
    text, ends = bytes(value % 256 for value in part["values"]), part["offsets"]
    return [text[start:stop].decode() for start, stop in pairwise(ends)] if text.isascii() else []


def _in_order(rows: Any, lists: Sequence[Sequence[Any]]) -> Any:
    """Return a table with numbers for its categories: those of the first such column by the first list."""
    places = [k for k, dtype in enumerate(getattr(rows, "dtypes", ())) if str(dtype) == "category"]
    return _by_position(rows, dict(zip(places, lists, strict=False)))


def _by_position(rows: Any, lists: Mapping[int, Sequence[Any]]) -> Any:
    import pandas as pd

    if not isinstance(rows, pd.DataFrame):
        return rows
    columns = {}
    for place, name in enumerate(rows.columns):
        column = rows.iloc[:, place]
        categories = (
            column.cat.categories if isinstance(column.dtype, pd.CategoricalDtype) else None
        )
        known = lists.get(place, categories)
        if known is not None:
            codes = pd.Index(list(known), dtype=object).get_indexer(column.astype(object))
            columns[name] = np.where(codes < 0, np.nan, codes)
        else:
            columns[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return pd.DataFrame(columns)


def estimator_of(model: Any) -> Any:
    """Return a booster as an estimator with labels and probabilities; any other model as it is."""
    library = type(model).__module__.partition(".")[0]
    if type(model).__name__ != "Booster" or library not in ("xgboost", "lightgbm"):
        return model
    if library == "lightgbm":
        objective = model.dump_model(num_iteration=1)["objective"].partition(" ")[0]
        return (LightGBMClassifier if objective in ("binary", "multiclass") else LightGBMRegressor)(
            model
        )
    import xgboost

    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    classifies = objective.startswith(("binary:", "multi:"))
    estimator = (xgboost.XGBClassifier if classifies else xgboost.XGBRegressor)()
    estimator.load_model(bytearray(model.save_raw("ubj")))
    return estimator


class LightGBMRegressor:
    """A booster of LightGBM that predicts values."""

    def __init__(self, booster: Any) -> None:
        self.booster_ = booster
        self.n_features_in_ = booster.num_feature()
        names = booster.feature_name()
        if names != [
            f"Column_{place}" for place in range(len(names))
        ]:  # as it calls columns of arrays
            self.feature_names_in_ = np.array(names, dtype=object)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the output of the booster."""
        return np.asarray(self.booster_.predict(X))


class LightGBMClassifier(LightGBMRegressor):
    """A booster of LightGBM that predicts probabilities; its classes are 0, 1, ..."""

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels."""
        return np.arange(max(2, self.booster_.num_model_per_iteration()))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities of shape (n, n_classes)."""
        output = super().predict(X)
        return np.stack([1.0 - output, output], axis=1) if output.ndim == 1 else output

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))
