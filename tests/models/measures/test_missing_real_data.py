"""Real tables with missing cells: a census where occupations are unknown, defendants without a screening date."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics import feature_stability, model_stability
from shiftmetrics.models import Perturbation
from shiftmetrics.stability import most_sensitive_sample

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def census(data_folder):
    file = data_folder / "tabular_fairness_classics" / "adult.csv.gz"
    table = pd.read_csv(file, na_values="?", skipinitialspace=True).drop(
        columns=["fnlwgt", "education"]
    )
    y = table.pop("income-per-year").str.contains(">").astype(int).to_numpy()
    words = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    return table.astype(dict.fromkeys(words, "category")), y


@pytest.fixture(scope="module")
def defendants(data_folder):
    table = pd.read_csv(data_folder / "tabular_fairness_classics" / "compas_two_years.csv.gz")
    y = table.pop("two_year_recid").to_numpy()
    return table.drop(columns=["is_recid", "c_charge_desc", "age_cat", "score_text"]), y


def split(X, y, n_test):
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: len(X) // 2], order[-n_test:]
    return X.iloc[train], y[train], X.iloc[test], y[test]


def boosting(name):
    if name == "histogram":
        return HistGradientBoostingClassifier(max_iter=40)
    module = pytest.importorskip(name)
    if name == "xgboost":
        return module.XGBClassifier(n_estimators=40, enable_categorical=True, n_jobs=1)
    return module.LGBMClassifier(n_estimators=40, verbose=-1, n_jobs=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["histogram", "xgboost", "lightgbm"])
def test_boosting_that_takes_the_census_as_it_is(census, name) -> None:
    X_train, y_train, X, y = split(*census, 600)
    model = boosting(name).fit(X_train, y_train)
    numbers = [column for column in X if pd.api.types.is_numeric_dtype(X[column])]
    result = model_stability(model, X, y, 0.3, perturbation=Perturbation(integer=numbers))
    assert result.search.route == "ensemble"
    assert 0.3 * result.value < result.lower_bound <= result.value
    moved = result.changed_rows()
    pd.testing.assert_frame_equal(moved.isna(), X.isna())
    pd.testing.assert_series_equal(moved.dtypes, X.dtypes)
    away = result.plan.distances > 0
    assert (model.predict(moved)[away] != y[away]).all()
    assert X["occupation"].isna().sum() > 20
    unknown = np.where(X["occupation"].isna(), "unknown", "known")
    parts = feature_stability(
        model,
        X,
        y,
        0.3,
        perturbation=Perturbation(features=["occupation", "age"], integer=numbers, by=unknown),
    )
    assert {part.kind for part in parts.features} == {"exact"}
    alone = model_stability(
        model,
        X,
        y,
        result.base_risk + 0.02,
        theta2=np.inf,
        perturbation=Perturbation(features=["occupation"]),
    )
    assert alone.kind == "exact"
    changed = most_sensitive_sample(alone).groupby(level=0)["occupation change"].any().loc[X.index]
    assert changed.any()
    assert not changed[X["occupation"].isna()].any()


def test_a_linear_model_on_the_census(census) -> None:
    X_train, y_train, X, y = split(*census, 1500)
    words = X.columns[X.dtypes == "category"].tolist()
    steps = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), words), remainder=StandardScaler()
    )
    model = make_pipeline(steps, LogisticRegression(max_iter=500)).fit(X_train, y_train)
    result = model_stability(model, X, y, 0.3, perturbation=Perturbation(integer=()))
    assert (result.search.route, result.kind) == ("linear", "exact")
    pd.testing.assert_frame_equal(result.changed_rows().isna(), X.isna())
    refused = make_pipeline(
        make_column_transformer((StandardScaler(), ["age"])), LogisticRegression()
    )
    refused.fit(X_train, y_train)
    holes = X.assign(age=X["age"].astype(float).mask(np.arange(len(X)) < 7))
    with pytest.raises(ValueError, match="7 in column 'age'"):
        model_stability(refused, holes, y, 0.3)


@pytest.mark.parametrize("add_indicator", [False, True])
def test_numbers_that_are_missing_stay_out_of_the_shift(defendants, add_indicator) -> None:
    X_train, y_train, X, y = split(*defendants, 1500)
    words = ["sex", "race", "c_charge_degree"]
    numbers = make_pipeline(SimpleImputer(add_indicator=add_indicator), StandardScaler())
    steps = make_column_transformer((OneHotEncoder(), words), remainder=numbers)
    model = make_pipeline(steps, LogisticRegression(max_iter=500)).fit(X_train, y_train)
    gone = X["days_b_screening_arrest"].isna()
    assert gone.sum() > 30
    for loss, threshold in (("zero_one", 0.5), ("log_loss", 0.9)):
        result = model_stability(
            model, X, y, threshold, loss=loss, perturbation=Perturbation(integer=())
        )
        assert (result.search.route, result.kind) == ("linear", "exact")
        moved = result.changed_rows()
        pd.testing.assert_frame_equal(moved.isna(), X.isna())
        said = model.predict_proba(moved)[np.arange(len(y)), y]
        if loss == "log_loss":
            np.testing.assert_allclose(-np.log(said), result.plan.losses, rtol=1e-6, atol=1e-8)
        else:
            assert (said[result.plan.distances > 0] < 0.5 + 1e-9).all()
