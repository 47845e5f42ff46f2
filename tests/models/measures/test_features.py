"""Which columns change together as one feature, and which samples are a subgroup."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.models import (
    Perturbation,
    Search,
    feature_stability,
    model_stability,
)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def boosted(iris):
    return GradientBoostingClassifier(n_estimators=10, random_state=0).fit(*iris)


@pytest.fixture(scope="module")
def town():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "town": rng.choice(["a", "b", "c"], 200),
            "age": rng.normal(50, 20, 200),
            "noise": rng.normal(size=200),
        }
    )
    y = ((table["town"] == "b") * 1.0 + table["age"] / 40 > 1.6).astype(int).to_numpy()
    steps = make_column_transformer(
        (OneHotEncoder(), ["town"]), (StandardScaler(), ["age"]), remainder="passthrough"
    )
    return (
        table,
        y,
        make_pipeline(steps, HistGradientBoostingClassifier(max_iter=10, random_state=0)).fit(
            table, y
        ),
    )


class Wrapped:
    """A model that shows nothing but its predictions."""

    def __init__(self, model):
        self.model, self.classes_ = model, model.classes_
        self.predict, self.predict_proba = model.predict, model.predict_proba


@pytest.mark.slow
def test_categories_are_one_feature_and_flip(town) -> None:
    table, y, model = town
    result = feature_stability(model, table, y, 0.3)
    assert {part.feature for part in result.features} == {"town", "age", "noise"}
    tried = feature_stability(Wrapped(model), table, y, 0.3)
    both = {part.feature: part for part in tried.features}
    for part in result.features:
        np.testing.assert_allclose(both[part.feature].value, part.value, rtol=0.05)
    assert both["town"].kind == "exact"
    hot = np.column_stack([pd.get_dummies(table["town"]).to_numpy(dtype=float), table["age"]])
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(hot, y)
    grouped = feature_stability(tree, hot, y, 0.3, perturbation=Perturbation(one_hot=[[0, 1, 2]]))
    assert {part.feature for part in grouped.features} == {"x0+x1", "x3"}
    assert next(part for part in grouped.features if part.feature == "x0+x1").columns == (
        "x0",
        "x1",
        "x2",
    )


def test_groups_move_together(iris, boosted) -> None:
    X, y = iris
    result = feature_stability(
        boosted,
        X,
        y,
        0.3,
        theta2=0.4,
        perturbation=Perturbation(features={"petal": [2, 3], "sepal": ["x0", "x1"]}),
    )
    assert {part.feature for part in result.features} == {"petal", "sepal"}
    for part in result.features:
        np.testing.assert_allclose(
            part.value,
            model_stability(
                boosted, X, y, 0.3, perturbation=Perturbation(features=list(part.columns))
            ).value,
            rtol=1e-9,
        )
    single = feature_stability(boosted, X, y, 0.3, theta2=0.4)
    best = min(part.value for part in single.features if part.feature in ("x2", "x3"))
    assert next(part for part in result.features if part.feature == "petal").value <= best * (
        1 + 1e-9
    )


@pytest.mark.slow
def test_subgroups_are_the_model_on_their_rows(town) -> None:
    table, y, model = town
    result = feature_stability(
        model,
        table,
        y,
        0.4,
        theta2=0.4,
        perturbation=Perturbation(by="town", cost="unit", bounds=None),
    )
    assert len(result.subgroups) == 3 * (1 + len(result.features))
    for part in result.subgroups:
        rows = ("town = " + table["town"] == part.subgroup).to_numpy()
        assert part.n_samples == rows.sum()
        if part.feature == "age":
            alone = model_stability(
                model,
                table[rows],
                y[rows],
                0.4,
                perturbation=Perturbation(features=["age"], cost="unit", bounds=None),
            )
            np.testing.assert_allclose(part.value, alone.value, rtol=1e-9)
    frame = result.subgroups_frame()
    assert set(frame["feature"]) == {"all features", "town", "age", "noise"}
    assert frame["feature"].iloc[0] == "all features"


@pytest.mark.slow
def test_small_subgroups_are_left_out(town) -> None:
    table, y, model = town
    rare = np.where(np.arange(200) < 12, "few", "many")
    told = feature_stability(
        model, table, y, 0.4, perturbation=Perturbation(by=rare, features=["age"])
    )
    assert {part.subgroup for part in told.subgroups} == {"many"}
    assert "Subgroups of fewer than 30 samples are left out: few (12)." in told.warnings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"perturbation": Perturbation(features=["height"])}, "features must be names"),
        (
            {"perturbation": Perturbation(features=[0], immutable=[0])},
            "features must be columns that may change",
        ),
        ({"perturbation": Perturbation(features=[])}, "at least one column"),
        ({"perturbation": Perturbation(immutable=[0, 1, 2, 3])}, "at least one column"),
        (
            {"perturbation": Perturbation(features={"petal": ["height"]})},
            r"features\['petal'\] must be names",
        ),
        ({"perturbation": Perturbation(features={"petal": []})}, "columns that may change"),
        ({"perturbation": Perturbation(by="town")}, "column of X"),
        ({"perturbation": Perturbation(by=[0, 1])}, "of length 150"),
        ({"perturbation": Perturbation(by=[None] * 150)}, "missing labels"),
        (
            {"perturbation": Perturbation(by=np.arange(150).astype(str))},
            "subgroups of at least 30 samples",
        ),
        ({"computing": Search(method="magic")}, "method must be one of"),
        ({"loss": "hamming"}, "loss must be one of"),
        ({"sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_bad_input_is_named(options, message, iris, boosted) -> None:
    with pytest.raises(ValueError, match=message):
        feature_stability(boosted, *iris, 0.3, **options)
