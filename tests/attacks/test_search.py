"""How any attack runs: a toy search in batches, and what is recomputed from the model when it has ended."""

import numpy as np
import pytest
import torch

from shiftmetrics.attacks import AttackOptions
from shiftmetrics.attacks.search import AttackResult, run_search

X = np.array([[0.5, 0.0], [1.0, 2.0], [3.0, 0.0]])


def model(x):
    """Predict class 1 where the first column is negative."""
    return torch.stack([x[:, 0], -x[:, 0]], dim=1)


def one_to_the_left(problem, generator):
    """Move each sample by 1 along the first column."""
    perturbation = problem.zeros()
    perturbation[:, 0] = -1.0
    return perturbation


def run(search=one_to_the_left, x=X, y=(0, 0, 0), options=None, **settings):
    return run_search(
        search, model, x, y, name="toy", norm="l2", options=options or AttackOptions(), **settings
    )


def test_distances_and_errors_are_those_of_the_model_at_the_inputs_found():
    result = run(step=7)
    np.testing.assert_allclose(result.x_adv, X - [1.0, 0.0])
    np.testing.assert_allclose(result.distance, 1.0)
    assert result.success.tolist() == [True, False, False]
    assert result.robust_accuracy == pytest.approx(2 / 3)
    assert result.distance_to_error.tolist() == [1.0, np.inf, np.inf]
    assert (result.attack, result.norm, result.settings["step"]) == ("toy", "l2", 7)


def test_each_batch_is_searched_by_itself_with_a_seed_of_its_own():
    seeds = []

    def noted(problem, generator):
        seeds.append((problem.n_samples, generator.initial_seed()))
        return one_to_the_left(problem, generator)

    run(noted, options=AttackOptions(batch_size=2, rng=3))
    again = seeds.copy()
    seeds.clear()
    run(noted, options=AttackOptions(batch_size=2, rng=3))
    assert [size for size, _ in again] == [2, 1]
    assert seeds == again
    assert again[0][1] != again[1][1]


def test_bounds_and_frozen_columns_hold_whatever_a_search_returns():
    options = AttackOptions(bounds=(0.0, 3.0), frozen=[False, True])
    result = run(
        lambda problem, generator: problem.clip(torch.full_like(problem.zeros(), -2.0)),
        options=options,
    )
    np.testing.assert_array_equal(result.x_adv[:, 1], X[:, 1])
    assert result.x_adv.min() >= 0.0


def test_an_error_on_the_boundary_is_pushed_beyond_it():
    def to_the_boundary(problem, generator):
        perturbation = problem.zeros()
        perturbation[0, 0] = -0.5
        return perturbation

    # At 0 both logits are equal, and the first class is predicted.
    assert not run(to_the_boundary).success[0]
    pushed = run(to_the_boundary, push=True)
    assert pushed.success[0]
    assert pushed.distance[0] == pytest.approx(0.5, rel=1e-3)
    # What was not moved stays where it is.
    np.testing.assert_array_equal(pushed.x_adv[1:], X[1:])


def test_a_model_without_gradient_is_refused_unless_none_is_needed():
    def constant(x):
        return model(x.detach())

    arguments = {"name": "toy", "norm": "l2", "options": AttackOptions()}
    with pytest.raises(TypeError, match="differentiable"):
        run_search(one_to_the_left, constant, X, [0, 0, 0], **arguments)
    assert run_search(
        one_to_the_left, constant, X, [0, 0, 0], needs_gradient=False, **arguments
    ).success[0]


def test_the_sentence_counts_errors_and_their_median_distance():
    arrays = {"x_adv": X, "distance": np.array([0.5, 9.0, 1.5])}
    reached = AttackResult(**arrays, success=np.array([True, False, True]), attack="toy")
    assert reached.summary() == (
        "toy: 2 of 3 samples are errors after the attack, at a median l2 distance of 1."
    )
    none = AttackResult(**arrays, success=np.zeros(3, dtype=bool), attack="toy")
    assert none.summary() == "toy: 0 of 3 samples are errors after the attack."
