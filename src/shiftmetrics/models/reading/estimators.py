"""What a fitted model is: an estimator, a pipeline, a network or a booster, and the categories that it knows."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftmetrics._core.arrays import FloatArray
from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError

LEAST_PROBABILITY = float(np.finfo(np.float64).eps)
"""What rounding leaves of 1 minus a probability, as in scikit-learn's ``log_loss``."""

ANSWERS = ("predict_proba", "decision_function")
"""What a classifier without ``predict`` may answer with."""

INTERPRET_CATEGORIES = ("nominal", "ordinal")
"""What explainable boosting machines call columns of categories."""


def steps_of(model: Any, *, last: bool = False) -> Iterator[Any]:
    """Yield the steps of a pipeline; ``last`` includes the final one, or the model itself where it is no pipeline."""
    model = getattr(model, "best_estimator_", model)  # the model inside a search over parameters
    steps = getattr(model, "steps", None)
    if steps is None:
        if last:
            yield model
        return
    if not last:
        steps = steps[:-1]
    for _, step in steps:
        if step is not None and not isinstance(step, str) and not is_sampler(step):  # "passthrough"
            yield from steps_of(step, last=True)


def is_of_sklearn(model: Any) -> bool:
    """Return True if a class of scikit-learn, and no class derived from one, says what a model predicts."""
    return type(model).__module__.startswith("sklearn.")


def is_of_xgboost(model: Any) -> bool:
    """Return True if a model is a scikit-learn wrapper of XGBoost, or derived from one."""
    return "xgboost" in libraries_of(model) and hasattr(model, "get_booster")


def is_of_catboost(model: Any) -> bool:
    """Return True if a model is one of CatBoost."""
    return "catboost" in libraries_of(model) and hasattr(model, "get_all_params")


def is_of_interpret(model: Any) -> bool:
    """Return True if a model is an explainable boosting machine of interpret."""
    return type(model).__module__.startswith("interpret.") and hasattr(model, "term_scores_")


def libraries_of(model: Any) -> set[str]:
    """Return the libraries that a model's class, and those it is derived from, are of."""
    return {cls.__module__.partition(".")[0] for cls in type(model).__mro__}


def is_sampler(step: Any) -> bool:
    """Return True if a step resamples the rows of training alone, so that predictions pass it over."""
    return hasattr(step, "fit_resample") and not hasattr(step, "transform")


def last_step(model: Any) -> Any:
    """Return the estimator at the end of a fitted pipeline or search, or the model itself."""
    *_, last = steps_of(model, last=True)
    return last


def is_module(model: Any) -> bool:
    """Return True if a model is a torch module, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def is_network(model: Any) -> bool:
    """Return True if a model is a torch module, or a fitted estimator that holds one as ``module_``."""
    return is_module(model) or is_module(getattr(model, "module_", None))


def ends_in_network(model: Any) -> bool:
    """Return True if a model, or the last step of its pipeline, is a network of torch or of scikit-learn."""
    final = last_step(model)
    return is_network(final) or hasattr(final, "coefs_")


def least_probability(model: Any) -> float:
    """Return the least probability that a model can tell from 0.

    An average of trees counts votes: half of one. A single tree counts training rows: half of one. Any other model
    has what rounding leaves.
    """
    final = last_step(model)
    module = type(final).__module__
    if module.startswith("sklearn.ensemble._forest"):
        return 0.5 / len(final.estimators_)
    if module.startswith("sklearn.tree"):
        return 0.5 / int(final.tree_.n_node_samples[0])
    return LEAST_PROBABILITY


# Categories.


def encoded_categories(model: Any, names: Sequence[Any]) -> dict[int, list[Any]]:
    """Return the categories of the columns that encoders in the first step of a pipeline take, by position.

    Encoders are transformers with ``categories_``, such as `sklearn.preprocessing.OneHotEncoder`, alone, in a
    pipeline of their own, in a `ColumnTransformer`, or inside histogram gradient boosting.

    Parameters
    ----------
    model : object
        A fitted model; anything but a pipeline of scikit-learn has none.
    names : sequence
        Labels of the columns of the table.
    """
    first = next(steps_of(model), getattr(last_step(model), "_preprocessor", None))
    found: dict[int, list[Any]] = {}
    for transformer, columns in _transformers(first, names):
        for step in steps_of(transformer, last=True):
            categories = getattr(step, "categories_", None)
            if categories is None:
                continue
            if len(categories) == len(columns):
                for place, known in zip(columns, categories, strict=True):
                    # without the category of missing cells
                    listed = np.asarray(known).tolist()
                    found[place] = [v for v in listed if v is not None and v == v]
            break
    return found


def _transformers(step: Any, names: Sequence[Any]) -> Iterator[tuple[Any, list[int]]]:
    """Yield each transformer of a step with the positions of its columns."""
    import pandas as pd

    if step is None:
        return
    parts = getattr(step, "transformers_", None)
    # Other libraries keep something else under that name.
    if not isinstance(parts, list) or any(len(part) != 3 for part in parts):
        yield step, list(range(len(names)))
        return
    positions = pd.DataFrame([range(len(names))], columns=list(names))
    for _, transformer, columns in parts:
        if isinstance(transformer, str):  # "drop", "passthrough"
            continue
        with warnings.catch_warnings():
            # scikit-learn 1.6 announces another form of the columns that remain; both are read
            warnings.simplefilter("ignore", FutureWarning)
            ends = np.ravel(columns).tolist()
        if isinstance(columns, slice):
            ends = [columns.start, columns.stop]
        if any(isinstance(end, str) for end in ends):
            chosen = positions.loc[:, columns]
        else:
            chosen = positions.iloc[:, columns]
        yield transformer, np.ravel(chosen).tolist()


def known_categories(model: Any) -> dict[int, list[Any]]:
    """Return the categories that a fitted XGBoost model knows, by the position of their column."""
    model = getattr(model, "best_estimator_", model)
    if not splits_categories(model):
        return {}
    text = bytes(model.get_booster().save_raw("json"))
    document = json.loads(text)
    booster = document["learner"]["gradient_booster"]
    # Of dart the trees stand one level deeper.
    trees = booster.get("gbtree", booster)
    model_part = trees.get("model", {})
    stored = model_part.get("cats") or {}
    known = {}
    for column, part in enumerate(stored.get("enc") or []):
        values = _values(part)
        if values:
            known[column] = values
    return known


def category_places(model: Any) -> list[int]:
    """Return the positions of columns that a model takes as categories, whatever their dtype."""
    if hasattr(model, "steps"):
        return []
    if is_of_catboost(model):
        return [int(place) for place in model.get_cat_feature_indices()]
    if is_of_interpret(model):
        kinds = enumerate(model.feature_types_in_)
        return [place for place, kind in kinds if kind in INTERPRET_CATEGORIES]
    return []


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


# Boosters as their libraries train them.


def estimator_of(model: Any) -> Any:
    """Return a booster as an estimator with labels and probabilities; any other model as it is."""
    library = type(model).__module__.partition(".")[0]
    if type(model).__name__ != "Booster" or library not in ("xgboost", "lightgbm"):
        return model
    if library == "lightgbm":
        dump = model.dump_model(num_iteration=1)
        # Its options follow the name of the objective; one of the caller's own is not named.
        objective, _, _ = dump.get("objective", "").partition(" ")
        if objective in ("binary", "multiclass", "multiclassova"):
            return LightGBMClassifier(model)
        return LightGBMRegressor(model)
    import xgboost

    config = json.loads(model.save_config())
    objective = config["learner"]["objective"]["name"]
    estimator = xgboost.XGBRegressor()
    if objective.startswith(("binary:", "multi:")):
        estimator = xgboost.XGBClassifier()
    # A booster predicts with all its rounds; its wrapper, with those up to the best one that it finds noted.
    booster = model.copy()
    booster.set_attr(best_iteration=None, best_score=None)
    estimator.load_model(bytearray(booster.save_raw("ubj")))
    return estimator


def check_fitted(model: Any) -> None:
    """Refuse an object that is no fitted model.

    Raises
    ------
    TypeError
        If it neither predicts nor can be called.
    ValueError
        If it is a scikit-learn estimator that was not fitted.
    """
    expected = "a fitted model with predict, or a callable"
    if isinstance(model, type):
        raise ArgumentTypeError("model", expected, f"the class {model.__name__}")
    if hasattr(model, "run") and hasattr(model, "get_inputs"):  # a session of ONNX Runtime
        return
    answers = any(hasattr(model, name) for name in ("predict", *ANSWERS))
    if not (answers or callable(model)):
        raise ArgumentTypeError("model", expected, type(model).__name__)
    if "sklearn" in sys.modules and hasattr(model, "get_params") and hasattr(model, "fit"):
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(model)
        except NotFittedError as error:
            # By the names of its attributes; another library may have other names, and its predictions say it.
            held = set(vars(model)) - set(model.get_params(deep=False))
            if held and not type(model).__module__.startswith("sklearn."):
                return
            got = f"a {type(model).__name__} that is not"
            raise ArgumentValueError("model", "fitted", got, "Call fit first.") from error
        except Exception:  # whatever its tags raise: its predictions say whether it is fitted
            return


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
