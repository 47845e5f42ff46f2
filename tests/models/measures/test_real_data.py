"""Linear pipelines on real tables: patients of a hospital, and people of a census."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from oracles import valid_moves
from shiftmetrics.models import Perturbation, model_stability
from shiftmetrics.models.reading.model import problem_of

pytestmark = pytest.mark.realdata

Fitted = tuple[Pipeline, pd.DataFrame, np.ndarray]


@pytest.fixture(scope="module")
def patients(data_folder: Path) -> Fitted:
    table = pd.read_csv(data_folder / "covid_sivep" / "covid_sivep.csv.gz")
    y = table.pop("is_dead").to_numpy()
    X = table.drop(columns="Days_hospital_to_outcome")  # it leaks the outcome
    encode = make_column_transformer(
        (OneHotEncoder(), ["Region", "Ethnicity"]),
        (StandardScaler(), ["Age"]),
        remainder="passthrough",
    )
    train = np.arange(len(X)) % 2 == 0
    model = make_pipeline(encode, LogisticRegression(max_iter=1000)).fit(X[train], y[train])
    return model, X[~train], y[~train]


def check(
    model: Pipeline,
    X: pd.DataFrame,
    y: np.ndarray,
    threshold: float,
    loss: str = "zero_one",
    **options: Any,
) -> float:
    """Solve, and recompute the shifted sample with the model itself."""
    moves = Perturbation(**options)
    result = model_stability(model, X, y, threshold, loss=loss, perturbation=moves)
    problem = problem_of(model, X, y, loss=loss, perturbation=moves)
    assert valid_moves(problem.domain, result.changed.codes, problem.codes).all()
    moved = result.changed_rows()
    assert list(moved.columns) == list(X.columns)
    if loss == "zero_one":
        away = result.plan.distances > 0
        assert away.any()
        assert (model.predict(moved[away]) != y[away]).all()
    else:
        probability = model.predict_proba(moved)[np.arange(len(y)), y]
        np.testing.assert_allclose(-np.log(probability), result.plan.losses, rtol=1e-6, atol=1e-8)
    assert result.search.route == "linear"
    return float(result.value)


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "threshold"), [("zero_one", 0.4), ("log_loss", 0.8)])
def test_patients_in_their_own_columns(patients: Fitted, loss: str, threshold: float) -> None:
    model, X, y = patients
    yes_or_no = [name for name in X if X[name].nunique() == 2]
    numbers = check(model, X, y, threshold, loss=loss, integer=(), bounds=None)
    within = check(model, X, y, threshold, loss=loss, integer=())
    flips = check(model, X, y, threshold, loss=loss, categorical=yes_or_no, integer=())
    years = check(model, X, y, threshold, loss=loss, categorical=yes_or_no)
    assert 0.0 < numbers < within < flips < years


@pytest.mark.slow
def test_people_of_a_later_year(data_folder: Path) -> None:
    table = pd.read_parquet(data_folder / "acs_employment_ma_2015_2018" / "employment.parquet")
    X = table.drop(columns=["employed", "year", "prediction", "predicted_probability"])
    y, first = table["employed"].to_numpy(), (table["year"] == 2015).to_numpy()
    steps = ["AGEP", "SCHL"]
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [name for name in X if name not in steps]),
        (StandardScaler(), steps),
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=2000)).fit(X[first], y[first])
    later = (table["year"] == 2018).to_numpy() & (np.arange(len(y)) % 4 == 0)
    free = {"bounds": None, "integer": ()}
    relaxed = check(model, X[later], y[later], 0.4, **free)
    whole = check(
        model, X[later], y[later], 0.4, integer=steps, bounds={"AGEP": (0, 99), "SCHL": (0, 24)}
    )
    cheap = check(
        model, X[later], y[later], 0.4, cost={"DIS": 0.01, "ESP": 0.02, "SEX": 0.05}, **free
    )
    assert cheap < relaxed < whole
