"""What is typed of files of predictions and their columns."""

import pandas as pd
import pytest

from shiftmetrics.cli.inputs.prediction_files import (
    labels_and_column,
    listed,
    names_file,
    role_options,
    typed_roles,
    typed_source,
)
from shiftmetrics.cli.options import ColumnOptions


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"id": [1, 2], "kind": ["a", "b"]}).to_csv("labels.csv", index=False)


def test_names_split_as_in_csv():
    assert listed('a, "b,c",d') == ("a", "b,c", "d")
    assert listed(None) is None


def test_labels_are_a_column_or_a_file(place):
    options, source = typed_roles(ColumnOptions(label="kind"))
    assert (options.label, source) == ("kind", None)
    for roles in (ColumnOptions(labels="labels.csv:kind"), ColumnOptions(label="labels.csv:kind")):
        options, source = typed_roles(roles)
        assert options.label == "kind"
        assert source.path.name == "labels.csv"
    source, column = labels_and_column("labels.csv")
    assert (str(source), column) == ("labels.csv", None)


def test_what_names_a_file(place):
    assert names_file("labels.csv")
    assert names_file("labels.csv:kind")
    assert names_file("module:attribute")
    assert not names_file("kind")


def test_mistakes_are_named(place):
    with pytest.raises(ValueError, match="OLD must be an existing file, got 'no.csv'"):
        typed_source("no.csv", "OLD")
    with pytest.raises(ValueError, match="save model.predict_proba"):
        typed_source("model.pkl", "OLD")
    with pytest.raises(ValueError, match="leave out --id, or the reading"):
        role_options({"id": "a", "reading": "labels.csv"})


@pytest.mark.parametrize("typed", ["", " ", ",", "="])
def test_an_empty_name_of_an_id_is_refused(typed):
    with pytest.raises(ValueError, match="--id must name a column"):
        role_options({"id": typed})


def test_a_text_too_long_for_a_name_is_no_file():
    assert not names_file("n" * 5000)
    with pytest.raises(ValueError, match="OLD must be an existing file"):
        typed_source("n" * 5000, "OLD")
