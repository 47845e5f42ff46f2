"""How frequent members are, and which modes are new, missing or only changed: by counting."""

import numpy as np
import pytest

from shiftmetrics.novelty.modes.frequencies import Frequencies, largest_fraction, sorted_modes
from shiftmetrics.novelty.modes.membership import FoundMode, ModeFunction


def mode(members, *, missing=False):
    """Return a mode with these members, all of them equally strong."""
    function = ModeFunction(missing, 0.01, 0, ())
    strengths = np.asarray(members, dtype=float)
    return FoundMode(function, strengths, strengths)


def rows(n_test, n_reference, in_test, in_reference):
    """Return members: the first of each sample."""
    members = np.zeros(n_test + n_reference, bool)
    members[:in_test] = True
    members[n_test : n_test + in_reference] = True
    return members


def test_fractions_are_weighted():
    frequencies = Frequencies(np.array([1.0, 3.0, 1.0, 1.0, 2.0]), 2)
    assert frequencies.of(np.array([False, True, True, False, False])) == (0.75, 0.25)
    # (sum of weights)^2 over the sum of their squares
    assert frequencies.sizes() == pytest.approx((16.0 / 10.0, 16.0 / 6.0))


def test_the_excess_is_the_fraction_that_would_be_new():
    frequencies = Frequencies(np.ones(200), 100)
    # 20 of 100 new, and of the other 80 a quarter like that of the reference: 20 + 20 members.
    members = rows(100, 100, 40, 25)
    assert frequencies.excess(members) == pytest.approx(0.2)
    assert frequencies.excess(members, missing=True) == 0.0
    everything = np.ones(200, bool)
    assert frequencies.excess(everything) == 0.0


def test_the_core_of_a_mode_says_how_rare_it_is():
    frequencies = Frequencies(np.ones(20), 10)
    members = rows(10, 10, 4, 3)
    found = mode(members)
    found.strengths[[0, 1, 10]] = 5.0  # the core: two of the sample, one of the reference
    assert frequencies.rarity(found) == 0.5
    assert frequencies.rarity(mode(members, missing=True)) == pytest.approx(4 / 3)


def test_modes_are_sorted_by_what_may_be_said_of_them():
    n = 1_000
    frequencies = Frequencies(np.ones(2 * n), n)
    new = mode(rows(n, n, 200, 0))
    more = mode(rows(n, n, 400, 250))
    missing = mode(rows(n, n, 0, 300), missing=True)
    held_out = [rows(n, n, 200, 0), rows(n, n, 0, 300)]
    sides = sorted_modes([new, more, missing], held_out, frequencies, 0.05)
    assert (sides.new, sides.missing, sides.changed) == ([new], [missing], [])
    # Without a mode that the reference has in excess, what is more frequent is a change.
    assert sorted_modes([more], held_out, frequencies, 0.05).changed == [more]
    # Held-out samples must show that something is new.
    nothing = [np.zeros(2 * n, bool)] * 2
    assert sorted_modes([new], nothing, frequencies, 0.05).new == []


def test_the_largest_plausible_fraction_has_an_error_and_an_end():
    assert largest_fraction(0.2, 400.0) == pytest.approx(0.2 + 2.0 * 0.02 + 0.05)
    assert largest_fraction(0.0, 10.0) == 0.05
    assert largest_fraction(0.96, 10.0) == 0.97
