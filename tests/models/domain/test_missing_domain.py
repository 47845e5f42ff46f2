"""Missing cells in the domain, in refusals and in what is told: they stay, units are those of what is there."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from oracles import valid_moves
from rows_with_holes import holes, stays
from shiftmetrics import feature_stability, model_stability
from shiftmetrics.models import Perturbation, Search
from shiftmetrics.models.domain.arguments import domain_of
from shiftmetrics.models.domain.domain import differs
from shiftmetrics.models.domain.table import CodedTable
from shiftmetrics.stability import (
    column_changes,
    most_sensitive_sample,
    stability_criterion,
    stability_curve,
)

# --- the domain --------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 10_000), share=st.floats(0.0, 0.9))
@settings(max_examples=25)
def test_moves_of_rows_with_holes(seed, share) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 4)) * [1.0, 3.0, 2.0, 0.0]
    X[:, 2], X[:, 3] = np.round(X[:, 2]), rng.integers(0, 3, 30)
    X[rng.random(X.shape) < share] = np.nan
    domain = domain_of(
        CodedTable.of(X, categorical=[3], levels={3: range(3)}),
        Perturbation(categorical=[3], bounds={0: (-1.0, 1.0)}, integer=[2]),
    )
    for column in range(3):
        held = X[~np.isnan(X[:, column]), column]
        spread = held.std() if len(held) else 0.0
        assert domain.unit[column] == pytest.approx(spread if spread > 0.0 else 1.0)
    other = rng.permutation(X)
    points = domain.clip(other, X)
    np.testing.assert_array_equal(np.isnan(points), np.isnan(X))
    assert valid_moves(domain, points, X).all()
    kept = np.isnan(other) & ~np.isnan(X)
    fixed = kept & (domain.limits(X)[0] <= X)
    np.testing.assert_array_equal(points[fixed], X[fixed])
    step = np.where(np.isnan(X), 0.0, points - X) / domain.unit
    step[:, 3] = np.where(step[:, 3] != 0, domain.flips[0].distance, 0.0)
    np.testing.assert_allclose(domain.distances(points, X), np.sqrt((step**2).sum(axis=1)))
    assert (domain.distances(X, X) == 0.0).all()
    filled = np.where(np.isnan(X), 0.0, X)
    changed = differs(filled, X).any(axis=1)
    np.testing.assert_array_equal(np.isinf(domain.distances(filled, X)), changed)
    np.testing.assert_array_equal(np.isinf(domain.distances(X, filled)), changed)
    assert not valid_moves(domain, filled, X)[changed].any()
    gaps = domain.squared_gaps(X, other)
    assert (gaps >= 0.0).all()
    for first, second in itertools.product(range(0, 30, 7), range(0, 30, 5)):
        apart = (X[first] - other[second]) / domain.unit
        apart[3] = domain.flips[0].distance * (apart[3] != 0) if np.isfinite(apart[3]) else np.nan
        apart = apart[domain.mutable]
        assert gaps[first, second] == pytest.approx(np.nansum(apart**2), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("cost", ["std", "range", "unit"])
def test_units_are_those_of_the_cells_that_are_there(cost) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 1))
    more = np.concatenate([X, np.full((10, 1), np.nan)])
    np.testing.assert_allclose(
        *(domain_of(CodedTable.of(rows), Perturbation(cost=cost)).unit for rows in (more, X))
    )
    both = domain_of(CodedTable.of(more), Perturbation(bounds="data"))
    assert (both.lower[0], both.upper[0]) == (X.min(), X.max())


def test_columns_that_are_missing_in_every_row_stay(wine) -> None:
    X, y = wine
    empty = X.assign(ash=np.nan, none=pd.Series([None] * len(X), dtype=object))
    domain = domain_of(CodedTable.of(X[["alcohol"]].assign(ash=np.nan)), Perturbation())
    assert domain.mutable.tolist() == [True, False]
    assert domain.warnings == ("Missing in every sample, and so left as they are: columns 'ash'.",)
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    result = model_stability(model, empty.drop(columns="none"), y, 0.5)
    assert "Missing in every sample, and so left as they are: columns 'ash'." in result.warnings
    assert result.changed_rows()["ash"].isna().all()
    told = model_stability(
        lambda rows: np.where(rows["alcohol"] > 13, 1, 0),
        empty,
        y,
        0.9,
        computing=Search(n_queries=40),
    )
    assert told.changed_rows()["none"].isna().all()
    with pytest.raises(ValueError, match="columns that may change"):
        feature_stability(
            model, empty.drop(columns="none"), y, 0.5, perturbation=Perturbation(features=["ash"])
        )


def test_infinite_cells_are_still_refused() -> None:
    with pytest.raises(ValueError, match="finite everywhere, got inf in column 'x0' at row 1"):
        CodedTable.of(np.array([[np.nan, 1.0], [np.inf, 2.0]]))


# --- models that refuse ------------------------------------------------------------------------------------


def test_models_that_take_no_missing_cells_say_which_columns_and_what_to_do(wine) -> None:
    X, y = wine
    model = LogisticRegression(max_iter=5000).fit(X.fillna(X.mean()), y)
    for measure in (model_stability, feature_stability):
        with pytest.raises(ValueError) as caught:
            measure(model, X, y, 0.5)
        message = str(caught.value)
        assert message.startswith(
            "X must be free of missing cells for this LogisticRegression, got "
        )
        for name in X.columns[:3]:
            assert f"{X[name].isna().sum()} in column {name!r}" in message
        assert "and 2 more" in message
        assert "Put an imputer before it in a pipeline, or drop" in message
        assert "Input X contains NaN" in message
        assert isinstance(caught.value.__cause__, ValueError)


def test_errors_that_are_not_about_missing_cells_are_said_of_the_model(wine) -> None:
    X, y = wine

    def broken(rows):
        raise RuntimeError("no such device")

    with pytest.raises(ValueError, match="raises RuntimeError: no such device") as error:
        model_stability(broken, X, y, 0.5)
    assert isinstance(error.value.__cause__, RuntimeError)


def test_models_that_answer_nan_are_refused(wine) -> None:
    X, y = wine
    with pytest.raises(ValueError, match="got .* in column 'alcohol'.*its output is NaN"):
        model_stability(lambda rows: rows["alcohol"] * 1.0, X, y, 0.5, loss="squared")


# --- what is told of it ------------------------------------------------------------------------------------


def test_results_tables_and_curves_of_rows_with_holes(wine) -> None:
    X, y = wine
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    result = model_stability(model, X, y, 0.4)
    stays(result, X)
    sample = most_sensitive_sample(result, splits="heaviest")
    pd.testing.assert_frame_equal(sample[X.columns].isna(), X.isna())
    moves = sample[[name for name in sample if str(name).endswith(" change")]]
    assert np.isfinite(moves.to_numpy()).all()
    missing = X.isna().rename(columns=lambda name: f"{name} change")
    assert (moves.where(missing[moves.columns], 0.0) == 0.0).all().all()
    assert np.isfinite(column_changes(result)["changed_fraction"]).all()
    curve = stability_curve(result.loss, thresholds=[0.3, 0.4, 0.5])
    assert curve.to_frame()["stability"].iloc[1] == pytest.approx(result.value, rel=1e-7)
    back = type(result).from_json(result.to_json())
    pd.testing.assert_frame_equal(
        back.changed_rows(), result.changed_rows(), check_index_type=False
    )
    assert stability_criterion(result.loss, 0.4).value == pytest.approx(result.value)


@pytest.mark.slow
def test_subgroups_by_missing_cells(wine) -> None:
    X, y = wine
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    by = np.where(X["alcohol"].isna(), "unknown", np.where(X["alcohol"] > 13, "strong", "light"))
    parts = feature_stability(model, X, y, 0.4, perturbation=Perturbation(by=by))
    assert {part.subgroup for part in parts.subgroups} == {"unknown", "strong", "light"}


@pytest.mark.slow
@settings(max_examples=10)
@given(seed=st.integers(0, 1000))
def test_order_and_scale_of_rows_with_holes_do_not_matter(seed) -> None:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    y = (X["a"] + X["b"] > 0).astype(int).to_numpy()
    X = holes(X, seed=seed)
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(X, y)
    value = model_stability(model, X, y, 0.6).value
    order = rng.permutation(60)
    assert model_stability(model, X.iloc[order], y[order], 0.6).value == pytest.approx(
        value, rel=1e-9
    )
    scaled = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=1e6)).fit(X, y)
    again = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(C=1e6)).fit(
        X * 1000.0, y
    )
    assert model_stability(again, X * 1000.0, y, 0.6).value == pytest.approx(
        model_stability(scaled, X, y, 0.6).value, rel=1e-4
    )
