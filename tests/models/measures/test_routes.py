"""The routes in their order: the first that has a worst case is taken, and one that is named must accept."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from shiftmetrics import Computing
from shiftmetrics.models import Decision, Perturbation, Search
from shiftmetrics.models.measures.routes import (
    find_worst_case,
    search_options,
    worst_cases_by_group,
)
from shiftmetrics.models.reading.model import problem_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
y = (X[:, 0] + 0.5 * X[:, 1] > 0.0).astype(int)
LINEAR = LogisticRegression().fit(X, y)
TREE = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("model", "method", "route"),
    [
        (LINEAR, "auto", "linear"),
        (TREE, "auto", "tree"),
        (LINEAR.predict, "auto", "blackbox"),
        (TREE, "blackbox", "blackbox"),
    ],
)
def test_the_first_route_that_knows_the_model_is_taken(model, method, route) -> None:
    search = Search(method=method, n_queries=20, progress=False)
    assert find_worst_case(problem_of(model, X, y, search=search))[0] == route


def test_where_nothing_may_change_the_losses_are_fixed() -> None:
    problem = problem_of(LINEAR, X, y, perturbation=Perturbation(immutable=[0, 1, 2]))
    route, found = find_worst_case(problem)
    assert route == "weights"
    np.testing.assert_array_equal(found.loss.losses, LINEAR.predict(X) != y)


def test_a_route_that_is_named_must_accept_the_model() -> None:
    problem = problem_of(LINEAR, X, y, search=Search(method="tree"))
    with pytest.raises(ValueError, match="'tree' for a LogisticRegression"):
        find_worst_case(problem)
    with pytest.raises(ValueError, match="method"):
        search_options(Search(method="trees"))
    assert search_options(Computing(progress=False)).method == "auto"


def test_each_group_has_the_worst_case_of_the_problem_restricted_to_it() -> None:
    problem = problem_of(LINEAR, X, y, perturbation=Perturbation(immutable=[2]))
    groups = [[0], [2], [0, 1]]
    found = dict(worst_cases_by_group(problem, groups))
    assert sorted(found) == [0, 1, 2]
    np.testing.assert_array_equal(found[1].loss.losses, LINEAR.predict(X) != y)
    for place in (0, 2):
        alone = find_worst_case(problem.restricted(groups[place]))[1]
        np.testing.assert_allclose(found[place].loss.distances, alone.loss.distances)


def test_errors_that_cost_more_are_worth_more_whichever_route_finds_them() -> None:
    rule = Decision(LINEAR, costs={1: 5.0})
    _, found = find_worst_case(problem_of(rule, X, y))
    assert found.loss.losses.max(axis=1) == pytest.approx(np.where(y == 1, 5.0, 1.0))
