"""Two files of features: numbers as they are, words for the measure to read."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.inputs import chunked_files
from shiftmetrics.cli.inputs.feature_samples import (
    FeatureOptions,
    array_of_sample,
    read_feature_samples,
    refuse_options,
)

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(30, 3)), columns=["a", "b", "c"])


def read(folder, test, reference, **options):
    for name, frame in (("t.csv", test), ("r.csv", reference)):
        frame.to_csv(folder / name, index=False)
    return read_feature_samples(
        str(folder / "t.csv"), str(folder / "r.csv"), FeatureOptions(**options)
    )


def test_ids_and_labels_are_no_features(tmp_path):
    test = TABLE.assign(row_id=range(100, 130), label=[0, 1] * 15)
    reference = test[["label", "c", "b", "a", "row_id"]]
    first, second = read(tmp_path, test, reference)
    assert list(first.values.columns) == list(second.values.columns) == ["a", "b", "c"]
    assert first.label.tolist() == [0, 1] * 15
    assert first.ids[0] == "100"
    assert first.notes[:2] == ["Took label as the label.", "Took row_id as the id."]
    np.testing.assert_allclose(array_of_sample(second), TABLE)


def test_pairs_follow_their_ids(tmp_path):
    test = TABLE.assign(row_id=range(100, 130))
    first, second = read(
        tmp_path, test, test.sample(frac=1.0, random_state=1), id_column="row_id", paired=True
    )
    np.testing.assert_allclose(array_of_sample(second), array_of_sample(first))
    assert second.ids == first.ids


def test_decimal_commas_are_numbers(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    TABLE.to_csv(tmp_path / "r.csv", index=False)
    first, _ = read_feature_samples(
        str(tmp_path / "t.csv"), str(tmp_path / "r.csv"), FeatureOptions()
    )
    np.testing.assert_allclose(array_of_sample(first), TABLE)


def test_words_are_left_to_the_measure(tmp_path):
    table = TABLE.assign(city=["A", "B"] * 15)
    first, _ = read(tmp_path, table, table)
    assert first.table is not None
    left_out, _ = read(tmp_path, table, table, exclude="city")
    assert list(left_out.values.columns) == ["a", "b", "c"]


def test_a_column_of_one_file_is_asked_for(tmp_path):
    with pytest.raises(ValueError, match="TEST alone has the column 'kind'.*--label kind"):
        read(tmp_path, TABLE.assign(kind="new"), TABLE)
    first, _ = read(tmp_path, TABLE.assign(kind="new"), TABLE, label="kind")
    assert set(first.label) == {"new"}


def test_options_that_do_not_fit(tmp_path):
    np.save(tmp_path / "a.npy", TABLE.to_numpy())
    path = str(tmp_path / "a.npy")
    with pytest.raises(ValueError, match="--id must go with tables that have named columns"):
        read_feature_samples(path, path, FeatureOptions(id_column="x"))
    with pytest.raises(ValueError, match="--size must go alone"):
        refuse_options({"--text": None, "--size": 3}, "go alone")


@pytest.mark.parametrize("is_large", [False, True])
def test_folders_have_the_ids_and_labels_of_one_file(place, monkeypatch, is_large):
    pytest.importorskip("pyarrow")
    if is_large:
        monkeypatch.setattr(chunked_files, "AT_ONCE", 0)
    rng = np.random.default_rng(0)
    for k, name in enumerate(("new", "old")):
        frame = pd.DataFrame({"row_id": np.arange(40) + 100 * k, "x": rng.normal(size=40)})
        frame = frame.assign(z=rng.normal(size=40), label=rng.integers(0, 2, 40))
        frame.to_parquet(f"{name}.parquet")
        Path(name).mkdir()
        for part in (0, 1):
            frame[part * 20 : part * 20 + 20].to_parquet(f"{name}/{part}.parquet")
    whole = read_feature_samples("new.parquet", "old.parquet", FeatureOptions())
    parts = read_feature_samples("new", "old", FeatureOptions())
    assert (
        parts[0].notes == whole[0].notes == ["Took label as the label.", "Took row_id as the id."]
    )
    for one, other in zip(parts, whole, strict=True):
        np.testing.assert_array_equal(np.asarray(one.values), np.asarray(other.values))
