"""The models of `model_table.py`: pipelines of every step with every kind of model, estimators, boosters, networks.

Each is a name, a kind of data, and a function that fits it; what needs a library that is not installed is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

N_ROWS = 120


@dataclass(frozen=True)
class Case:
    """A model to fit: on which data, with which loss."""

    name: str
    data: str
    fit: Callable[[Any, Any], Any]
    loss: str = "zero_one"


def data_of(kind: str, *, n_rows: int = N_ROWS, seed: int = 0) -> tuple[Any, Any]:
    """Return rows and labels of a kind: "numbers", or another dtype, with words, gaps, three classes or values."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n_rows))
    word = rng.choice(["x", "y", "z"], n_rows)
    score = a + 0.7 * b * b - 0.5 + 0.5 * rng.normal(size=n_rows)
    label = (score > 0.2).astype(np.int64)
    frame = pd.DataFrame({"a": a, "b": b})
    if kind == "values":
        return frame.to_numpy(), score
    if kind == "counts":
        return frame.to_numpy(), np.floor(np.exp(np.clip(score, -2.0, 2.0))) + 1.0
    if kind == "three":
        return frame.to_numpy(), np.digitize(score, [-0.5, 0.7])
    if kind == "array":
        return frame.to_numpy(), label
    if kind == "positive":
        return np.exp(0.5 * frame), label
    if kind == "words":
        return frame.assign(b=word), ((a + (word == "x")) > 0.5).astype(np.int64)
    if kind == "categories":
        frame["b"] = pd.Categorical(word)
        return frame, ((a + (word == "x")) > 0.5).astype(np.int64)
    if kind == "gaps":
        return frame.mask(rng.random(frame.shape) < 0.15), label
    if kind == "whole":
        return (frame * 3.0).round(), label
    if kind in ("int8", "uint8", "Int64"):
        return (frame * 3.0 + 9.0).round().astype(kind), label
    if kind == "bool":
        return frame.assign(b=b > 0.3), label
    if kind in ("float16", "float32", "Float64"):
        return frame.astype(kind), label
    if kind == "array32":
        return frame.to_numpy(dtype=np.float32), label
    return frame, label


def cases() -> Iterator[Case]:
    """Yield all models whose libraries are installed."""
    yield from _pipelines()
    yield from _estimators()
    yield from _calibrated()
    yield from _dtypes()
    for module in ("_model_list_foreign", "_model_list_networks"):
        yield from importlib.import_module(module).cases()


def has(library: str) -> bool:
    """Return True if a library is installed."""
    return importlib.util.find_spec(library) is not None


def fitted(make: Callable[[], Any]) -> Callable[[Any, Any], Any]:
    """Return what fits a model that it makes."""
    return lambda X, y: make().fit(X, y)


def last_steps() -> dict[str, Callable[[], Any]]:
    """Return one model of each kind that is read."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "logistic": LogisticRegression,
        "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
        "forest": lambda: RandomForestClassifier(4, max_depth=4, random_state=0),
        "boosting": lambda: HistGradientBoostingClassifier(
            max_iter=5, max_depth=3, min_samples_leaf=5
        ),
        "perceptron": lambda: MLPClassifier((4,), max_iter=60, random_state=0),
        "kernel": SVC,
    }


def steps() -> dict[str, tuple[str, Callable[[], Any]]]:
    """Return steps of preprocessing, with the data that each takes."""
    from sklearn import (
        compose,
        decomposition,
        feature_selection,
        impute,
        kernel_approximation,
        pipeline,
        preprocessing,
        random_projection,
    )

    pre, imp = preprocessing, impute
    column = compose.make_column_transformer
    return {
        "standard": ("numbers", pre.StandardScaler),
        "minmax": ("numbers", pre.MinMaxScaler),
        "minmax clip": ("numbers", lambda: pre.MinMaxScaler((0.2, 0.8), clip=True)),
        "maxabs": ("numbers", pre.MaxAbsScaler),
        "robust": ("numbers", pre.RobustScaler),
        "normalizer": ("numbers", pre.Normalizer),
        "binarizer": ("numbers", lambda: pre.Binarizer(threshold=0.3)),
        "power": ("numbers", pre.PowerTransformer),
        "box-cox": ("positive", lambda: pre.PowerTransformer(method="box-cox")),
        "quantile": ("numbers", lambda: pre.QuantileTransformer(n_quantiles=20)),
        "quantile normal": (
            "numbers",
            lambda: pre.QuantileTransformer(n_quantiles=20, output_distribution="normal"),
        ),
        "bins onehot": ("numbers", lambda: pre.KBinsDiscretizer(6, encode="onehot")),
        "bins dense": (
            "numbers",
            lambda: pre.KBinsDiscretizer(30, encode="onehot-dense", strategy="uniform"),
        ),
        "bins ordinal": (
            "numbers",
            lambda: pre.KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
        ),
        "splines": ("numbers", lambda: pre.SplineTransformer(4)),
        "splines periodic": (
            "numbers",
            lambda: pre.SplineTransformer(4, extrapolation="periodic"),
        ),
        "products": ("numbers", lambda: pre.PolynomialFeatures(2)),
        "interactions": ("numbers", lambda: pre.PolynomialFeatures(2, interaction_only=True)),
        "degree 1": ("numbers", lambda: pre.PolynomialFeatures(1)),
        "onehot numbers": ("whole", lambda: pre.OneHotEncoder(handle_unknown="ignore")),
        "onehot words": (
            "words",
            lambda: column((pre.OneHotEncoder(), ["b"]), remainder="passthrough"),
        ),
        "onehot drop": (
            "words",
            lambda: column((pre.OneHotEncoder(drop="first"), ["b"]), (pre.StandardScaler(), ["a"])),
        ),
        "onehot rare": (
            "words",
            lambda: column((pre.OneHotEncoder(max_categories=2), ["b"]), ("passthrough", ["a"])),
        ),
        "ordinal words": (
            "words",
            lambda: column((pre.OrdinalEncoder(), ["b"]), remainder=pre.StandardScaler()),
        ),
        "ordinal numbers": (
            "whole",
            lambda: pre.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        ),
        "target words": (
            "words",
            lambda: column((pre.TargetEncoder(random_state=0), ["b"]), remainder="passthrough"),
        ),
        "impute mean": ("gaps", imp.SimpleImputer),
        "impute flags": ("gaps", lambda: imp.SimpleImputer(add_indicator=True)),
        "impute zero": (
            "numbers",
            lambda: imp.SimpleImputer(missing_values=0.0, strategy="median"),
        ),
        "impute zero flags": (
            "whole",
            lambda: imp.SimpleImputer(missing_values=0, add_indicator=True),
        ),
        "impute minus": ("whole", lambda: imp.SimpleImputer(missing_values=-1)),
        "impute neighbours": ("gaps", imp.KNNImputer),
        "impute neighbours zero": ("whole", lambda: imp.KNNImputer(missing_values=0)),
        "flags": (
            "whole",
            lambda: pipeline.make_union(
                imp.MissingIndicator(missing_values=0, features="all"), pre.StandardScaler()
            ),
        ),
        "user square": ("numbers", lambda: pre.FunctionTransformer(np.square)),
        "user zero": (
            "numbers",
            lambda: pre.FunctionTransformer(lambda A: np.asarray(A) * (np.asarray(A) != 0.0)),
        ),
        "user at 0.5": (
            "numbers",
            lambda: pre.FunctionTransformer(
                lambda A: np.where(np.asarray(A) == 0.5, 9.0, np.asarray(A))
            ),
        ),
        "log1p": ("positive", lambda: pre.FunctionTransformer(np.log1p)),
        "sqrt": ("positive", lambda: pre.FunctionTransformer(np.sqrt)),
        "floor": ("numbers", lambda: pre.FunctionTransformer(np.floor)),
        "tanh": ("numbers", lambda: pre.FunctionTransformer(np.tanh)),
        "abs": ("numbers", lambda: pre.FunctionTransformer(np.abs)),
        "clip": (
            "numbers",
            lambda: pre.FunctionTransformer(np.clip, kw_args={"min": -0.5, "max": 0.5}),
        ),
        "pca": ("numbers", decomposition.PCA),
        "whitened": ("numbers", lambda: decomposition.PCA(1, whiten=True)),
        "kernel pca": ("numbers", lambda: decomposition.KernelPCA(2, kernel="rbf")),
        "fourier": (
            "numbers",
            lambda: kernel_approximation.RBFSampler(n_components=6, random_state=0),
        ),
        "nystroem": (
            "numbers",
            lambda: kernel_approximation.Nystroem(n_components=6, random_state=0),
        ),
        "projection": (
            "numbers",
            lambda: random_projection.GaussianRandomProjection(2, random_state=0),
        ),
        "select": ("numbers", lambda: feature_selection.SelectKBest(k=1)),
        "variance": ("numbers", feature_selection.VarianceThreshold),
        "drop": (
            "words",
            lambda: column(("drop", ["b"]), remainder="passthrough"),
        ),
        "twice": (
            "numbers",
            lambda: column(
                (pre.StandardScaler(), ["a", "b"]),
                (pre.KBinsDiscretizer(4, encode="onehot-dense"), ["a"]),
            ),
        ),
        "union": (
            "numbers",
            lambda: pipeline.make_union(pre.StandardScaler(), pre.Binarizer(threshold=0.1)),
        ),
        "pandas out": (
            "words",
            lambda: column(
                (pre.OneHotEncoder(sparse_output=False), ["b"]), remainder="passthrough"
            ).set_output(transform="pandas"),
        ),
        "polars out": ("numbers", lambda: pre.StandardScaler().set_output(transform=_frames())),
        "two scalers": (
            "numbers",
            lambda: pipeline.make_pipeline(
                pre.StandardScaler(), "passthrough", pre.PowerTransformer()
            ),
        ),
        "power of pca": (
            "numbers",
            lambda: pipeline.make_pipeline(decomposition.PCA(), pre.PowerTransformer()),
        ),
    }


def _frames() -> str:
    if has("polars"):
        return "polars"
    return "pandas"


def _pipelines() -> Iterator[Case]:
    """Yield every step with four kinds of models."""
    from sklearn.pipeline import make_pipeline

    models = last_steps()
    names = list(models)
    for number, (step, (data, make)) in enumerate(steps().items()):
        for shift in range(4):
            last = names[(number + shift) % len(names)]

            def fit(X: Any, y: Any, make: Any = make, last: str = last) -> Any:
                return make_pipeline(make(), models[last]()).fit(X, y)

            yield Case(f"{step} > {last}", data, fit)


def _estimators() -> Iterator[Case]:
    """Yield every classifier and regression of scikit-learn."""
    from sklearn.utils import all_estimators

    skipped = (
        "GaussianProcess",
        "RadiusNeighbors",
        "Isotonic",
        "Transformed",
        "MultiTask",
        "MultiOutput",
    )
    for kind, data, loss in (
        ("classifier", "array", "zero_one"),
        ("regressor", "values", "squared"),
    ):
        for name, estimator in all_estimators(type_filter=kind):
            if (
                name.startswith(skipped)
                or "CCA" in name
                or name.startswith(("PLS", "ClassifierChain", "RegressorChain"))
            ):
                continue
            source = data
            if (
                any(part in name for part in ("NB", "Poisson", "Gamma", "Tweedie"))
                and "Gaussian" not in name
            ):
                source = "counts" if kind == "regressor" else "uint8"

            def fit(X: Any, y: Any, estimator: Any = estimator) -> Any:
                return _made(estimator).fit(X, y)

            yield Case(name, source, fit, loss)
            if kind == "classifier":
                yield Case(f"{name}, three", "three" if source == "array" else source, fit)


def _calibrated() -> Iterator[Case]:
    """Yield calibrations of one model and of several, of two classes and of three."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import LinearSVC

    for data in ("array", "numbers", "float32", "three"):
        for method in ("sigmoid", "isotonic", "temperature"):
            for ensemble in (False, True):
                make = lambda method=method, ensemble=ensemble: CalibratedClassifierCV(  # noqa: E731
                    LinearSVC(), method=method, ensemble=ensemble
                )
                several = "several" if ensemble else "one"
                yield Case(f"{method} of {several} {data}", data, fitted(make))


_AROUND_ONE = (
    "FixedThresholdClassifier",
    "OneVsOneClassifier",
    "OneVsRestClassifier",
    "OutputCodeClassifier",
    "SelfTrainingClassifier",
    "TunedThresholdClassifierCV",
)


def _made(estimator: Any) -> Any:
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    options: dict[str, Any] = {}
    name = estimator.__name__
    if name in ("StackingClassifier", "VotingClassifier"):
        options["estimators"] = [
            ("a", LogisticRegression()),
            ("b", DecisionTreeClassifier(max_depth=3)),
        ]
    elif name in ("StackingRegressor", "VotingRegressor"):
        options["estimators"] = [("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3))]
    elif name in _AROUND_ONE:
        options["estimator"] = LogisticRegression()
    made = estimator(**options)
    held = made.get_params()
    small = {"n_estimators": 6, "max_iter": 100, "random_state": 0, "min_samples_leaf": 4}
    if name in ("ElasticNet", "Lasso", "QuantileRegressor", "LassoLars"):
        small["alpha"] = 0.01
    if name in ("SVR", "NuSVR", "SVC", "NuSVC"):
        small.pop("max_iter")
    chosen = {key: value for key, value in small.items() if key in held}
    return made.set_params(**chosen)


def _dtypes() -> Iterator[Case]:
    """Yield columns of every dtype with each kind of model."""
    for data in (
        "float16",
        "float32",
        "array32",
        "Float64",
        "int8",
        "uint8",
        "Int64",
        "bool",
        "three",
    ):
        for name, make in last_steps().items():
            yield Case(f"{data} > {name}", data, fitted(make))
