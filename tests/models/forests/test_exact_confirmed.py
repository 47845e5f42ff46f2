"""What a forest's trees say is confirmed by the model itself, on each way to an exact answer."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics.models import Perturbation
from shiftmetrics.models.forests import exact
from shiftmetrics.models.forests.choice_scan import NotTheModel
from shiftmetrics.models.forests.from_model import grid_of_problem
from shiftmetrics.models.reading.model import ModelProblem, problem_of
from shiftmetrics.stability.losses import ZeroOneLoss


class OtherModel(ModelProblem):
    """A model that predicts as its trees do where rows stand, and never errs at a row that was moved there."""

    def is_wrong(self, points, rows):
        stands = (points == self.codes[rows]).all(axis=1)
        return super().is_wrong(points, rows) & stands


def of_another_model(problem):
    fields = {field.name: getattr(problem, field.name) for field in dataclasses.fields(problem)}
    return OtherModel(**fields)


def of_tree(problem, grid):
    return exact.of_tree(problem, grid)


def along_axes(problem, grid):
    return next(exact.along_axes(problem, grid, [0]))[1]


WAYS = {
    "a tree": (DecisionTreeClassifier(max_depth=4, random_state=0), of_tree),
    "an axis": (RandomForestClassifier(5, max_depth=3, random_state=0), along_axes),
    "combinations": (
        RandomForestClassifier(5, max_depth=3, random_state=0),
        exact.by_enumeration,
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_error_that_the_model_does_not_make_is_refused(way):
    X, y = make_moons(60, noise=0.3, random_state=0)
    model, search = WAYS[way]
    model.fit(X, y)
    options = {}
    if way == "an axis":
        options = {"perturbation": Perturbation(features=[0])}
    problem = problem_of(model, X, y, **options)
    grid = grid_of_problem(problem)
    distances = search(problem, grid).loss.distances
    assert (np.isfinite(distances) & (distances > 0.0)).any()
    with pytest.raises(NotTheModel):
        search(of_another_model(problem), grid)


def worst_case(distances):
    """Return a worst case whose points are the distances themselves."""

    def points(rows, reach, choices):
        assert choices is None
        return np.stack([rows, reach], axis=1)

    return SimpleNamespace(loss=ZeroOneLoss(np.array(distances)), points=points)


def asked_of(found, *, refused=None, loss="zero_one"):
    """Return the (row, distance) pairs that the model is asked about; it denies the one that is ``refused``."""
    asked = []

    def is_wrong(points, rows):
        np.testing.assert_array_equal(points[:, 0], rows)
        asked.extend(map(tuple, points.tolist()))
        return np.array([tuple(point) != refused for point in points.tolist()])

    problem = SimpleNamespace(loss=loss, n_samples=4, is_wrong=is_wrong)
    assert exact.confirmed(problem, found) is found
    return asked


FOUND = [
    worst_case([0.0, 0.5, np.inf, 1.5]),
    worst_case([np.inf] * 4),
    worst_case([2.5, np.inf, 0.0, np.inf]),
]


@pytest.mark.parametrize("at_once", [1, 4, 8, 100_000])
def test_every_row_that_was_moved_is_asked_once(monkeypatch, at_once):
    # One worst case at a time, two of them, or all.
    monkeypatch.setattr(exact, "_ASKED", at_once)
    wanted = [(1.0, 0.5), (3.0, 1.5), (0.0, 2.5)]
    assert asked_of(FOUND) == wanted
    for refused in wanted:
        with pytest.raises(NotTheModel):
            asked_of(FOUND, refused=refused)


def test_other_losses_have_no_errors_to_confirm():
    assert asked_of(FOUND, loss="log_loss") == []
