"""Texts with their labels, in the order of their numbers, and pairs that stay aligned."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics_lab.datasets import load


@pytest.fixture
def imdb(tmp_path):
    for split in ("train", "test"):
        for label, name in enumerate(("neg", "pos")):
            folder = tmp_path / "aclImdb" / split / name
            folder.mkdir(parents=True)
            for number in (0, 2, 10):
                (folder / f"{number}_{8 * label + 1}.txt").write_text(
                    f"{split} {name} {number} é", encoding="utf-8"
                )
    return tmp_path


def test_imdb_in_the_order_of_the_numbers(imdb):
    data = load("imdb", imdb)
    assert data.X[:3] == ["test neg 0 é", "test neg 2 é", "test neg 10 é"]
    assert data.y.tolist() == [0, 0, 0, 1, 1, 1]
    assert load("imdb", imdb / "aclImdb", split="train").X[-1] == "train pos 10 é"
    for file in (imdb / "aclImdb" / "train" / "pos").iterdir():
        file.unlink()
    with pytest.raises(FileNotFoundError, match="no text files in .*pos"):
        load("imdb", imdb, split="train")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_text_pairs_stay_aligned(tmp_path, suffix):
    table = pd.DataFrame(
        {
            "text_original": ["good, really", "bad", "fine"],
            "label_original": ["Positive", "Negative", "Positive"],
            "text_revised": ["bad\treally", "good", "awful"],
            "label_revised": [0, 1, 0],
            "split": ["train", "dev", "train"],
        }
    )
    file = tmp_path / f"pairs{suffix}"
    if suffix == ".parquet":
        table.to_parquet(file)
    else:
        table.to_csv(file, sep="\t" if suffix == ".tsv" else ",", index=False)
    shifted, reference = load("text_pairs", file, split="train")
    assert shifted.X == ["bad\treally", "awful"]
    assert reference.X == ["good, really", "fine"]
    assert reference.y.tolist() == [1, 1]
    assert shifted.y.tolist() == [0, 0]


def test_text_pairs_refuse(tmp_path):
    file = tmp_path / "pairs.csv"
    with pytest.raises(FileNotFoundError, match="no table"):
        load("text_pairs", file)
    table = pd.DataFrame({"text_a": ["x"], "label_a": ["maybe"], "text_b": ["y"], "label_b": [1]})
    table.to_csv(file)
    with pytest.raises(ValueError, match=r"got one without \['text_revised'"):
        load("text_pairs", file)
    with pytest.raises(
        ValueError, match="Column 'label_a' must be negative or positive, got 'maybe'"
    ):
        load("text_pairs", file, edited="b", original="a")
    with pytest.raises(ValueError, match="split must be one of no such column"):
        load("text_pairs", file, edited="b", original="a", split="test")


@pytest.mark.realdata
def test_real_counterfactual_reviews(data_folder):
    folder = data_folder / "imdb_counterfactual"
    shifted, reference = load("text_pairs", folder / "imdb_counterfactual_pairs.parquet")
    assert len(shifted) == len(reference) == 2435
    assert np.mean(shifted.y == reference.y) == 0.0
    contrast, _ = load("text_pairs", folder / "imdb_contrast_sets.parquet", edited="contrast")
    assert len(contrast) == 588
