import numpy as np
import pandas as pd
import pytest

from shiftmetrics_lab.shifts import CategorySwap, ColumnNoise, MissingValues, UnitError, apply_shift

N = 2000


@pytest.fixture
def table():
    generator = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": generator.integers(0, 90, N),
            "dose": generator.normal(5.0, 2.0, N),
            "sick": generator.random(N) < 0.3,
            "sex": generator.choice(["f", "m"], N),
            "region": pd.Categorical(generator.choice(["n", "s", "w"], N, p=[0.6, 0.3, 0.1])),
            "small": generator.integers(0, 100, N).astype(np.int8),
            "nullable": pd.array(generator.integers(0, 9, N), dtype="Int64"),
        },
        index=pd.Index(np.arange(N)[::-1], name="patient"),
    )


SHIFTS = [
    ColumnNoise(),
    MissingValues(),
    MissingValues(fill=-1),
    CategorySwap(),
    UnitError(),
    UnitError(factor=0.1),
    UnitError(["age"], factor=12),
]


@pytest.mark.parametrize("shift", SHIFTS, ids=repr)
def test_tables_stay_tables_in_their_order(shift, table):
    before = table.copy()
    shifted = shift(table, strength=0.5, rng=0)
    assert isinstance(shifted, pd.DataFrame)
    assert shifted.index.equals(table.index)
    assert list(shifted.columns) == list(table.columns)
    assert not shifted.equals(table)
    pd.testing.assert_frame_equal(table, before)
    pd.testing.assert_frame_equal(shift(table, strength=0.5, rng=0), shifted)
    pd.testing.assert_frame_equal(shift(table, strength=0, rng=0), table)
    assert apply_shift(shift, table, strength=0.5, rng=0).ratio > 0.3


def test_batches_give_what_the_whole_gives(table):
    for shift in (
        ColumnNoise(["dose", "age"], scales={"dose": 2.0, "age": 5.0}),
        MissingValues(),
        UnitError(["dose"]),
    ):
        whole = shift(table, strength=0.4, rng=1)
        parts = [
            shift(table.iloc[:900], strength=0.4, rng=1),
            shift(table.iloc[900:], strength=0.4, rng=1, first_row=900),
        ]
        pd.testing.assert_frame_equal(pd.concat(parts), whole, check_dtype=False)


def test_noise_is_in_units_of_each_column(table):
    noise = ColumnNoise()(table, strength=0.5, rng=0)
    assert (noise["dose"] - table["dose"]).std() == pytest.approx(
        0.5 * table["dose"].std(), rel=0.05
    )
    assert (noise["age"] - table["age"]).std() == pytest.approx(0.5 * table["age"].std(), rel=0.05)
    assert abs(np.corrcoef(noise["dose"] - table["dose"], noise["age"] - table["age"])[0, 1]) < 0.1
    assert noise.dtypes.equals(table.dtypes)  # whole numbers stay whole
    for name in ("sick", "sex", "region"):
        assert noise[name].equals(table[name])
    far = ColumnNoise(["small"])(table, strength=50.0, rng=0)["small"]
    assert far.between(-128, 127).all()
    fixed = ColumnNoise(["dose"], scales={"dose": 3.0})(table, strength=1.0, rng=0)
    assert (fixed["dose"] - table["dose"]).std() == pytest.approx(3.0, rel=0.05)


def test_missing_values_fall_evenly_and_nest(table):
    weak, strong = (MissingValues()(table, strength=s, rng=0) for s in (0.1, 0.4))
    assert strong.isna().mean().to_numpy() == pytest.approx(0.4, abs=0.04)
    assert not (weak.isna() & strong.notna()).any(axis=None)
    lost = strong.isna()
    assert abs(np.corrcoef(lost["age"], lost["dose"])[0, 1]) < 0.1
    kept = strong["dose"].notna()
    assert strong.loc[kept, "dose"].equals(table.loc[kept, "dose"])
    assert strong["age"].dtype == np.float64
    assert strong["nullable"].dtype == "Int64"
    assert strong["region"].dtype == table["region"].dtype
    assert MissingValues()(table, strength=1.0).isna().all(axis=None)


def test_a_code_can_stand_for_missing_values(table):
    coded = MissingValues(["sex", "region"], fill="?")(table, strength=0.3, rng=0)
    assert (coded["sex"] == "?").mean() == pytest.approx(0.3, abs=0.04)
    assert "?" in coded["region"].cat.categories
    coded = MissingValues(["age", "sick"], fill=-1)(table, strength=0.3, rng=0)
    assert coded["age"].dtype == table["age"].dtype
    assert (coded["sick"] == -1).mean() == pytest.approx(0.3, abs=0.04)


def test_swapped_categories_are_others_in_their_own_shares(table):
    shifted = CategorySwap()(table, strength=1.0, rng=0)
    for name in ("sex", "region", "sick"):
        assert (shifted[name].astype(str) != table[name].astype(str)).all()
    assert shifted["region"].dtype == table["region"].dtype
    assert shifted["sick"].dtype == bool
    west = shifted.loc[table["region"] == "w", "region"].value_counts(normalize=True)
    north = shifted.loc[table["region"] == "n", "region"].value_counts(normalize=True)
    assert west["n"] == pytest.approx(2 / 3, abs=0.1)
    assert north["s"] == pytest.approx(3 / 4, abs=0.05)
    some = CategorySwap(["age"])(table, strength=0.2, rng=0)
    assert (some["age"] != table["age"]).mean() == pytest.approx(0.2, abs=0.03)
    with_gaps = table.assign(sex=table["sex"].where(table["dose"] > 3))
    assert (
        CategorySwap(["sex"])(with_gaps, strength=1.0, rng=0)["sex"]
        .isna()
        .equals(with_gaps["sex"].isna())
    )


def test_unit_errors_multiply(table):
    shifted = UnitError(["age", "dose"], factor=12)(table, strength=0.3, rng=0)
    wrong = shifted["dose"] != table["dose"]
    assert wrong.mean() == pytest.approx(0.3, abs=0.04)
    np.testing.assert_allclose(shifted.loc[wrong, "dose"], 12 * table.loc[wrong, "dose"])
    assert shifted["age"].dtype == table["age"].dtype
    assert UnitError(["age"], factor=0.1)(table, strength=1.0)["age"].dtype == np.float64
    overflow = UnitError(["small"], factor=1000)(table, strength=1.0)["small"]
    np.testing.assert_array_equal(overflow, 1000 * table["small"].astype(int))


def test_arrays_are_tables_too():
    X = np.random.default_rng(0).normal(size=(50, 3))
    shifted = ColumnNoise([1])(X, strength=0.5, rng=0)
    assert isinstance(shifted, np.ndarray)
    assert (shifted != X).any(axis=0).tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("shift", "X", "error", "message"),
    [
        (
            ColumnNoise(["height"]),
            pd.DataFrame({"a": [1.0]}),
            ValueError,
            "columns must be among 'a'",
        ),
        (ColumnNoise(["a"]), pd.DataFrame({"a": ["x"]}), TypeError, "numeric columns"),
        (ColumnNoise("a"), pd.DataFrame({"a": [1.0]}), TypeError, "a list of column names"),
        (ColumnNoise([]), pd.DataFrame({"a": [1.0]}), ValueError, "an empty list"),
        (ColumnNoise(), pd.DataFrame({"a": ["x"]}), ValueError, "a column for ColumnNoise"),
        (
            ColumnNoise(scales={"a": -1.0}),
            pd.DataFrame({"a": [1.0]}),
            ValueError,
            r"scales\['a'\] must be a number",
        ),
        (
            CategorySwap(["a"]),
            pd.DataFrame({"a": ["x", "x"]}),
            ValueError,
            "at least two categories",
        ),
        (
            UnitError(factor=float("nan")),
            pd.DataFrame({"a": [1.0]}),
            ValueError,
            "factor must be a number that is finite",
        ),
        (UnitError(), [[1.0]], TypeError, "a pandas DataFrame"),
        (UnitError(), np.array([["x"]]), TypeError, "2-D array of numbers"),
        (UnitError(), pd.DataFrame({"a": []}), ValueError, "at least one row"),
        (
            UnitError(),
            pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]),
            ValueError,
            "distinct column names, got repeated 'a'",
        ),
    ],
)
def test_bad_input_is_named(shift, X, error, message):
    with pytest.raises(error, match=message):
        shift(X, strength=0.5, rng=0)


@pytest.mark.realdata
def test_hospital_records_are_corrupted(data_folder):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    records = pd.read_csv(data_folder / "covid_sivep" / "covid_sivep.csv.gz")
    y = records.pop("is_dead")
    X = records.drop(columns="Days_hospital_to_outcome")
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    clean = model.score(X, y)
    scores = {
        "months": model.score(UnitError(["Age"], factor=12)(X, strength=0.5, rng=0), y),
        "swaps": model.score(CategorySwap(["Region", "Sex"])(X, strength=0.5, rng=0), y),
        "noise": model.score(ColumnNoise()(X, strength=2.0, rng=0), y),
        "missing": model.score(MissingValues(fill=0)(X, strength=0.5, rng=0), y),
    }
    assert clean > 0.65
    assert all(0.4 < score < clean - 0.005 for score in scores.values()), (clean, scores)
