import numpy as np
import pandas as pd
import pytest

from shiftmetrics_lab.shifts import SubgroupReweighting, apply_shift

TABLE = pd.DataFrame({"region": ["n"] * 60 + ["s"] * 30 + ["w"] * 10, "x": np.arange(100.0)})
TARGET = {"n": 0.1, "s": 0.3, "w": 0.6}


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_drawn_rows_and_weights_have_the_same_shares(strength):
    shift = SubgroupReweighting("region", TARGET)
    observed = TABLE["region"].value_counts(normalize=True)
    expected = (1 - strength) * observed + strength * pd.Series(TARGET)
    drawn = shift(TABLE, strength=strength, rng=0)
    assert len(drawn) == 100
    pd.testing.assert_series_equal(
        drawn["region"].value_counts(normalize=True).sort_index(),
        expected.sort_index(),
        check_names=False,
        atol=1e-9,
    )
    weights = shift.weights(TABLE, strength=strength)
    assert weights.mean() == pytest.approx(1.0)
    for region, share in expected.items():
        assert weights[TABLE["region"] == region].sum() / 100 == pytest.approx(share)


def test_pairs_stay_pairs():
    pair = apply_shift(SubgroupReweighting("region", TARGET), TABLE, strength=1.0, rng=0)
    pd.testing.assert_frame_equal(pair.sample, pair.reference)
    pd.testing.assert_frame_equal(pair.sample, TABLE.iloc[pair.rows])
    assert not pair.shifted.any()  # the rows are the same; their shares are not


def test_a_left_out_subgroup_vanishes_and_arrays_work():
    drawn = SubgroupReweighting(0, {1.0: 1.0})(np.array([[0.0], [1.0], [1.0]]), strength=1.0, rng=0)
    np.testing.assert_array_equal(drawn, 1.0)


def test_whole_shares_sum_up():
    shares = {"n": 1 / 3, "s": 1 / 3, "w": 1 / 3}
    drawn = SubgroupReweighting("region", shares)(TABLE, strength=1.0, rng=0)
    assert sorted(drawn["region"].value_counts()) == [33, 33, 34]


@pytest.mark.parametrize(
    ("column", "shares", "message"),
    [
        ("land", {"n": 1.0}, "column must be among 'region', 'x'"),
        ("region", {"n": 0.5}, "sum to 1"),
        ("region", {"n": -0.5, "s": 1.5}, "shares must be a number at least 0"),
        ("region", {"q": 1.0}, "got 'q'"),
    ],
)
def test_bad_input_is_named(column, shares, message):
    with pytest.raises(ValueError, match=message):
        SubgroupReweighting(column, shares)(TABLE, strength=1.0, rng=0)
    with pytest.raises(ValueError, match="free of missing values"):
        SubgroupReweighting("g", {"a": 1.0})(pd.DataFrame({"g": ["a", None]}), strength=1.0)


def test_a_batch_cannot_be_reweighted_alone():
    with pytest.raises(ValueError, match=r"first_row must be 0.*Pass it whole"):
        SubgroupReweighting("region", TARGET)(TABLE, strength=0.5, first_row=10)
