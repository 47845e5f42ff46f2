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
    text = bytes(model.get_booster().save_raw("json"))
    document = json.loads(text)
    booster = document["learner"]["gradient_booster"]
    trees = booster.get("gbtree", booster)
    model_part = trees.get("model", {})
    stored = model_part.get("cats") or {}
    known = {}
    for column, part in enumerate(stored.get("enc") or []):
        values = _values(part)
        if values:
            known[column] = values
    return known


def splits_categories(model: Any) -> bool:
    """Return whether a model is one of XGBoost with columns of categories."""
    library = type(model).__module__
    if not library.startswith("xgboost") or not hasattr(model, "get_booster"):
        return False
    kinds = model.get_booster().feature_types or ()
    return "c" in kinds


def _values(part: Mapping[str, Any]) -> list[Any]:
    """Return stored categories: numbers, or strings; none where strings are cut, as XGBoost does if not ASCII."""
    if "offsets" not in part:
        return list(part["values"])
    # Strings stand one after another, as bytes; XGBoost counts characters where it should count bytes.
    joined = bytes(value % 256 for value in part["values"])
    if not joined.isascii():
        return []
    strings = []
    for start, stop in pairwise(part["offsets"]):
        string = joined[start:stop]
        strings.append(string.decode())
    return strings


def estimator_of(model: Any) -> Any:
    """Return a booster as an estimator with labels and probabilities; any other model as it is."""
    library = type(model).__module__.partition(".")[0]
    if type(model).__name__ != "Booster" or library not in ("xgboost", "lightgbm"):
        return model
    if library == "lightgbm":
        dump = model.dump_model(num_iteration=1)
        # Its options follow the name of the objective.
        objective, _, _ = dump["objective"].partition(" ")
        if objective in ("binary", "multiclass"):
            return LightGBMClassifier(model)
        return LightGBMRegressor(model)
    import xgboost

    config = json.loads(model.save_config())
    objective = config["learner"]["objective"]["name"]
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
        of_arrays = [f"Column_{place}" for place in range(len(names))]
        if names != of_arrays:
            self.feature_names_in_ = np.array(names, dtype=object)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the output of the booster."""
        return np.asarray(self.booster_.predict(X))


class LightGBMClassifier(LightGBMRegressor):
    """A booster of LightGBM that predicts probabilities; its classes are 0, 1, ..."""

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The labels."""
        n_outputs = self.booster_.num_model_per_iteration()
        return np.arange(max(2, n_outputs))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return probabilities of shape (n, n_classes)."""
        output = super().predict(X)
        if output.ndim == 1:
            return np.stack([1.0 - output, output], axis=1)
        return output

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row."""
        probabilities = self.predict_proba(X)
        return np.asarray(probabilities.argmax(axis=1))
