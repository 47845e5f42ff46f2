"""Boosters of XGBoost and LightGBM as estimators, and the categories that they know; imports no library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray


def known_categories(model: Any) -> dict[int, list[Any]]:
    """Return the categories that a fitted XGBoost model knows, by the position of their column."""
    model = getattr(model, "best_estimator_", model)
    if not splits_categories(model):
        return {}
    document = json.loads(bytes(model.get_booster().save_raw("json")))
    booster = document["learner"]["gradient_booster"]
    model_part = booster.get("gbtree", booster).get("model", {})
    stored = model_part.get("cats") or {}
    lists = {column: _values(part) for column, part in enumerate(stored.get("enc") or [])}
    return {column: values for column, values in lists.items() if values}


def splits_categories(model: Any) -> bool:
    """Return whether a model is one of XGBoost with columns of categories."""
    if not type(model).__module__.startswith("xgboost") or not hasattr(model, "get_booster"):
        return False
    return "c" in (model.get_booster().feature_types or ())


def _values(part: Mapping[str, Any]) -> list[Any]:
    """Return stored categories: numbers, or strings; none where strings are cut, as XGBoost does if not ASCII."""
    if "offsets" not in part:
        return list(part["values"])
    # Strings stand one after another, as bytes; XGBoost counts characters where it should count bytes.
    joined = bytes(value % 256 for value in part["values"])
    if not joined.isascii():
        return []
    return [joined[start:stop].decode() for start, stop in pairwise(part["offsets"])]


def estimator_of(model: Any) -> Any:
    """Return a booster as an estimator with labels and probabilities; any other model as it is."""
    library = type(model).__module__.partition(".")[0]
    if type(model).__name__ != "Booster" or library not in ("xgboost", "lightgbm"):
        return model
    if library == "lightgbm":
        objective = model.dump_model(num_iteration=1)["objective"].partition(" ")[0]
        if objective in ("binary", "multiclass"):
            return LightGBMClassifier(model)
        return LightGBMRegressor(model)
    import xgboost

    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    estimator = xgboost.XGBRegressor()
    if objective.startswith(("binary:", "multi:")):
        estimator = xgboost.XGBClassifier()
    estimator.load_model(bytearray(model.save_raw("ubj")))
    return estimator


class LightGBMRegressor:
    """A booster of LightGBM that predicts values."""

    def __init__(self, booster: Any) -> None:
        self.booster_ = booster
        self.n_features_in_ = booster.num_feature()
        names = booster.feature_name()
        # Columns of arrays are called so by LightGBM.
        if names != [f"Column_{place}" for place in range(len(names))]:
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
        if output.ndim == 1:
            return np.stack([1.0 - output, output], axis=1)
        return output

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))
