"""Models of other libraries, for `model_table.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from _model_list import Case, fitted, has


def cases() -> Iterator[Case]:
    """Yield the models of all libraries that are installed."""
    yield from _anything()
    for library, listed in {
        "xgboost": _xgboost,
        "lightgbm": _lightgbm,
        "catboost": _catboost,
        "imblearn": _imbalanced,
        "statsmodels": _statsmodels,
        "pygam": _pygam,
        "ngboost": _ngboost,
        "skl2onnx": _sessions,
        "interpret": _interpret,
    }.items():
        if has(library):
            yield from listed()


def _xgboost() -> Iterator[Case]:
    import xgboost as xgb

    small = {"n_estimators": 8, "max_depth": 3, "n_jobs": 1}
    for booster in ("gbtree", "dart", "gblinear"):
        for data in ("array", "gaps", "float32", "three", "whole", "bool"):
            if booster == "gblinear" and data == "gaps":
                continue
            make = lambda booster=booster: xgb.XGBClassifier(booster=booster, **small)  # noqa: E731
            yield Case(f"xgb {booster} {data}", data, fitted(make))
    yield Case(
        "xgb categories",
        "categories",
        fitted(lambda: xgb.XGBClassifier(enable_categorical=True, **small)),
    )
    yield Case("xgb forest", "array", fitted(lambda: xgb.XGBRFClassifier(n_estimators=8, n_jobs=1)))
    yield Case("xgb missing 0", "whole", fitted(lambda: xgb.XGBClassifier(missing=0.0, **small)))
    yield Case("xgb values", "values", fitted(lambda: xgb.XGBRegressor(**small)), "squared")
    yield Case(
        "xgb counts",
        "counts",
        fitted(lambda: xgb.XGBRegressor(objective="count:poisson", **small)),
        "squared",
    )
    yield Case(
        "xgb ranking",
        "array",
        lambda X, y: xgb.XGBRanker(**small).fit(X, y, qid=np.zeros(len(y))),
        "squared",
    )

    def early(X: Any, y: Any) -> Any:
        model = xgb.XGBClassifier(n_estimators=200, max_depth=3, n_jobs=1, early_stopping_rounds=5)
        return model.fit(X[:60], y[:60], eval_set=[(X[60:], y[60:])], verbose=False)

    yield Case("xgb early stopping", "array", early)
    yield Case("xgb early booster", "array", lambda X, y: early(X, y).get_booster())

    def on(X: Any, y: Any) -> Any:
        more = xgb.XGBClassifier(**small)
        return more.fit(X, y, xgb_model=early(X, y).get_booster())

    yield Case("xgb training on", "array", on)
    yield Case("xgb training on, booster", "array", lambda X, y: on(X, y).get_booster())
    for objective in (
        "binary:logistic",
        "binary:hinge",
        "binary:logitraw",
        "multi:softmax",
        "multi:softprob",
    ):

        def train(X: Any, y: Any, objective: str = objective) -> Any:
            options = {"objective": objective, "max_depth": 3, "nthread": 1}
            if objective.startswith("multi"):
                options["num_class"] = int(y.max()) + 1
            return xgb.train(options, xgb.DMatrix(X, y), 6)

        yield Case(f"xgb train {objective}", "three" if "multi" in objective else "array", train)
    yield Case(
        "xgb slice", "array", lambda X, y: xgb.XGBClassifier(**small).fit(X, y).get_booster()[2:6]
    )


def _lightgbm() -> Iterator[Case]:
    import lightgbm as lgb

    small = {"n_estimators": 8, "num_leaves": 6, "verbose": -1, "n_jobs": 1, "min_child_samples": 5}
    for boosting in ("gbdt", "dart", "rf", "goss"):
        for data in ("array", "gaps", "float32", "three", "bool"):
            more = {"bagging_freq": 1, "bagging_fraction": 0.7} if boosting == "rf" else {}
            make = lambda boosting=boosting, more=more: lgb.LGBMClassifier(  # noqa: E731
                boosting_type=boosting, **small, **more
            )
            yield Case(f"lgb {boosting} {data}", data, fitted(make))
    yield Case("lgb categories", "categories", fitted(lambda: lgb.LGBMClassifier(**small)))
    yield Case(
        "lgb zero missing",
        "whole",
        fitted(lambda: lgb.LGBMClassifier(zero_as_missing=True, **small)),
    )
    yield Case("lgb linear", "array", fitted(lambda: lgb.LGBMClassifier(linear_tree=True, **small)))
    yield Case("lgb values", "values", fitted(lambda: lgb.LGBMRegressor(**small)), "squared")
    yield Case(
        "lgb xentropy",
        "array",
        lambda X, y: lgb.train({"objective": "cross_entropy", "verbose": -1}, lgb.Dataset(X, y), 5),
    )

    def early(X: Any, y: Any) -> Any:
        data, valid = lgb.Dataset(X[:60], y[:60]), lgb.Dataset(X[60:], y[60:])
        options = {"objective": "binary", "verbose": -1, "num_leaves": 6, "min_data_in_leaf": 5}
        return lgb.train(
            options, data, 200, [valid], callbacks=[lgb.early_stopping(4, verbose=False)]
        )

    yield Case("lgb early booster", "array", early)

    def on(X: Any, y: Any) -> Any:
        options = {"objective": "binary", "verbose": -1, "num_leaves": 6, "min_data_in_leaf": 5}
        return lgb.train(options, lgb.Dataset(X, y), 12, init_model=early(X, y))

    yield Case("lgb training on", "array", on)

    def early_wrapper(X: Any, y: Any) -> Any:
        model = lgb.LGBMClassifier(**{**small, "n_estimators": 200})
        return model.fit(
            X[:60],
            y[:60],
            eval_set=[(X[60:], y[60:])],
            callbacks=[lgb.early_stopping(4, verbose=False)],
        )

    yield Case("lgb early wrapper", "array", early_wrapper)
    yield Case("lgb early wrapper booster", "array", lambda X, y: early_wrapper(X, y).booster_)

    def multi(X: Any, y: Any) -> Any:
        options = {"objective": "multiclassova", "num_class": 3, "verbose": -1, "num_leaves": 4}
        return lgb.train(options, lgb.Dataset(X, y), 5)

    yield Case("lgb one against all", "three", multi)


def _catboost() -> Iterator[Case]:
    import catboost

    small = {
        "iterations": 8,
        "depth": 3,
        "verbose": 0,
        "thread_count": 1,
        "allow_writing_files": False,
    }
    for data in ("array", "numbers", "three", "gaps", "float32", "whole", "bool"):
        yield Case(f"catboost {data}", data, fitted(lambda: catboost.CatBoostClassifier(**small)))
    yield Case(
        "catboost lossguide",
        "array",
        fitted(lambda: catboost.CatBoostClassifier(grow_policy="Lossguide", **small)),
    )
    yield Case(
        "catboost words",
        "words",
        lambda X, y: catboost.CatBoostClassifier(cat_features=["b"], **small).fit(X, y),
    )
    yield Case(
        "catboost values", "values", fitted(lambda: catboost.CatBoostRegressor(**small)), "squared"
    )
    yield Case(
        "catboost counts",
        "counts",
        fitted(lambda: catboost.CatBoostRegressor(loss_function="Poisson", **small)),
        "squared",
    )
    yield Case(
        "catboost core",
        "array",
        lambda X, y: catboost.train({"loss_function": "Logloss", **small}, catboost.Pool(X, y)),
    )


def _imbalanced() -> Iterator[Case]:
    from imblearn import ensemble, over_sampling, pipeline, under_sampling
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    make = pipeline.make_pipeline
    smote = over_sampling.SMOTE
    for name, last in {
        "logistic": LogisticRegression(),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    }.items():
        yield Case(
            f"SMOTE first > {name}",
            "array",
            fitted(lambda last=last: make(smote(random_state=0), StandardScaler(), last)),
        )
        yield Case(
            f"SMOTE between > {name}",
            "array",
            fitted(lambda last=last: make(StandardScaler(), smote(random_state=0), last)),
        )
        yield Case(
            f"undersampling nested > {name}",
            "array",
            fitted(
                lambda last=last: make(
                    make(StandardScaler(), under_sampling.RandomUnderSampler(random_state=0)), last
                )
            ),
        )
    for name in (
        "BalancedRandomForestClassifier",
        "BalancedBaggingClassifier",
        "EasyEnsembleClassifier",
        "RUSBoostClassifier",
    ):
        yield Case(
            name,
            "array",
            fitted(lambda name=name: getattr(ensemble, name)(n_estimators=5, random_state=0)),
        )


def _statsmodels() -> Iterator[Case]:
    import statsmodels.api as sm

    for name, model in {"Logit": sm.Logit, "Probit": sm.Probit}.items():
        yield Case(
            f"statsmodels {name}", "array", lambda X, y, model=model: model(y, X).fit(disp=0)
        )
        yield Case(
            f"statsmodels {name} frame",
            "numbers",
            lambda X, y, model=model: model(y, X).fit(disp=0),
        )
    yield Case("statsmodels OLS", "values", lambda X, y: sm.OLS(y, X).fit(), "squared")
    yield Case("statsmodels GLM", "array", lambda X, y: sm.GLM(y, X, sm.families.Binomial()).fit())
    yield Case("statsmodels MNLogit", "three", lambda X, y: sm.MNLogit(y, X).fit(disp=0))
    yield Case("statsmodels RLM", "values", lambda X, y: sm.RLM(y, X).fit(), "squared")

    def formula(X: Any, y: Any) -> Any:
        import statsmodels.formula.api as smf

        return smf.logit("y ~ a + b", X.assign(y=y)).fit(disp=0)

    yield Case("statsmodels formula", "numbers", formula)


def _pygam() -> Iterator[Case]:
    import pygam

    yield Case("pygam logistic", "array", fitted(lambda: pygam.LogisticGAM(n_splines=6)))
    yield Case("pygam linear", "values", fitted(lambda: pygam.LinearGAM(n_splines=6)), "squared")
    yield Case("pygam logistic frame", "numbers", fitted(lambda: pygam.LogisticGAM(n_splines=6)))


def _ngboost() -> Iterator[Case]:
    import ngboost

    options = {"n_estimators": 8, "verbose": False, "random_state": 0}
    yield Case("ngboost classes", "array", fitted(lambda: ngboost.NGBClassifier(**options)))
    yield Case(
        "ngboost values", "values", fitted(lambda: ngboost.NGBRegressor(**options)), "squared"
    )
    yield Case(
        "ngboost three",
        "three",
        fitted(lambda: ngboost.NGBClassifier(Dist=ngboost.distns.k_categorical(3), **options)),
    )


def _interpret() -> Iterator[Case]:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    small = {"max_rounds": 20, "outer_bags": 2, "n_jobs": 1, "max_bins": 16}
    for data in ("array", "numbers", "words", "gaps", "three", "whole", "float32"):
        yield Case(f"ebm {data}", data, fitted(lambda: ExplainableBoostingClassifier(**small)))
    yield Case(
        "ebm mains", "array", fitted(lambda: ExplainableBoostingClassifier(interactions=0, **small))
    )
    yield Case(
        "ebm values", "values", fitted(lambda: ExplainableBoostingRegressor(**small)), "squared"
    )


def _sessions() -> Iterator[Case]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression, Ridge

    def session(make: Any, zipmap: bool) -> Any:
        def fit(X: Any, y: Any) -> Any:
            import onnxruntime
            from skl2onnx import to_onnx

            model = make().fit(X, y)
            options = {}
            if hasattr(model, "classes_"):
                options = {id(model): {"zipmap": zipmap}}
            written = to_onnx(model, X[:1].astype(np.float32), options=options)
            return onnxruntime.InferenceSession(written.SerializeToString())

        return fit

    for zipmap in (False, True):
        yield Case(f"onnx logistic zipmap={zipmap}", "array", session(LogisticRegression, zipmap))
        yield Case(
            f"onnx forest zipmap={zipmap}",
            "array32",
            session(lambda: RandomForestClassifier(4, random_state=0), zipmap),
        )
    yield Case("onnx ridge", "values", session(Ridge, False), "squared")


class OnlyProbabilities:
    """What has probabilities alone, and no tags."""

    def fit(self, X: Any, y: Any) -> OnlyProbabilities:
        self.classes_ = np.unique(y)
        self.centre = np.asarray(X, dtype=np.float64).mean(axis=0)
        return self

    def predict_proba(self, X: Any) -> Any:
        second = 1.0 / (
            1.0 + np.exp(-((np.asarray(X, dtype=np.float64) - self.centre).sum(axis=1)))
        )
        return np.stack([1.0 - second, second], axis=1)


class OnlyPredicts(OnlyProbabilities):
    """What predicts alone."""

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


class Raises(OnlyPredicts):
    """What raises an error of its own for rows out of its range."""

    def predict(self, X: Any) -> Any:
        if (np.asarray(X, dtype=np.float64) > 1.5).any():
            raise RuntimeError("sensor out of range")
        return super().predict(X)


class Tagged(OnlyPredicts):
    """What fails when it is asked for its tags."""

    def __sklearn_tags__(self) -> Any:
        raise NotImplementedError("no tags")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {}


def _anything() -> Iterator[Case]:
    for one in (OnlyProbabilities, OnlyPredicts, Raises, Tagged):
        yield Case(f"own {one.__name__}", "array", fitted(one))
        yield Case(f"own {one.__name__} frame", "numbers", fitted(one))
    yield Case(
        "a function of labels",
        "array",
        lambda X, y: lambda A: (np.asarray(A)[:, 0] > 0.1).astype(int),
    )
    yield Case(
        "a function of scores",
        "array",
        lambda X, y: lambda A: np.stack([-A[:, 0], A[:, 1]], axis=1),
    )
    yield Case(
        "a function of words",
        "array",
        lambda X, y: lambda A: np.where(A[:, 0] > 0.1, 1, 0).tolist(),
    )
    yield Case("a bound method", "array", lambda X, y: OnlyPredicts().fit(X, y).predict)
    yield Case("its probabilities", "array", lambda X, y: OnlyPredicts().fit(X, y).predict_proba)
    yield Case("Raises at some", "array", lambda X, y: Raises().fit(X, y).predict)
