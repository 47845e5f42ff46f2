"""Columns whose rows add up to one constant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.evidence import evidence_of
from shiftmetrics.tables.roles.sums import constant_sums
from tables.variants import cells

N = 80
RNG = np.random.default_rng(0)


def _found(frame):
    table = evidence_of(cells(frame), frame)
    return constant_sums([table], list(frame.columns))


def _with_others(parts, names):
    frame = pd.DataFrame(parts, columns=names)
    frame.insert(1, "latency", RNG.gamma(2.0, 10.0, N))
    frame["total"] = parts.sum(axis=1)
    frame["largest"] = parts.max(axis=1)
    frame["age"] = RNG.integers(18, 90, N)
    return frame


@pytest.mark.parametrize("n_classes", [2, 3, 7, 20])
@pytest.mark.parametrize("form", ["probabilities", "percentages", "rounded", "float32", "votes"])
def test_the_classes_alone_are_found(n_classes, form):
    parts = RNG.dirichlet(np.ones(n_classes), N)
    if form == "percentages":
        parts = 100.0 * parts
    if form == "rounded":
        parts = np.round(parts, 3)
    if form == "float32":
        parts = parts.astype(np.float32).astype(float)
    if form == "votes":
        parts = np.array([RNG.multinomial(500, row) for row in parts]).astype(float)
    names = [f"p_{place}" for place in range(n_classes)]
    assert _found(_with_others(parts, names)) == [tuple(names)]


def test_a_class_of_tiny_probabilities_is_one():
    parts = RNG.dirichlet(np.ones(3), N)
    parts[:, 2] *= 1e-5
    parts[:, :2] *= (1.0 - parts[:, 2:]) / parts[:, :2].sum(axis=1, keepdims=True)
    assert _found(pd.DataFrame(parts, columns=["a", "b", "c"])) == [("a", "b", "c")]


def test_two_models_in_one_table_are_two_sets():
    first = RNG.dirichlet(np.ones(3), N)
    second = RNG.dirichlet(np.ones(3), N)
    frame = pd.DataFrame(np.hstack([first, second]), columns=["a1", "b1", "c1", "a2", "b2", "c2"])
    assert sorted(_found(frame)) == [("a1", "b1", "c1"), ("a2", "b2", "c2")]


def test_scores_that_add_up_to_nothing():
    assert _found(pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])) == []
    assert _found(pd.DataFrame(RNG.uniform(size=(N, 3)), columns=["a", "b", "c"])) == []


def test_one_row_that_does_not_add_up_is_enough():
    parts = RNG.dirichlet(np.ones(3), 2000)
    parts[1234, 0] += 0.5
    assert _found(pd.DataFrame(parts, columns=["a", "b", "c"])) == []
