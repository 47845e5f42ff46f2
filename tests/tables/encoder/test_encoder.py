"""Tables to features: roles of columns, comparable distances, gaps, levels, dates, text, ids."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.tables.encoder import TableEncoder
from shiftmetrics.tables.encoder.parts import robust_spread


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def table(rng, n):
    return pd.DataFrame(
        {
            "customer_id": rng.permutation(10 * n)[:n],
            "age": rng.normal(40, 10, n),
            "income": np.exp(rng.normal(10, 1, n)),
            "job": rng.choice(["cook", "nurse", "clerk"], n, p=[0.6, 0.3, 0.1]),
            "city": rng.choice([f"city {k}" for k in range(30)], n),
            "member": rng.random(n) < 0.5,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
        }
    )


def roles(encoder):
    return {column.name: column.role for column in encoder.columns}


def squared_distances(encoder, first, second):
    """Return the mean squared distance along each column, by its name."""
    apart = (encoder.transform(first) - encoder.transform(second)) ** 2
    sources = [part.name for part in encoder.parts for _ in part.names]
    means = pd.Series(apart.mean(axis=0), index=pd.Index(sources))
    return means.groupby(level=0).sum()


def test_each_column_has_its_role(rng):
    encoder = TableEncoder.fit(table(rng, 400), table(rng, 200))
    assert roles(encoder) == {
        "customer_id": "id",
        "age": "number",
        "income": "number",
        "job": "category",
        "city": "category",
        "member": "category",
        "since": "date",
    }
    assert encoder.id_column == "customer_id"
    assert "Took `customer_id` as the id: its values are distinct." in encoder.notes()


def test_columns_weigh_about_the_same(rng):
    first, second = table(rng, 2000), table(rng, 2000)
    encoder = TableEncoder.fit(first, second)
    apart = squared_distances(encoder, first, second)
    assert apart["age"] == pytest.approx(2.0, abs=0.4)
    assert apart["city"] == pytest.approx(2.0, abs=0.2)  # thirty levels weigh no more than a number
    assert apart["job"] == pytest.approx(2.0 * (1 - 0.36 - 0.09 - 0.01), abs=0.1)
    assert apart.max() < 8.0  # the date has an elapsed time and two cycles


def test_units_do_not_matter(rng):
    first, second = table(rng, 300), table(rng, 300)
    encoder = TableEncoder.fit(first, second)
    cents = [part.assign(income=part["income"] * 100.0) for part in (first, second)]
    scaled = TableEncoder.fit(*cents)
    np.testing.assert_allclose(scaled.transform(cents[1]), encoder.transform(second), atol=1e-9)


def test_gaps_have_an_indicator_and_no_nan(rng):
    first, second = table(rng, 300), table(rng, 300)
    second.loc[:9, "age"] = np.nan
    second.loc[:14, "job"] = None
    second.loc[:2, "since"] = pd.NaT
    second.loc[5, "income"] = np.inf
    encoder = TableEncoder.fit(first, second)
    features = pd.DataFrame(encoder.transform(second), columns=encoder.names)
    assert np.isfinite(features.to_numpy()).all()
    assert (features["age is missing"] > 0).sum() == 10
    assert (features["income is missing"] > 0).sum() == 1
    assert (features["since is missing"] > 0).sum() == 3
    assert (
        features["job = missing"].sum() == 15
    )  # the reference has no gaps: missing is a new level


def test_levels_of_one_sample_have_a_feature_of_their_own(rng):
    first, second = table(rng, 300), table(rng, 300)
    second.loc[:19, "job"] = "courier"
    encoder = TableEncoder.fit(first, second)
    features = pd.DataFrame(encoder.transform(second), columns=encoder.names)
    assert features["job = courier"].sum() == 20
    assert (features.filter(like="job").sum(axis=1) == 1.0).all()


def test_levels_that_are_mostly_rare_are_as_rare_in_both_samples(rng):
    names = [f"name {k}" for k in range(3000)]
    first = pd.DataFrame({"x": rng.normal(size=1000), "name": rng.choice(names, 1000)})
    second = pd.DataFrame({"x": rng.normal(size=1000), "name": rng.choice(names, 1000)})
    encoder = TableEncoder.fit(first, second)
    code = encoder.transform(second)[:, [name.startswith("name") for name in encoder.names]]
    base = encoder.transform(first)[:, [name.startswith("name") for name in encoder.names]]
    np.testing.assert_allclose(code.mean(axis=0), base.mean(axis=0), atol=0.05)


def test_a_date_that_only_tells_the_sample_is_left_out(rng):
    days = pd.date_range("2024-01-01", periods=200).astype(str)
    whole = pd.DataFrame({"x": rng.normal(size=200), "day": days})
    encoder = TableEncoder.fit(whole[:100], whole[100:])
    assert roles(encoder)["day"] == "left out"
    assert encoder.notes() == ["Left out `day`: the samples cover different dates."]


def test_text_is_read_as_components(rng):
    words = ["good", "bad", "film", "plot", "actor", "music", "story", "scene", "long", "short"]
    text = [" ".join(rng.choice(words, 12)) for _ in range(200)]
    whole = pd.DataFrame({"x": rng.normal(size=200), "review": text})
    encoder = TableEncoder.fit(whole[:100], whole[100:])
    assert roles(encoder)["review"] == "text"
    apart = squared_distances(encoder, whole[:100], whole[100:])
    assert apart["review"] == pytest.approx(2.0, abs=0.5)


def test_wild_values_grow_with_the_logarithm(rng):
    first = pd.DataFrame({"x": rng.normal(size=500)})
    second = pd.DataFrame({"x": [0.0, 3.0, 1e9]})
    values = TableEncoder.fit(first, second).transform(second)[:, 0]
    assert values[1] == pytest.approx(3.0, abs=0.4)
    assert 15.0 < values[2] < 30.0


def test_spread_of_a_number_that_mostly_repeats(rng):
    mostly_zero = np.where(rng.random(1000) < 0.01, 5000.0, 0.0)
    assert robust_spread(mostly_zero) == mostly_zero.std()
    assert robust_spread(rng.normal(size=20_000)) == pytest.approx(1.0, abs=0.03)


def test_a_column_that_was_constant_and_now_varies_is_a_feature():
    first = pd.DataFrame({"x": [1.0] * 10, "y": range(10)})
    second = pd.DataFrame({"x": [1.0, 2.0] * 5, "y": range(10)})
    encoder = TableEncoder.fit(first, second, id_column="y")
    values = encoder.transform(second)[:, 0]
    assert values[0] == 0.0
    assert values[1] > 1.0


def test_a_column_that_never_varies_is_left_out():
    frame = pd.DataFrame({"x": [1.0] * 10, "y": np.arange(10.0), "empty": [None] * 10})
    encoder = TableEncoder.fit(frame)
    reasons = {column.name: column.reason for column in encoder.columns}
    assert encoder.names == ("y",)
    assert "same" in reasons["x"]
    assert "missing" in reasons["empty"]


def test_integers_with_gaps_are_the_levels_of_integers():
    first = pd.DataFrame({"code": pd.Series(["1", "2"] * 20), "x": np.arange(40.0)})
    second = pd.DataFrame({"code": pd.Series(["1", "3"] * 20), "x": np.arange(40.0)})
    encoder = TableEncoder.fit(first, second)
    assert encoder.names[:3] == ("code = 1", "code = 2", "code = 3")


def test_decimals_are_numbers():
    frame = pd.DataFrame({"price": [Decimal("1.5"), Decimal("2.5"), Decimal("9.0")]})
    assert roles(TableEncoder.fit(frame)) == {"price": "number"}


def test_arrays_have_numbered_columns(rng):
    assert TableEncoder.fit(rng.normal(size=(10, 2))).names == ("column 0", "column 1")


def test_rows_with_repeated_labels(rng):
    frame = table(rng, 50).drop(columns="customer_id")
    repeated = frame.set_axis([0] * 50)
    repeated.iloc[0, repeated.columns.get_loc("since")] = pd.NaT
    features = TableEncoder.fit(frame, repeated).transform(repeated)
    expected = frame.copy()
    expected.loc[0, "since"] = pd.NaT
    np.testing.assert_array_equal(features, TableEncoder.fit(frame, expected).transform(expected))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"columns": ["age", "size"]}, "columns"),
        ({"exclude": ["size"]}, "exclude"),
        ({"id_column": "size"}, "id_column"),
        ({"columns": ["customer_id"]}, "reference"),
    ],
)
def test_wrong_columns_are_named(rng, options, named):
    with pytest.raises(ValueError, match=named):
        TableEncoder.fit(table(rng, 50), table(rng, 50), **options)


def test_wrong_tables_are_refused(rng):
    frame = table(rng, 50)
    with pytest.raises(ValueError, match="current"):
        TableEncoder.fit(frame, frame.add_prefix("new_"))
    with pytest.raises(ValueError, match="rows"):
        TableEncoder.fit(frame.iloc[:0])
    with pytest.raises(TypeError, match="reference"):
        TableEncoder.fit(np.zeros(3))
    with pytest.raises(ValueError, match="distinct"):
        TableEncoder.fit(pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]))
    with pytest.raises(ValueError, match="age"):
        TableEncoder.fit(frame, frame.assign(age="old"))
    with pytest.raises(ValueError, match="age"):
        TableEncoder.fit(frame).transform(frame.drop(columns="age"))


@pytest.mark.parametrize(
    "values",
    [[*map(str, range(20)), "other"], [*map(str, range(200)), "V27", "V28", "E909", "E910"]],
)
def test_codes_of_numbers_and_words_are_levels(values):
    frame = pd.DataFrame({"code": values * 20})
    encoder = TableEncoder.fit(frame, frame)
    assert encoder.columns[0].role == "category"


def test_words_among_numbers_are_named():
    frame = pd.DataFrame({"x": ["1.5", "2.5", "n/a?", "3.5"], "y": range(4)})
    with pytest.raises(ValueError, match=r"column 'x'.*'n/a\?' in row 2"):
        TableEncoder.fit(frame)


def test_a_frequent_new_level_is_told_from_rare_ones():
    """Hundreds of charges stand once in the reference: only a level that is frequent in the sample is new."""
    reference = pd.DataFrame({"charge": [*(f"r{i}" for i in range(100)), *["theft"] * 150]})
    current = pd.DataFrame(
        {"charge": [*["speeding"] * 30, *(f"s{i}" for i in range(60)), *["theft"] * 90]}
    )
    encoder = TableEncoder.fit(reference, current)
    assert encoder.names == ("charge = speeding", "charge = theft", "charge is rare")
    features = encoder.transform(current)
    np.testing.assert_array_equal(features[:30], np.tile([1.0, 0.0, 0.0], (30, 1)))
    np.testing.assert_array_equal(features[30:90], np.tile([0.0, 0.0, 1.0], (60, 1)))
    # Without such a level all that the reference lacks is rare.
    again = TableEncoder.fit(reference, current.iloc[30:])
    assert again.names == ("charge = theft", "charge is rare")
