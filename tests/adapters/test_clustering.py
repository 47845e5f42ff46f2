"""Differential clustering: what is new in clusters, the rest in none, by scikit-learn's conventions."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from shiftmetrics.adapters.sklearn import DifferentialClustering


def samples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three kinds in the sample, the first of which the reference has too; the kind of each row of the sample."""
    rng = np.random.default_rng(0)
    kinds = np.repeat([0, 1, 2], [80, 60, 60])
    centers = np.array([[0.0, 0.0], [8.0, 0.0], [0.0, 8.0]])
    order = rng.permutation(200)
    return (
        (centers[kinds] + rng.normal(size=(200, 2)))[order],
        rng.normal(size=(150, 2)),
        kinds[order],
    )


def agree(labels: np.ndarray, kinds: np.ndarray) -> float:
    """Share of rows whose label goes with their kind: none for the kind that is known."""
    renamed = {np.bincount(kinds[labels == label]).argmax(): label for label in set(labels) - {-1}}
    return float(
        np.mean([label == renamed.get(kind, -1) for label, kind in zip(labels, kinds, strict=True)])
    )


@pytest.mark.slow
def test_new_kinds_are_clusters_and_the_known_one_is_none() -> None:
    x, y, kinds = samples()
    model = DifferentialClustering(bandwidth=2.0).fit(x, reference=y)
    assert model.n_clusters_ == len(model.modes_) == 2
    assert agree(model.labels_, kinds) > 0.95
    np.testing.assert_array_equal(model.predict(x), model.labels_)
    np.testing.assert_array_equal(model.fit_predict(x, reference=y), model.labels_)
    memberships = model.transform(x)
    assert memberships.shape == (200, 2)
    assert memberships.min() >= 0.0
    assert memberships.max() <= 1.0
    assert model.predict([[100.0, 100.0]]).tolist() == [-1]


@pytest.mark.slow
def test_one_array_with_the_origin_of_each_row_gives_the_same() -> None:
    x, y, _ = samples()
    both, origin = np.concatenate([y, x]), np.r_[np.zeros(150, dtype=int), np.ones(200, dtype=int)]
    split = DifferentialClustering(bandwidth=2.0).fit(x, reference=y)
    joint = DifferentialClustering(bandwidth=2.0).fit(both, origin)
    np.testing.assert_array_equal(joint.labels_[150:], split.labels_)
    assert (joint.labels_[:150] == -1).mean() > 0.95


def test_two_samples_of_one_kind_have_no_clusters() -> None:
    rng = np.random.default_rng(2)
    model = DifferentialClustering(bandwidth=1.0, n_resamples=99).fit(
        rng.normal(size=(60, 2)), reference=rng.normal(size=(60, 2))
    )
    assert model.n_clusters_ == 0
    assert model.transform(np.zeros((3, 2))).shape == (3, 0)
    np.testing.assert_array_equal(model.predict(np.zeros((3, 2))), -1)


@pytest.mark.slow
def test_it_is_cloned_and_works_in_a_pipeline_with_names() -> None:
    x, y, kinds = samples()
    table = pd.DataFrame(np.concatenate([y, x]), columns=["length", "width"])
    origin = np.r_[np.zeros(150), np.ones(200)]
    model = DifferentialClustering(bandwidth=0.7, threshold=0.6, random_state=3)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    pipeline = make_pipeline(StandardScaler(), copy).fit(table, origin)
    assert agree(pipeline.predict(table)[150:], kinds) > 0.9
    model.fit(table, origin)
    assert list(model.feature_names_in_) == ["length", "width"]
    assert list(model.get_feature_names_out()) == [f"mode{i + 1}" for i in range(model.n_clusters_)]
    model.set_output(transform="pandas")
    assert list(model.transform(table).columns) == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"width": "height"}))


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        ({}, {}, "reference"),
        ({"y": [0, 1] * 5, "reference": np.ones((4, 2))}, {}, "both"),
        ({"y": [0, 2] * 5}, {}, "y must be 0"),
        ({"y": [1] * 10}, {}, "two rows of each"),
        ({"y": [1, 0]}, {}, "shape"),
        ({"reference": np.ones((4, 3))}, {}, "features"),
        ({"y": [0, 1] * 5}, {"threshold": 0.0}, "threshold"),
        ({"y": [0, 1] * 5}, {"n_resamples": 0}, "n_resamples"),
        ({"y": [0, 1] * 5}, {"eta": 0.5}, "eta"),
        ({"y": [0, 1] * 5}, {"kernel": "precomputed"}, "kernel"),
        ({"y": [0, 1] * 5}, {"random_state": -1}, "random_state"),
    ],
)
def test_arguments_are_checked(arguments: dict, options: dict, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        DifferentialClustering(**options).fit(
            np.random.default_rng(0).normal(size=(10, 2)), **arguments
        )


def test_it_must_be_fitted_first() -> None:
    with pytest.raises(NotFittedError):
        DifferentialClustering().predict(np.ones((2, 2)))


def test_what_it_clusters_stays_the_same_when_it_gives_tables() -> None:
    x, y, _ = samples()
    table = pd.DataFrame(x, columns=["length", "width"])
    model = DifferentialClustering(bandwidth=2.0).fit(
        table, reference=pd.DataFrame(y, columns=table.columns)
    )
    expected = model.predict(table)
    model.set_output(transform="pandas")
    np.testing.assert_array_equal(model.predict(table), expected)
    np.testing.assert_array_equal(model.predict(table), model.labels_)


@pytest.mark.parametrize(
    "random_state", [3, np.int64(3), np.random.default_rng(3), np.random.RandomState(3), None]
)
def test_whatever_draws_is_taken(random_state: object) -> None:
    x, y, kinds = samples()
    model = DifferentialClustering(random_state=random_state).fit(x, reference=y)
    assert agree(model.labels_, kinds) > 0.9


def test_kinds_may_be_told_apart_by_their_angle() -> None:
    rng = np.random.default_rng(0)
    directions = np.eye(3)[np.repeat([0, 1, 2], 50)] * rng.uniform(0.1, 10.0, size=(150, 1))
    x, y = (
        directions + 0.01 * rng.normal(size=(150, 3)),
        directions[:50] + 0.01 * rng.normal(size=(50, 3)),
    )
    model = DifferentialClustering(kernel="cosine").fit(x, reference=y)
    assert model.n_clusters_ == 2
    assert agree(model.labels_, np.repeat([0, 1, 2], 50)) > 0.95


class _GivenOrigins(DifferentialClustering):
    """Every other row is the reference: scikit-learn's checks give labels of classes, or none."""

    def fit(self, X: object, y: object = None) -> DifferentialClustering:
        shape = np.shape(getattr(X, "data", X) if type(X).__name__ == "_NotAnArray" else X)
        return super().fit(X, np.arange(shape[0]) % 2 if shape else None)

    def fit_predict(self, X: object, y: object = None) -> np.ndarray:
        return self.fit(X).labels_

    def fit_transform(self, X: object, y: object = None) -> np.ndarray:
        return self.fit(X).transform(X)


@parametrize_with_checks(
    [_GivenOrigins(n_resamples=19)],
    expected_failed_checks=lambda _: {
        "check_clustering": "what both samples hold is in no cluster"
    },
    xfail_strict=True,
)
def test_it_keeps_the_conventions_of_scikit_learn(
    estimator: DifferentialClustering, check: object
) -> None:
    check(estimator)
