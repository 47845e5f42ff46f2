"""Boosters, as XGBoost and LightGBM train them without their classes for scikit-learn, as estimators."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray


def estimator_of(model: Any) -> Any:
    """Return a booster as an estimator with labels and probabilities; any other model as it is."""
    library = type(model).__module__.partition(".")[0]
    if type(model).__name__ != "Booster" or library not in ("xgboost", "lightgbm"):
        return model
    if library == "lightgbm":
        objective = model.dump_model(num_iteration=1)["objective"].partition(" ")[0]
        return (LightGBMClassifier if objective in ("binary", "multiclass") else LightGBMRegressor)(model)
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
        if names != [f"Column_{place}" for place in range(len(names))]:  # as it calls columns of arrays
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
