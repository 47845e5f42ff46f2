"""Forms of steps: by their types alone, and "exact" where an exhaustive search between all edges finds no more."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Perturbation, model_stability
from shiftmetrics.models.reading.model import problem_of
from shiftmetrics.models.reading.steps import forms_before, is_additive, is_monotone

RNG = np.random.default_rng(7)
N = 40
X = pd.DataFrame(
    {
        "a": RNG.normal(1.0, 1.0, N),
        "b": RNG.exponential(1.0, N),
        "c": RNG.choice(["x", "y", "z"], N),
    }
)
Y = np.asarray((X.a + X.b > 2.0) ^ (X.c == "x")).astype(int)
NUMBERS = X[["a", "b"]]


class Scaler(StandardScaler):
    """A class of a user: it may do anything."""


def problem(step: Any, rows: Any = NUMBERS, last: Any = None) -> Any:
    model = make_pipeline(step, last or DecisionTreeClassifier(max_depth=2, random_state=0))
    return problem_of(model.fit(rows, Y), rows, Y)


def on_category(step: Any) -> ColumnTransformer:
    return ColumnTransformer([("c", step, ["c"])], remainder="passthrough")


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(),
        MinMaxScaler(),
        MaxAbsScaler(),
        RobustScaler(),
        SimpleImputer(add_indicator=True),
        KNNImputer(),
        PCA(2),
        SelectKBest(k=1),
        FunctionTransformer(),
        FeatureUnion([("s", StandardScaler()), ("m", MissingIndicator(features="all"))]),
        make_pipeline(StandardScaler(), MinMaxScaler()),
        Binarizer(threshold=1.0),
        PowerTransformer(),
        QuantileTransformer(n_quantiles=9),
        KBinsDiscretizer(3, encode="ordinal", strategy="uniform"),
        FunctionTransformer(np.log1p),
        MinMaxScaler(clip=True),
        SimpleImputer(missing_values=0, add_indicator=True),
        MissingIndicator(missing_values=0, features="all"),
        KBinsDiscretizer(3, strategy="uniform", encode="onehot-dense"),
        SplineTransformer(3),
        FunctionTransformer(np.square),
        make_pipeline(StandardScaler(), FunctionTransformer(np.abs), MinMaxScaler()),
        ColumnTransformer([("s", SplineTransformer(3), ["b"]), ("k", StandardScaler(), ["a"])]),
    ],
    ids=lambda step: type(step).__name__,
)
def test_steps_on_the_register_have_a_form(step: Any) -> None:
    found = problem(step)
    forms = forms_before(found)
    assert not isinstance(forms, str), forms
    width = found.model[:-1].transform(NUMBERS).shape[1]
    assert len(forms) == width
    assert is_monotone(found)


@pytest.mark.parametrize(
    "step",
    [
        KNNImputer(missing_values=0),
        SplineTransformer(5, extrapolation="periodic"),
        make_pipeline(FunctionTransformer(np.abs), KBinsDiscretizer(3, strategy="uniform")),
        make_pipeline(PCA(2), FunctionTransformer(np.abs)),
        make_pipeline(FunctionTransformer(np.square), PCA(2)),
        PolynomialFeatures(2),
        FunctionTransformer(lambda rows: rows * (rows != 0.0)),
        OneHotEncoder(handle_unknown="ignore"),
        Scaler(),
        make_pipeline(PCA(2), PowerTransformer()),
        make_pipeline(StandardScaler(), make_pipeline(Scaler())),
    ],
    ids=lambda step: type(step).__name__,
)
def test_what_is_not_on_it_has_none_and_says_so(step: Any) -> None:
    found = problem(step)
    if type(step).__name__ == "OneHotEncoder":  # numbers that an encoder takes apart are categories
        assert is_monotone(found)
        return
    assert not is_monotone(found)
    assert not is_additive(found)
    assert any("upper bound" in note for note in found.notes)


def test_a_logarithm_needs_numbers_that_stay_where_it_has_a_value() -> None:
    model = make_pipeline(FunctionTransformer(np.log1p), DecisionTreeClassifier(max_depth=2))
    rows = NUMBERS.abs()
    model.fit(rows, Y)
    assert is_monotone(problem_of(model, rows, Y))
    free = Perturbation(bounds=None)
    assert not is_monotone(problem_of(model, rows, Y, perturbation=free))


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first"),
        OneHotEncoder(min_frequency=15, handle_unknown="infrequent_if_exist"),
        OrdinalEncoder(),
        TargetEncoder(),
    ],
    ids=str,
)
def test_encoders_of_categories_are_tables_of_their_levels(encoder: Any) -> None:
    found = problem(on_category(encoder), X)
    forms = forms_before(found)
    assert not isinstance(forms, str), forms
    assert len(forms) == found.model[:-1].transform(X).shape[1]
    assert [form.name for form in forms[-2:]] == ["affine", "affine"]
    assert {form.name for form in forms[:-2]} == {"states"}
    assert is_additive(found)


def nearest_error_by_hand(model: Any, edges: list[np.ndarray]) -> np.ndarray:
    """Try every pair of numbers at and on either side of each edge, and return the nearest error of each row."""
    values = []
    for place, column in enumerate(NUMBERS.columns):
        held = NUMBERS[column].to_numpy()
        near = np.concatenate([edges[place], edges[place] + 1e-9, edges[place] - 1e-9])
        near = near[(held.min() <= near) & (near <= held.max())]
        values.append(near)
    unit = NUMBERS.std(ddof=0).to_numpy()
    nearest = np.empty(N)
    for row, start in enumerate(NUMBERS.to_numpy()):
        first = np.append(values[0], start[0])
        second = np.append(values[1], start[1])
        tried = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
        wrong = model.predict(tried) != Y[row]
        apart = np.linalg.norm((tried - start) / unit, axis=1)
        nearest[row] = np.where(wrong, apart, np.inf).min()
    return nearest


LISTED = (
    lambda: StandardScaler(),
    lambda: RobustScaler(),
    lambda: MinMaxScaler(clip=True),
    lambda: QuantileTransformer(n_quantiles=7),
    lambda: KBinsDiscretizer(5, encode="ordinal", strategy="uniform"),
    lambda: Binarizer(threshold=0.5),
    lambda: FunctionTransformer(np.cbrt),
    lambda: SimpleImputer(),
    lambda: SimpleImputer(missing_values=0),
    lambda: KBinsDiscretizer(5, encode="onehot-dense", strategy="uniform"),
    lambda: SplineTransformer(4),
    lambda: FunctionTransformer(np.abs),
    lambda: make_union(StandardScaler(), MissingIndicator(missing_values=0, features="all")),
)


@pytest.mark.parametrize("seed", range(14))
def test_exact_is_what_an_exhaustive_search_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = [LISTED[k]() for k in rng.integers(len(LISTED), size=rng.integers(1, 3))]
    tree = DecisionTreeClassifier(max_depth=3, random_state=seed)
    model = make_pipeline(*steps, tree).fit(NUMBERS.to_numpy(), Y)
    result = model_stability(model, NUMBERS.to_numpy(), Y, 0.5, resampling=None)
    # Every number at which any step may bend or jump: found by a fine grid over one column at a time, then bisected.
    edges = []
    for place in (0, 1):
        held = NUMBERS.to_numpy()[:, place]
        grid = np.linspace(held.min(), held.max(), 4001)
        probe = np.repeat(NUMBERS.to_numpy()[:1], len(grid), axis=0)
        probe[:, place] = grid
        leaves = [
            tree.tree_.threshold[(tree.tree_.feature == k)]
            for k in range(model[:-1].transform(probe).shape[1])
        ]
        encoded = model[:-1].transform(probe)
        jumps = np.zeros(len(grid) - 1, dtype=bool)
        for k, cuts in enumerate(leaves):
            for cut in cuts:
                jumps |= np.diff((encoded[:, k] <= cut).astype(int)) != 0
        found = np.concatenate([grid[:-1][jumps], grid[1:][jumps], [0.0]])
        edges.append(found)
    by_hand = nearest_error_by_hand(model, edges)
    ours = np.asarray(result.loss.distances)
    if result.kind == "exact":
        assert (ours <= by_hand + 1e-7).all()
        step = (NUMBERS.max() - NUMBERS.min()).max() / 4000 / NUMBERS.std(ddof=0).min()
        finite = np.isfinite(by_hand)
        assert (by_hand[finite] <= ours[finite] + 3.0 * step + 1e-6).all()
    else:
        assert any("upper bound" in text for text in result.warnings)


def test_sorted_rows_do_not_hide_bins() -> None:
    rows = np.sort(RNG.normal(size=(60, 1)), axis=0)
    y = (rows[:, 0] > 0.0).astype(int)
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    model = make_pipeline(bins, DecisionTreeClassifier(random_state=0)).fit(rows, y)
    result = model_stability(model, rows, y, 0.3, resampling=None)
    assert result.kind == "exact"
    changed = np.asarray(result.plan.distances)[:60] > 0
    wrong = model.predict(result.changed_rows()) != y
    assert wrong[changed].all()


def test_a_sentinel_before_a_linear_model_is_searched() -> None:
    model = make_pipeline(SimpleImputer(missing_values=0, add_indicator=True), LogisticRegression())
    result = model_stability(model.fit(NUMBERS, Y), NUMBERS, Y, 0.5, resampling=None)
    assert result.kind == "upper_bound"
    assert any("upper bound" in text for text in result.warnings)
