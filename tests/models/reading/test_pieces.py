"""Where steps turn: between their turns each column that comes out is monotone, and each turn is one."""

import itertools
from typing import Any

import numpy as np
import pytest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, SplineTransformer

from shiftmetrics.models.reading.pieces import turns_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))


@pytest.mark.parametrize(
    "step",
    [
        KBinsDiscretizer(5, encode="onehot-dense", strategy="uniform"),
        SplineTransformer(5),
        SplineTransformer(4, degree=2, extrapolation="linear", knots="quantile"),
        SplineTransformer(4, extrapolation="continue"),
        FunctionTransformer(np.abs),
        FunctionTransformer(np.square),
    ],
    ids=repr,
)
def test_steps_are_monotone_between_their_turns(step: Any) -> None:
    step.fit(X)
    turns = turns_of(step, 2)
    for column in (0, 1):
        cuts = np.array([-9.0, *turns[column], 9.0])
        for low, high in itertools.pairwise(cuts):
            if not low < high:
                continue
            points = np.zeros((200, 2))
            points[:, column] = np.linspace(np.nextafter(low, np.inf), high, 200)
            rises = np.diff(step.transform(points), axis=0)
            noise = 1e-12 * (1.0 + np.abs(rises).max(axis=0))
            assert ((rises >= -noise).all(axis=0) | (rises <= noise).all(axis=0)).all()


def test_a_number_that_stands_for_missing_is_a_piece_of_its_own_in_every_dtype() -> None:
    rows = np.where(X > 1.0, 0.1, X)
    for step in (
        SimpleImputer(missing_values=0.1).fit(rows),
        MissingIndicator(missing_values=0.1).fit(rows),
    ):
        turns = np.array(turns_of(step, 2)[1])
        for dtype in (np.float64, np.float32, np.float16):
            mark = float(dtype(0.1))
            assert mark in turns
            assert np.nextafter(mark, -np.inf) in turns
    assert turns_of(SimpleImputer().fit(X), 2) is None


def test_what_is_not_known_has_none() -> None:
    for step in (
        SplineTransformer(5, degree=0),  # it raises beyond its last knot
        FunctionTransformer(np.sin),
        FunctionTransformer(np.abs, kw_args={"where": True}),
        SplineTransformer(4, extrapolation="periodic"),
        KBinsDiscretizer(3, encode="ordinal"),
    ):
        assert turns_of(step.fit(X), 2) is None
