"""Losses as candidates, and the best points of a round."""

from dataclasses import replace

import numpy as np

from shiftmetrics.models.search.worst_case import BestPoints, WorstCase, as_candidates
from shiftmetrics.stability.losses import CandidateLoss, FixedLoss, ZeroOneLoss


def test_an_error_is_the_second_candidate_of_its_row() -> None:
    loss = as_candidates(ZeroOneLoss(np.array([0.0, 2.0, np.inf]), kind="upper_bound"))
    np.testing.assert_array_equal(loss.losses, [[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(loss.distances, [[0.0, np.inf], [0.0, 2.0], [0.0, np.inf]])
    assert loss.kind == "upper_bound"


def test_a_fixed_loss_has_one_candidate_and_candidates_stay_what_they_are() -> None:
    loss = as_candidates(FixedLoss(np.array([0.5, 2.0])))
    np.testing.assert_array_equal(loss.losses, [[0.5], [2.0]])
    np.testing.assert_array_equal(loss.distances, [[0.0], [0.0]])
    assert loss.kind == "exact"
    held = CandidateLoss(np.zeros((2, 1)), np.zeros((2, 1)))
    assert as_candidates(held) is held


def test_better_points_are_kept_and_equal_ones_are_not() -> None:
    best = BestPoints(np.zeros((3, 1)), np.zeros(3), np.array([1.0, 2.0, 3.0]), np.zeros(3, bool))
    points = np.array([[5.0], [6.0]])
    best.keep(np.array([2, 1]), points, np.array([8.0, 9.0]), np.array([3.0, 2.5]))
    np.testing.assert_array_equal(best.points, [[0.0], [6.0], [0.0]])
    np.testing.assert_array_equal(best.losses, [0.0, 9.0, 0.0])
    np.testing.assert_array_equal(best.values, [1.0, 2.5, 3.0])
    np.testing.assert_array_equal(best.found, [False, True, False])


def test_errors_are_searched_to_the_end_at_any_price() -> None:
    first = WorstCase.of_errors(np.array([[1.0]]), np.array([4.0]))
    last = WorstCase.of_errors(np.array([[0.5]]), np.array([2.0]))
    asked = []

    def refine(dual: float) -> WorstCase:
        asked.append(dual)
        return last

    found = replace(first, refine=refine).at_any_price()
    np.testing.assert_array_equal(found.loss.distances, [2.0])
    assert asked == [np.inf]


def test_samples_that_were_not_searched_are_not_reported_as_without_error() -> None:
    loss = ZeroOneLoss(np.array([0.0, 2.0, np.inf, np.inf]), kind="upper_bound")
    found = WorstCase(loss, lambda rows, distances, choices: np.zeros((len(rows), 1)))
    assert "2 of 4 samples" in found.notes("upper_bound")[0]
    assert "1 of 4 samples" in replace(found, left_out=1).notes("upper_bound")[0]
    assert replace(found, left_out=2).notes("upper_bound") == ()
    # Some of the samples: what was left out of all is not known of them.
    part = replace(found, left_out=1).take(np.array([0, 2]))
    assert "1 of 2 samples" in part.notes("upper_bound")[0]
