"""ACS: the features of the stability paper, checked against loops over the rows."""

import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.datasets.acs import acs_features
from shiftmetrics_lab.datasets.sources import RemoteFile

RACES = [
    "white",
    "black",
    "am_ind",
    "alaska",
    "am_alaska",
    "asian",
    "hawaiian",
    "other",
    "two_or_more",
]


def persons(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "SEX": rng.integers(1, 3, n),
            "AGEP": rng.integers(0, 96, n),
            "WKHP": rng.integers(0, 99, n).astype(float),
            "MAR": rng.integers(1, 6, n),
            "RELP": rng.integers(0, 18, n),
            "RAC1P": rng.integers(1, 10, n),
            "COW": rng.integers(1, 10, n).astype(float),
            "OCCP": rng.choice([10, 440, 500, 2100, 2145, 3000, 4850, 9760, 9830, 9920], n).astype(
                float
            ),
            "SCHL": rng.integers(1, 25, n).astype(float),
            "PINCP": rng.choice(
                [-500.0, 0.0, 100.0, 101.0, 30_000.0, 30_001.0, 50_000.0, 50_001.0], n
            ),
            "PWGTP": rng.integers(0, 200, n),
            "PUBCOV": rng.integers(1, 3, n),
            "CIT": rng.integers(1, 6, n),
            "ESR": rng.integers(1, 7, n).astype(float),
            "ST": 6,
        }
    )
    for name in ("DIS", "ESP", "MIG", "MIL", "ANC", "NATIVITY", "DEAR", "DEYE", "DREM", "FER"):
        frame[name] = rng.integers(1, 5, n).astype(float)
    for name in ("COW", "OCCP", "SCHL", "ESR", "FER", "MIL"):
        frame.loc[rng.random(n) < 0.1, name] = np.nan
    return frame


def test_the_income_recipe_row_by_row():
    frame = persons()
    X, y, rows = acs_features(frame, task="income", standardize="none")
    assert X.shape[1] == 76
    expected = [
        position
        for position, person in frame.iterrows()
        if person.AGEP > 16 and person.PINCP > 100 and person.WKHP > 0 and person.PWGTP >= 1
    ]
    assert rows.tolist() == expected
    np.testing.assert_array_equal(y, [frame.PINCP[position] > 50_000 for position in expected])
    for place, position in enumerate(expected):
        person, row = frame.loc[position], X.iloc[place]
        assert [row[f"race_{race}"] for race in RACES].index(1.0) == person.RAC1P - 1
        assert row["SCHL"] == (0.0 if np.isnan(person.SCHL) else person.SCHL)
        assert row["schl_postgrad"] == (person.SCHL >= 22)
        assert row["big_occp_MGR"] == (person.OCCP in (10, 440))
        assert row["big_occp_BUS"] == (person.OCCP == 500)
        # Legal occupations have no indicator of their own, but are large.
        assert row["large_occp_Lg"] == (person.OCCP in (10, 440, 500, 2100, 2145))
        assert row["large_occp_Semi_Lg"] == (person.OCCP in (3000, 4850))
        assert row["large_occp_Non_Lg"] == (person.OCCP in (9760, 9830, 9920))
        occupations = row.filter(like="big_occp_").sum()
        assert occupations == (0 if np.isnan(person.OCCP) or person.OCCP in (2100, 2145) else 1)
        assert row.filter(like="relp_").sum() == 1
        assert row.filter(like="cow_").sum() == (not np.isnan(person.COW))
    assert "big_occp_LGL" not in X


def test_the_public_coverage_recipe():
    frame = persons()
    X, y, rows = acs_features(frame, task="public_coverage", standardize="none")
    assert X.shape[1] == 42
    kept = frame[(frame.AGEP < 65) & (frame.PINCP <= 30_000)]
    assert rows.tolist() == kept.index.tolist()
    np.testing.assert_array_equal(y, kept.PUBCOV == 1)
    np.testing.assert_array_equal(X["CIT_not"], kept.CIT == 5)
    np.testing.assert_array_equal(X["ESR_armed"], kept.ESR == 4)
    np.testing.assert_array_equal(X["FER"], kept.FER.fillna(0.0))


def test_standardize_leaves_sex_and_age_unless_asked():
    frame = persons()
    raw = acs_features(frame, standardize="none")[0]
    usual = acs_features(frame)[0]
    every = acs_features(frame, standardize="all")[0]
    pd.testing.assert_frame_equal(usual[["SEX", "AGEP"]], raw[["SEX", "AGEP"]])
    varying = raw.columns[raw.std() > 0]
    np.testing.assert_allclose(usual[varying].iloc[:, 2:].std(ddof=0), 1.0)
    np.testing.assert_allclose(every[varying].std(ddof=0), 1.0)
    np.testing.assert_allclose(every.mean(), 0.0, atol=1e-12)
    constant = raw.columns[raw.std() == 0]
    assert (usual[constant] == 0).all().all()


def test_acs_from_a_folder_as_folktables_keeps_it(tmp_path):
    folder = tmp_path / "2018" / "1-Year"
    folder.mkdir(parents=True)
    first, second = persons(seed=1), persons(seed=2).assign(ST=48)
    first.to_csv(folder / "psam_p06.csv", index=False)
    second.to_csv(folder / "psam_p48.csv", index=False)
    data = load("acs", tmp_path, states=("CA", "TX"), domain="ST")
    assert data.domain_names == ("ST 6", "ST 48")
    both = pd.concat([first, second], ignore_index=True)
    X, y, rows = acs_features(both)
    pd.testing.assert_frame_equal(data.X, X)
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_array_equal(data.domain, (rows >= len(first)).astype(int))
    by_race = load("acs", folder / "psam_p06.csv")
    assert len(by_race.domain_names) == 9
    with pytest.raises(FileNotFoundError, match=r"no 'psam_p36.csv' in .* download=True"):
        load("acs", tmp_path, states=("NY",))


def test_acs_of_early_years_has_other_file_names(tmp_path):
    persons().to_csv(tmp_path / "ss14pca.csv", index=False)
    assert len(load("acs", tmp_path, year=2014)) > 0


def test_acs_downloads_from_the_census(server, tmp_path, monkeypatch):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("psam_p06.csv", persons().to_csv(index=False))
    server.files["/programs-surveys/acs/data/pums/2018/1-Year/csv_pca.zip"] = buffer.getvalue()
    from shiftmetrics_lab.datasets import acs

    to_census = RemoteFile

    def to_server(*, url, name):
        return to_census(url=url.replace("https://www2.census.gov", server.url), name=name)

    monkeypatch.setattr(acs, "RemoteFile", to_server)
    data = load("acs", tmp_path, download=True, progress=False)
    pd.testing.assert_frame_equal(data.X, acs_features(persons())[0])
    assert (tmp_path / "2018/1-Year/csv_pca.zip.sha256").is_file()
    assert len(load("acs", tmp_path)) == len(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "wealth"}, "task must be one of 'income', 'public_coverage', 'employment'"),
        ({"standardize": True}, "standardize must be one of"),
        ({"states": ("XX",)}, "states must be one of"),
        ({"year": 2019}, "year must be an integer between 2014 and 2018, got 2019"),
        ({"domain": "COLOUR"}, "domain must be a column"),
    ],
)
def test_acs_refuses(tmp_path, arguments, message):
    persons().to_csv(tmp_path / "psam_p06.csv", index=False)
    with pytest.raises(ValueError, match=message):
        load("acs", tmp_path, **arguments)


def test_acs_names_missing_columns_and_empty_tasks():
    with pytest.raises(
        ValueError, match="with the columns of 'income', got one without COW, PINCP"
    ):
        acs_features(persons().drop(columns=["COW", "PINCP"]))
    with pytest.raises(ValueError, match="records that the task 'income' keeps, got none"):
        acs_features(persons().assign(AGEP=3))


@pytest.mark.realdata
def test_real_employment_codes(data_folder):
    frame = pd.read_parquet(data_folder / "acs_employment_ma_2015_2018" / "employment.parquet")
    X, y, rows = acs_features(
        frame.assign(ESR=np.where(frame.employed == 1, 1, 6)), task="employment"
    )
    assert X.shape == (80_000, 16)
    assert len(rows) == 80_000
    np.testing.assert_array_equal(y, frame.employed)
