"""One column of numbers beside labels of two classes."""

from __future__ import annotations

import numpy as np
import pytest

from shiftmetrics.tables.ask import AmbiguousReadingError
from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.roles.cuts import form_of_two
from shiftmetrics.tables.roles.single import form_of_numbers

RNG = np.random.default_rng(0)
TRUTH = np.array(["0", "1"], dtype=object)[RNG.integers(0, 2, 200)]
CHANCE = np.clip(0.5 + 0.3 * ((TRUTH == "1") - 0.5) + RNG.normal(0.0, 0.15, 200), 0.01, 0.99)


def form(name, numbers, truth=TRUTH, **options):
    return form_of_two([name], [np.asarray(numbers)], truth, RoleOptions(**options))


def test_percentages_by_their_name_or_by_their_mean():
    assert form("probability", 100.0 * CHANCE) == "percentage"
    assert form("prediction", 100.0 * CHANCE) == "percentage"
    assert abs(CHANCE.mean() - (TRUTH == "1").mean()) < 0.2
    assert form("decision", CHANCE - 0.5) == "margin"


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("odds", CHANCE / (1.0 - CHANCE)),
        ("odds_ratio", 90.0 * CHANCE),
        ("prediction", CHANCE / (1.0 - CHANCE)),
        ("score", 10.0 * CHANCE),
        ("score", np.round(300.0 + 550.0 * CHANCE)),
        ("neg_log_prob", -20.0 * np.log(CHANCE)),
        ("log_prob", np.log(CHANCE)),
        ("prediction", 1.25 * CHANCE - 0.1),
    ],
)
def test_what_has_no_known_cut_is_asked_for_and_each_remedy_decides(name, numbers):
    with pytest.raises(AmbiguousReadingError) as caught:
        form(name, numbers)
    cuts = []
    for reading in caught.value.readings:
        option, _, value = reading.remedy.partition(" ")
        typed = RoleOptions(**{option.strip("-"): float(value)})
        expected = "outputs" if option == "--tolerance" else "margin"
        assert form_of_numbers([name], [numbers], TRUTH, typed) == expected
        if option == "--threshold":
            cuts.append(float(value))
    if "odds" in name:
        assert cuts == [1.0]
    assert any(0 < (numbers >= cut).sum() < len(numbers) for cut in cuts)


def test_percentages_of_a_rare_class_that_a_balanced_model_gives_are_asked_for():
    rare = np.where(np.arange(200) < 4, "1", "0").astype(object)
    with pytest.raises(AmbiguousReadingError, match="--threshold 50"):
        form("score", np.linspace(1.0, 99.0, 200), rare)


def test_two_measured_values_are_no_classes():
    truth = np.array(["100", "200"] * 20, dtype=object)
    numbers = np.linspace(90.0, 210.0, 40)
    assert form("yhat", numbers, truth) is None
    assert form_of_numbers(["yhat"], [numbers], truth, RoleOptions()) == "outputs"
