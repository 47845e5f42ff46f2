import numpy as np
import pandas as pd
import pytest

from shiftmetrics_lab.shifts import (
    CORRUPTIONS,
    CharacterEdits,
    ColumnNoise,
    SubgroupReweighting,
    apply_shift,
)
from shiftmetrics_lab.shifts.images import Blur, GaussianNoise
from shiftmetrics_lab.shifts.protocol import Chain, Shift

IMAGES = np.random.default_rng(0).random((7, 8, 8, 3))


def double(X, *, strength, rng=None):
    return X * (1 + strength)


def test_a_plain_function_is_a_shift():
    assert isinstance(double, Shift)
    pair = apply_shift(double, np.ones((3, 2)), strength=1.0, rng=4)
    np.testing.assert_array_equal(pair.sample, 2.0)
    assert pair.provenance() == [{"what": "double", "strength": 1.0, "seed": 4}]
    assert pair.ratio == 1.0


def test_provenance_repeats_the_sample():
    chain = Blur().at(1.0) >> GaussianNoise().at(0.2)
    pair = apply_shift(chain, IMAGES, strength=0.5, rng=np.random.default_rng(3))
    assert [step.what for step in pair.steps] == ["Blur()", "GaussianNoise()"]
    assert [step.strength for step in pair.steps] == [0.5, 0.1]
    again = IMAGES
    for step, shift in zip(pair.steps, (Blur(), GaussianNoise()), strict=True):
        again = shift(again, strength=step.strength, rng=step.seed)
    np.testing.assert_array_equal(again, pair.sample)
    assert "Blur() at strength 0.5" in str(pair)


def test_chain_rounds_counts_and_nests():
    chain = CharacterEdits().at(8) >> CharacterEdits().at(3)
    assert chain.strengths(0.5) == [4, 2]
    assert isinstance(chain, Shift)
    outer = Chain(((chain, 0.5), (CharacterEdits(), 2)))
    pair = apply_shift(outer, ["a text", "another"], strength=1.0, rng=0)
    assert [step.strength for step in pair.steps] == [4, 2, 2]
    assert len({step.seed for step in pair.steps}) == 3
    assert pair.sample == outer(["a text", "another"], strength=1.0, rng=0)


def test_chain_at_zero_is_the_identity_and_a_copy():
    chain = Blur().at(1.0) >> GaussianNoise().at(0.2)
    same = chain(IMAGES, strength=0.0, rng=0)
    np.testing.assert_array_equal(same, IMAGES)
    assert same is not IMAGES


def test_chain_in_batches_equals_the_whole():
    chain = Blur().at(1.0) >> GaussianNoise().at(0.2)
    whole = chain(IMAGES, strength=1.0, rng=9)
    parts = [chain(IMAGES[:3], rng=9), chain(IMAGES[3:], rng=9, first_row=3)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_only_steps_with_a_strength_can_be_chained():
    with pytest.raises(TypeError, match=r"Use shift\.at\(strength\)"):
        Blur().at(1.0) >> GaussianNoise()


def test_rows_that_were_drawn_are_recorded_through_a_chain():
    table = pd.DataFrame(
        {"group": ["a"] * 8 + ["b"] * 2, "x": np.arange(10.0)}, index=list("klmnopqrst")
    )
    chain = SubgroupReweighting("group", {"a": 0.5, "b": 0.5}).at(1.0) >> ColumnNoise(["x"]).at(0.1)
    pair = apply_shift(chain, table, strength=1.0, rng=0)
    assert (pair.reference["group"] == "b").mean() == 0.5
    assert (
        list(pair.sample.index)
        == list(pair.reference.index)
        == [table.index[row] for row in pair.rows]
    )
    assert pair.shifted.all()
    assert np.abs(pair.sample["x"] - pair.reference["x"]).max() < 2.0


def test_missing_values_do_not_count_as_shifted():
    table = pd.DataFrame({"x": [1.0, np.nan, 3.0]})
    pair = apply_shift(ColumnNoise(), table, strength=0.5, rng=0)
    assert pair.shifted.tolist() == [True, False, True]


@pytest.mark.parametrize("strength", [-0.1, 1.5, float("nan"), float("inf")])
def test_strength_beyond_the_range_is_refused(strength):
    with pytest.raises(ValueError, match="strength must be"):
        GaussianNoise()(IMAGES, strength=strength)
    with pytest.raises(ValueError, match="strength must be"):
        GaussianNoise().at(strength)


@pytest.mark.parametrize("strength", ["1", None, True, [0.1]])
def test_strength_of_the_wrong_type_is_refused(strength):
    with pytest.raises(TypeError, match="strength must be"):
        GaussianNoise()(IMAGES, strength=strength)


def test_counts_must_be_whole():
    with pytest.raises(TypeError, match="an integer"):
        CharacterEdits()(["text"], strength=1.5)


def test_a_shift_that_loses_rows_or_is_none_is_refused():
    with pytest.raises(ValueError, match="keeps the 7 rows"):
        apply_shift(lambda X, *, strength, rng: X[:-1], IMAGES, strength=1.0)
    with pytest.raises(TypeError, match="shift must be a callable"):
        apply_shift("blur", IMAGES, strength=1.0)


def test_progress_can_be_switched_off(bars_at_once, capsys):
    CORRUPTIONS["blur"](IMAGES, strength=1.0)
    assert "Blur" in capsys.readouterr().err
    CORRUPTIONS["blur"](IMAGES, strength=1.0, progress=False)
    assert capsys.readouterr().err == ""
