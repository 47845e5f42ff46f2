"""The encoding of one column: numbers, dates and texts, by their definitions."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.encoder.parts import (
    DatePart,
    NumberPart,
    TextPart,
    compressed,
    robust_spread,
    to_numbers,
    values_in_words,
)


def series(values, **options):
    return pd.Series(values, name="x", **options)


def test_cells_become_numbers_and_what_is_none_is_named():
    assert to_numbers(series([1, 2])).tolist() == [1.0, 2.0]
    for dtype in ("bool", "boolean", "Int64", "float32", "object"):
        assert to_numbers(series([1, 0], dtype=dtype)).tolist() == [1.0, 0.0]
    numbers = to_numbers(series([1.5, None, np.inf]))
    assert np.isnan(numbers).tolist() == [False, True, True]
    with pytest.raises(ValueError, match=r"column 'x'.*'soon'"):
        to_numbers(series([1, "soon"], dtype=object))


def test_values_beyond_3_grow_with_the_logarithm():
    values = np.array([0.0, -2.0, 3.0, 4.0, -13.0])
    expected = [0.0, -2.0, 3.0, 3.0 + np.log(2.0), -(3.0 + np.log(11.0))]
    np.testing.assert_allclose(compressed(values), expected)


def test_one_wild_value_does_not_decide_the_spread():
    values = np.random.default_rng(0).normal(size=1_000)
    wild = np.append(values, 1e9)
    assert robust_spread(wild) == pytest.approx(robust_spread(values), rel=0.02)
    assert robust_spread(values) == pytest.approx(1.0, rel=0.05)
    # Where the inner 90 % are one value, all count.
    rare = np.append(np.zeros(99), 1.0)
    assert robust_spread(rare) == rare.std()


def test_a_number_is_centred_and_scaled_by_both_samples_and_comes_back():
    reference = series([1.0, 2.0, 3.0, 4.0])
    part = NumberPart.fit("x", reference, series([5.0]))
    assert part.names == ("x",)
    spread = robust_spread(np.arange(1.0, 6.0))
    np.testing.assert_allclose(part.transform(series([3.0, 4.0]))[:, 0], [0.0, 1.0 / spread])
    values = series([1.0, 5.0, 400.0])
    np.testing.assert_allclose(part.decoded(part.transform(values))[:, 0], values)


@pytest.mark.parametrize("kind", ["number", "gaps", "date", "text"])
def test_no_part_depends_on_which_row_is_of_which_sample(kind):
    rng = np.random.default_rng(0)
    values = {
        "number": series(rng.standard_cauchy(60)),
        "gaps": series(np.where(rng.random(60) < 0.2, np.nan, rng.normal(size=60))),
        "date": series(
            pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 9000, 60), "h")
        ),
        "text": series(
            [" ".join(f"{word}x" for word in rng.choice(list("abcdefgh"), 4)) for _ in range(60)]
        ),
    }[kind]
    fit = {"date": DatePart, "text": TextPart}.get(kind, NumberPart).fit
    mixed = values.iloc[rng.permutation(60)].reset_index(drop=True)
    parts = [fit("x", side[:20], side[20:].reset_index(drop=True)) for side in (values, mixed)]
    first, second = (part.transform(values) for part in parts)
    # The sign of a component is arbitrary, and its sum runs in the order of the rows.
    np.testing.assert_allclose(abs(first), abs(second), atol=1e-6)


def test_missing_numbers_have_a_feature_as_far_as_two_levels_of_a_category():
    part = NumberPart.fit("x", series([1.0, 2.0, 3.0]), series([1.0, None]))
    assert part.names == ("x", "x is missing")
    features = part.transform(series([1.5, None]))
    np.testing.assert_allclose(features, [[0.0, 0.0], [0.0, np.sqrt(2.0)]])
    np.testing.assert_allclose(part.decoded(features)[:, 1], [0.0, 1.0])
    assert part.in_words(1, 0.5, 0.0) == "x missing in 50 %, else 0 %"


def test_a_constant_number_gives_no_part_unless_the_sample_differs():
    constant = series([2.0, 2.0])
    assert NumberPart.fit("x", constant, constant) is None
    differing = NumberPart.fit("x", constant, series([2.0, 6.0]))
    assert differing.spread == pytest.approx(robust_spread(np.array([2.0, 2.0, 2.0, 6.0])))


def test_words_for_two_means_have_three_digits_or_all_before_the_point():
    assert values_in_words("year", 2024.4, 1999.0) == "year 2024, else 1999"
    assert values_in_words("dose", 0.12345, 2.0) == "dose 0.123, else 2"


def test_a_date_is_elapsed_time_and_points_on_circles():
    days = series(pd.to_datetime(["2024-01-15", "2024-04-15", "2024-07-15", "2024-10-15"]))
    part = DatePart.fit("x", days, days)
    assert part.cycles == ("month", "day of the week")  # the hour never differs
    features = dict(zip(part.names, part.transform(days).T, strict=True))
    angle = 2.0 * np.pi * np.array([1, 4, 7, 10]) / 12.0
    np.testing.assert_allclose(features["x: month (cos)"], np.cos(angle), atol=1e-12)
    np.testing.assert_allclose(features["x: month (sin)"], np.sin(angle), atol=1e-12)
    seconds = days.to_numpy().astype("datetime64[s]").astype(float)
    decoded = part.decoded(part.transform(days))[:, 0]
    np.testing.assert_allclose(decoded, seconds, rtol=1e-9)
    assert part.in_words(0, seconds[0], seconds[1]) == "x 2024-01-15, else 2024-04-15"
    assert part.in_words(1, 0.0, 1.0) == ""


def test_missing_dates_are_at_the_centre_of_the_circle():
    days = series(pd.to_datetime(["2024-01-15", "2024-04-15", None]))
    part = DatePart.fit("x", days, days)
    features = dict(zip(part.names, part.transform(days)[2], strict=True))
    assert features["x is missing"] == pytest.approx(np.sqrt(2.0))
    assert features["x: month (cos)"] == features["x: month (sin)"] == 0.0


def test_what_is_no_date_is_named():
    with pytest.raises(ValueError, match=r"column 'x'.*of dates.*3"):
        DatePart.fit("x", series([3, 4]), series([3, 4]))


def test_texts_have_variance_1_together_and_a_missing_text_no_terms():
    pytest.importorskip("sklearn")
    words = ["red fox", "red hen", "old fox", "old hen", "red dog", "old dog"] * 3
    text = series(words, dtype=object)
    part = TextPart.fit("x", text, text)
    features = part.transform(text)
    assert features.shape == (18, part.width)
    assert features.var(axis=0).sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(part.transform(series([None], dtype=object)), 0.0)


def test_texts_without_a_common_term_give_no_part():
    apart = series(["red", "old", "wet"], dtype=object)
    assert TextPart.fit("x", apart, apart) is None


@pytest.mark.parametrize("size", [1e-320, 1e-200, 1.0, 1e200, 1.7e308])
def test_numbers_of_any_size_are_encoded_alike(size):
    known = np.array([0.1, 0.25, 0.5, 0.75, 1.0, -0.5, -1.0, 0.0])
    part = NumberPart.fit("x", series(known * size), series(known[:0]))
    plain = NumberPart.fit("x", series(known), series(known[:0]))
    # A subnormal number has about four digits here.
    tolerance = 1e-3 if size < 1e-300 else 1e-9
    with np.errstate(all="raise", under="ignore"):
        found = part.transform(series(known * size))
    expected = plain.transform(series(known))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_a_value_beyond_all_spreads_stays_finite():
    part = NumberPart.fit("x", series([1e-320, 2e-320, 3e-320, 4e-320]), series([1e-320]))
    assert np.isfinite(part.transform(series([1.7e308, -1.7e308]))).all()
