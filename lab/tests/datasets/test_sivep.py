"""SIVEP-Gripe: what leaks the outcome is dropped, and regions are domains."""

import hashlib

import pandas as pd
import pytest

from shiftmetrics_lab.datasets import load
from shiftmetrics_lab.datasets.sources import RemoteFile, Source


def patients(**columns):
    table = {
        "is_dead": [0, 1, 1],
        "Days_hospital_to_outcome": [3, 4, 5],
        "Age": [20, 60, 70],
        "Sex": [0, 1, 1],
        "Ethnicity": [0, 4, 2],
        "Region": [4, 1, 1],
        "Fever": [1, 0, 1],
    }
    return pd.DataFrame({**table, **columns})


def test_sivep_drops_the_leak_and_encodes(tmp_path):
    patients().to_csv(tmp_path / "covid.csv", index=False)
    data = load("sivep", tmp_path)
    assert data.X.columns.tolist()[:3] == ["Age", "Sex", "Fever"]
    assert data.X["Ethnicity_Indigenous"].tolist() == [0.0, 1.0, 0.0]
    assert data.X["Region_North"].tolist() == [0.0, 1.0, 1.0]
    assert data.where(domain="North").y.tolist() == [1, 1]
    codes = load("sivep", tmp_path / "covid.csv", one_hot=False, domain="Ethnicity")
    assert codes.X.columns.tolist() == ["Age", "Sex", "Ethnicity", "Region", "Fever"]
    assert codes.domain.tolist() == [0, 4, 2]


def test_sivep_refuses(tmp_path):
    file = tmp_path / "covid.csv"
    with pytest.raises(FileNotFoundError, match="one csv file in .* got 0"):
        load("sivep", tmp_path)
    patients().drop(columns="Age").to_csv(file, index=False)
    with pytest.raises(
        ValueError, match=r"must be the SIVEP-Gripe table, got one without \['Age'\]"
    ):
        load("sivep", file)
    patients(Region=[0, 1, 9]).to_csv(file, index=False)
    with pytest.raises(ValueError, match="Column 'Region' must be codes 0 to 4"):
        load("sivep", file)


def test_sivep_downloads(server, tmp_path):
    content = patients().to_csv(index=False).encode()
    server.files["/a.csv"] = content
    checksum = "sha256:" + hashlib.sha256(content).hexdigest()
    mirror = Source(
        name="sivep",
        files=(RemoteFile(url=server.url + "/a.csv", name="a.csv", checksum=checksum),),
        terms="",
    )
    assert len(load("sivep", tmp_path / "home", download=True, progress=False, source=mirror)) == 3


@pytest.mark.realdata
def test_real_sivep_has_the_papers_counts(data_folder):
    data = load("sivep", data_folder / "covid_sivep")
    assert data.X.shape == (6882, 29)
    assert round(data.y.mean(), 3) == 0.473
    rates = [round(float(data.where(domain=region).y.mean()), 3) for region in range(5)]
    assert rates == [0.267, 0.731, 0.646, 0.279, 0.45]
