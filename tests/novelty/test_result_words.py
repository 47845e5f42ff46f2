"""The headline of novelty: what differs and is not confirmed is told with its size and rows, never as nothing."""

from dataclasses import replace

import numpy as np
import pytest

from calls import novelty
from shiftmetrics.novelty import NoveltyResult
from shiftmetrics.novelty.modes.changed_columns import GradualChange
from shiftmetrics.novelty.modes.mode import Mode
from shiftmetrics.novelty.result_parts import NoveltyChanges
from shiftmetrics.novelty.result_words import headline_of


@pytest.fixture(scope="module")
def result() -> NoveltyResult:
    rng = np.random.default_rng(0)
    return novelty(rng.normal(size=(40, 2)), rng.normal(size=(40, 2)), n_resamples=39)


def group(fraction: float, other: float, *, missing: bool = False) -> Mode:
    return Mode(
        index=0,
        missing=missing,
        p_value=0.005,
        fraction=fraction,
        reference_fraction=other,
        n_members=round(40 * fraction),
        n_reference_members=round(40 * other),
        exemplars=np.array([7, 3, 9, 11]),
        reference_exemplars=np.array([1, 2]),
    )


def with_changes(result: NoveltyResult, p_value: float, **parts: object) -> NoveltyResult:
    test = replace(result.test, p_value=p_value, missing_p_value=0.5, first_rows=np.arange(20, 25))
    return replace(result, test=test, changes=NoveltyChanges(**parts))


def test_a_group_that_is_not_confirmed_is_told_with_its_size_and_its_rows(result) -> None:
    found = with_changes(result, 0.005, modes=(group(0.1, 0.0),))
    assert headline_of(found) == (
        "Something differs (p = .005): a group of 10 %, 0 % in the reference, is not confirmed as new: rows 7, 3, "
        "9, ... Nothing is shown to be missing."
    )
    assert found.headline() == headline_of(found)


def test_a_group_of_both_samples_is_more_frequent(result) -> None:
    said = headline_of(with_changes(result, 0.01, modes=(group(0.5, 0.2),)))
    assert "a group of 50 %, 20 % in the reference, is more frequent: rows 7" in said
    assert "confirmed" not in said
    assert said.count("50 %") == 1


def test_less_frequent_groups_are_told_last(result) -> None:
    said = headline_of(with_changes(result, 0.3, modes=(group(0.1, 0.4, missing=True),)))
    assert said.startswith("Nothing new shown at this size")
    assert "Less frequent: 10 % against 40 %, rows 1, 2" in said


@pytest.mark.parametrize(("p_value", "rows"), [(0.005, True), (0.4, False)])
def test_a_gradual_change_names_the_rows_that_stand_out_where_something_is_new(
    result, p_value: float, rows: bool
) -> None:
    change = GradualChange(name="age", shift=0.5, spread=1.0)
    said = headline_of(with_changes(result, p_value, columns=(change,)))
    assert said.startswith("Something differs (p = ")
    assert "gradual shift in column age by +0.5 sd" in said
    assert ("the rows that stand out most are 20, 21, 22, ..." in said) == rows


@pytest.mark.parametrize(("fraction", "said"), [(0.4, True), (0.9, False)])
def test_members_that_are_not_borne_out_are_counted(result, fraction: float, said: bool) -> None:
    test = replace(result.test, p_value=0.005, missing_p_value=0.5, borne_out=(fraction,))
    found = replace(result, new=(group(0.5, 0.0),), fraction=0.3, test=test)
    text = "of whose 20 members 8 are borne out and the others may be ordinary"
    assert (text in headline_of(found)) == said


@pytest.mark.parametrize(
    ("fraction", "words"),
    [
        (0.5, "of the sample, one mode (p = .005)"),
        (0.45, "of the sample, one mode (p = .005)"),
        (0.7, "about 70 % of the sample, clearest in one mode of 50 % (p = .005)"),
        (0.3, "about 30 % of the sample, among one mode of 50 % (p = .005)"),
    ],
)
def test_modes_that_hold_less_or_more_than_what_is_new_have_their_size_said(
    result, fraction: float, words: str
) -> None:
    test = replace(result.test, p_value=0.005, missing_p_value=0.5)
    found = replace(result, new=(group(0.5, 0.0),), fraction=fraction, test=test)
    assert words in headline_of(found)
    two = replace(found, new=(group(0.3, 0.0), group(0.2, 0.0)))
    together = words.replace("one mode of 50 %", "2 modes of 50 % together")
    assert together.replace("one mode", "2 modes") in headline_of(two)


def test_what_is_borne_out_is_about_what_is_new() -> None:
    """Whatever is found beside a mode of 40 samples far away is no mode, and its members are not borne out."""
    rng = np.random.default_rng(1)
    reference = rng.normal(size=(250, 2))
    far = np.concatenate([rng.normal(size=(210, 2)), 0.4 * rng.normal(size=(40, 2)) + 6.0])
    found = novelty(far, reference, n_resamples=99)
    assert len(found.new) == len(found.test.borne_out)
    assert any("off by 6 points on average" in text for text in found.notes())
    for mode, fraction in zip(found.new, found.test.borne_out, strict=True):
        truth = np.mean(mode.members() >= 210)
        assert fraction == pytest.approx(truth, abs=0.1)
        doubt = (
            f"of whose {mode.n_members} members {round(fraction * mode.n_members)} are borne out"
        )
        assert (doubt in found.headline()) == (fraction < 0.7)
