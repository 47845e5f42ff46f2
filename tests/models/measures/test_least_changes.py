"""The least change of one feature that flips a prediction: against every change of every column."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from shiftmetrics.models import Perturbation, least_changes


@pytest.fixture(scope="module")
def town() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "town": rng.choice(["a", "b", "c"], 120),
            "age": rng.integers(20, 80, 120),
            "dose": rng.normal(size=120),
        },
        index=[f"p{k}" for k in range(120)],
    )
    y = (table["town"] == "b") * 1.0 + table["age"] / 40 + 0.5 * table["dose"] > 1.6
    return table, np.where(y, "ill", "well")


@pytest.mark.slow
@pytest.mark.parametrize(
    "last",
    [GradientBoostingClassifier(n_estimators=10, random_state=0), LogisticRegression()],
    ids=["trees", "linear"],
)
def test_changes_are_the_least_of_all(town, last) -> None:
    table, y = town
    steps = make_column_transformer((OneHotEncoder(), ["town"]), remainder=StandardScaler())
    model = make_pipeline(steps, last).fit(table, y)
    moves = Perturbation(immutable=["dose"], cost={"town": 0.5})
    found = least_changes(model, table, perturbation=moves)
    assert found.index.equals(table.index)
    assert found["feature"].isin(["town", "age", None]).all()
    told, unit = model.predict(table), table["age"].std(ddof=0)
    nearest = np.full(len(table), np.inf)
    for age in range(table["age"].min(), table["age"].max() + 1):
        flipped = model.predict(table.assign(age=age)) != told
        far = np.abs(age - table["age"].to_numpy()) / unit
        nearest = np.where(flipped, np.minimum(nearest, far), nearest)
    for name in "abc":
        flipped = model.predict(table.assign(town=name)) != told
        nearest = np.where(flipped, np.minimum(nearest, np.sqrt(0.5)), nearest)
    np.testing.assert_allclose(found["distance"], nearest, rtol=1e-9)
    assert np.isfinite(nearest).sum() > 50
    for row, change in found[np.isfinite(found["distance"])].iterrows():
        changed = table.loc[[row]].assign(**{change["feature"]: change["changed_to"]})
        assert table.loc[row, change["feature"]] == change["value"]
        assert model.predict(changed)[0] == change["prediction"] != told[table.index.get_loc(row)]
    stuck = found[np.isinf(found["distance"])]
    assert stuck[["feature", "value", "changed_to", "prediction"]].isna().all(axis=None)


def test_one_hot_groups_change_as_a_whole_and_any_model_will_do(town) -> None:
    table, y = town
    hot = np.column_stack([pd.get_dummies(table["town"]).to_numpy(dtype=float), table["dose"]])
    model = LogisticRegression().fit(hot, y)
    moves = Perturbation(one_hot=[[0, 1, 2]])
    exact, tried = (
        least_changes(one, hot, perturbation=moves)
        for one in (model, lambda rows: model.predict(rows))
    )
    np.testing.assert_allclose(tried["distance"], exact["distance"], rtol=1e-6)
    group = exact[exact["feature"] == "x0+x1"].iloc[0]
    assert sum(group["value"]) == sum(group["changed_to"]) == 1.0
    assert group["value"] != group["changed_to"]


def test_a_regression_has_no_prediction_to_flip(town) -> None:
    table, _ = town
    model = LinearRegression().fit(table[["age"]], table["dose"])
    with pytest.raises(ValueError, match="'squared' for a regression"):
        least_changes(model, table[["age"]])


def test_a_linear_model_with_a_column_that_flips_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = LogisticRegression().fit(X, X[:, 0] > 0.0)
    model.coef_ = np.array([[2.0, 0.0, 0.5]])
    found = least_changes(model, X, perturbation=Perturbation(bounds=None, cost="unit"))
    margin = np.abs(model.decision_function(X))
    assert set(found["feature"]) == {"x0"}
    np.testing.assert_allclose(found["distance"], margin / 2.0, rtol=1e-9)
    changed = X.copy()
    changed[:, 0] = found["changed_to"].to_numpy(dtype=float)
    assert (model.predict(changed) == found["prediction"].to_numpy(dtype=bool)).all()
    assert (model.predict(changed) != model.predict(X)).all()
