"""Membership: strengths, their calibration by counting, and what a round leaves to the next."""

import numpy as np
import pytest

from shiftmetrics.novelty.modes.membership import (
    FoundMode,
    ModeFunction,
    ModePart,
    calibrated,
    members_of,
)

STEPS = (np.array([0.0, 1.0, 4.0]), np.array([0.1, 0.5, 0.9]))


def part(*direction):
    return ModePart(np.array(direction, dtype=float), 2.0, STEPS)


def test_strengths_are_squares_of_what_is_positive_and_memberships_are_steps():
    strengths = part(1.0).strengths(np.array([-3.0, 0.0, 1.0, 2.0, 4.0]))
    assert strengths.tolist() == [0.0, 0.0, 0.5, 2.0, 8.0]
    assert part(1.0).memberships(strengths).tolist() == [0.1, 0.1, 0.1, 0.5, 0.9]


def test_a_sample_belongs_as_to_the_part_it_belongs_to_most_and_on_one_side_of_a_cut():
    mode = ModeFunction(False, 0.01, 1, (part(1, 0), part(0, 1)), ((np.array([1.0, 1.0]), 3.0),))
    width, directions = mode.function
    assert width == 1
    np.testing.assert_array_equal(directions, [[1, 0, 1], [0, 1, 1]])
    coordinates = np.array([[2.0, 4.0], [4.0, -2.0], [1.0, 1.0]])
    strengths, memberships = mode.at(coordinates @ directions)
    assert strengths.tolist() == [8.0, 0.0, 0.0]  # the second sums to 2, beyond the cut
    assert memberships.tolist() == [0.9, 0.0, 0.0]


def test_rows_that_are_taken_have_no_membership_left():
    mode = ModeFunction(False, 0.01, 0, (part(1),))
    found = mode.found_at(np.array([[4.0], [4.0], [0.5]]), np.array([False, True, False]))
    assert found.members.tolist() == [True, False, False]
    other = FoundMode(ModeFunction(True, 0.01, 0, ()), np.ones(3), np.array([0.0, 1.0, 1.0]))
    assert members_of([found, other], 3, missing=True).tolist() == [False, True, True]
    assert members_of([other], 3, missing=False).tolist() == [False] * 3


def test_memberships_are_fractions_of_the_own_side_that_rise():
    # Four levels of g, with so many rows of both sides: 10 + 10 rows each.
    counts = {1.0: (2, 8), 2.0: (1, 1), 3.0: (4, 1), 4.0: (3, 0)}
    values = []
    own = []
    for value, (ours, theirs) in counts.items():
        values += [value] * (ours + theirs)
        own += [True] * ours + [False] * theirs
    values, own = np.array(values), np.array(own)
    found = calibrated(values, np.ones(1), np.ones(20), own, ~own)
    squares = values[own] ** 2
    assert found.scale == pytest.approx((squares @ squares) / squares.sum())
    levels = np.array(list(counts)) ** 2 / found.scale
    np.testing.assert_allclose(found.memberships(levels), [0.2, 0.5, 0.8, 1.0])


def test_equal_sides_count_equally_however_many_rows_they_have():
    values = np.array([1.0] * 3 + [1.0] * 30)
    own = np.arange(33) < 3
    found = calibrated(values, np.ones(1), np.ones(33), own, ~own)
    assert found.memberships(found.strengths(values[:1])) == pytest.approx([0.5])
