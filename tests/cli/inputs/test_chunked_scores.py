"""Folders of parquet files are read as any table; large ones by what their first rows are."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.inputs import chunked_files
from shiftmetrics.cli.inputs.chunked_files import fit_at_once
from shiftmetrics.cli.inputs.chunked_scores import read_chunked_scores

pytest.importorskip("pyarrow")
N = 40


def _written(place: Path, name: str, seed: int, order: np.ndarray, **more: object) -> None:
    chances = np.random.default_rng(seed).dirichlet(np.ones(3), N)
    frame = pd.DataFrame({"row_id": np.arange(N), "seconds": 0.5 + np.arange(N) % 7})
    frame[["p_cat", "p_dog", "p_fox"]] = chances
    frame = frame.assign(**more).iloc[order].reset_index(drop=True)
    (place / name).mkdir()
    frame[:25].to_parquet(place / name / "0.parquet")
    frame[25:].to_parquet(place / name / "1.parquet")


def _changed(one: int, other: int) -> float:
    both = [np.random.default_rng(seed).dirichlet(np.ones(3), N) for seed in (one, other)]
    return float(np.mean(both[0].argmax(axis=1) != both[1].argmax(axis=1)))


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunked_files, "AT_ONCE", 0)


@pytest.mark.parametrize("is_large", [False, True])
def test_scores_are_found_among_the_columns(run, place, monkeypatch, is_large) -> None:
    if is_large:
        monkeypatch.setattr(chunked_files, "AT_ONCE", 0)
    _written(place, "old", 1, np.arange(N))
    _written(place, "new", 2, np.arange(N))
    done = run("agreement", "new", "old", "-v")
    assert done.exit_code == 0, done.output
    assert "classes cat" in done.stdout
    assert "left out seconds" in done.stdout
    assert f"{_changed(1, 2):.0%}".replace("%", " %") in done.stdout


def test_small_folders_go_by_their_ids(run, place) -> None:
    _written(place, "old", 1, np.arange(N))
    _written(place, "new", 2, np.random.default_rng(0).permutation(N))
    done = run("agreement", "new", "old")
    assert f"{_changed(1, 2):.0%}".replace("%", " %") in done.stdout


def test_large_folders_in_another_order_are_refused(fails, place, large) -> None:
    _written(place, "old", 1, np.arange(N))
    _written(place, "new", 2, np.random.default_rng(0).permutation(N))
    message = fails("agreement", "new", "old")
    assert "same order" in message
    assert "row_id" in message


@pytest.mark.parametrize("is_large", [False, True])
def test_answers_beside_labels_are_no_scores(fails, place, monkeypatch, is_large) -> None:
    if is_large:
        monkeypatch.setattr(chunked_files, "AT_ONCE", 0)
    rng = np.random.default_rng(0)
    for name in ("old", "new"):
        (place / name).mkdir()
        frame = pd.DataFrame(
            {
                "id": np.arange(N),
                "label": rng.integers(0, 2, N),
                "prediction": 1.0 * rng.integers(0, 2, N),
            }
        )
        for part in (0, 1):
            frame[part * 20 : part * 20 + 20].to_parquet(place / name / f"{part}.parquet")
    message = fails("agreement", "new", "old")
    assert "must hold" in message
    assert "answers" in message


def test_columns_may_be_in_another_order(place, large) -> None:
    _written(place, "old", 1, np.arange(N))
    (place / "new").mkdir()
    frame = pd.read_parquet(place / "old")
    frame[["p_fox", "row_id", "p_dog", "p_cat"]].to_parquet(place / "new" / "0.parquet")
    typed = [(str(place / name), name.upper()) for name in ("old", "new")]
    assert not fit_at_once([typed[0][0]])
    found = read_chunked_scores(typed, None)
    one, other = (np.asarray(file.values) for file in found.files)
    np.testing.assert_array_equal(one, other)
    named = read_chunked_scores(typed, "p_dog,p_cat")
    np.testing.assert_array_equal(np.asarray(named.files[1].values), one[:, [1, 0]])
