"""Files of scores of the same rows, as commands of agreement take them."""

import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.inputs.score_files import read_score_files
from shiftmetrics.cli.options import ColumnOptions

RNG = np.random.default_rng(0)
CLASSES = ["cat", "dog", "eel"]
SCORES = pd.DataFrame(RNG.dirichlet([1.0, 1.0, 1.0], 12), columns=CLASSES)
OTHER = pd.DataFrame(RNG.dirichlet([1.0, 1.0, 1.0], 12), columns=CLASSES)


def read(folder, first, second, more=(), **options):
    typed = []
    for name, frame in (("a.csv", first), ("b.csv", second)):
        frame.to_csv(folder / name, index=False)
        typed.append((str(folder / name), name))
    beside = {key: options.pop(key) for key in ("weight", "groups", "align") if key in options}
    return read_score_files(typed, ColumnOptions(**options), **beside)


def test_rows_and_classes_come_in_the_order_of_the_first_file(tmp_path):
    ids = [f"r{place}" for place in range(12)]
    second = OTHER[["eel", "cat", "dog"]].assign(row_id=ids).sample(frac=1.0, random_state=0)
    found = read(tmp_path, SCORES.assign(row_id=ids), second)
    assert found.ids == ids
    assert found.classes == tuple(CLASSES)
    np.testing.assert_allclose(found.scores[0], SCORES)
    np.testing.assert_allclose(found.scores[1], OTHER)


def test_what_stands_beside_the_scores_is_none(tmp_path):
    first = SCORES.assign(latency_ms=RNG.gamma(2.0, 9.0, 12), confidence=SCORES.max(axis=1))
    second = OTHER.assign(latency_ms=RNG.gamma(2.0, 9.0, 12), confidence=OTHER.max(axis=1))
    found = read(tmp_path, first, second)
    assert found.scores[0].shape == (12, 3)
    assert "left out latency_ms" in " ".join(found.said)


def test_percentages_and_one_column_are_probabilities(tmp_path):
    found = read(tmp_path, 100.0 * SCORES, 100.0 * OTHER)
    np.testing.assert_allclose(found.scores[0], SCORES)
    alone = [part[["cat"]].rename(columns={"cat": "probability"}) for part in (SCORES, OTHER)]
    found = read(tmp_path, *alone, columns="probability")
    np.testing.assert_allclose(found.scores[1][:, 1], OTHER["cat"])
    np.testing.assert_allclose(found.scores[1].sum(axis=1), 1.0)


def test_labels_become_columns_and_gaps_are_named(tmp_path):
    truth = np.array([CLASSES[place % 3] for place in range(12)], dtype=object)
    found = read(tmp_path, SCORES.assign(label=truth), OTHER.assign(label=truth))
    assert found.label_places().tolist() == [place % 3 for place in range(12)]
    truth[4] = None
    found = read(tmp_path, SCORES.assign(label=truth), OTHER.assign(label=truth))
    with pytest.raises(
        ValueError, match="--label must be given for each row, got none for 1 of 12"
    ):
        found.label_places()


def test_weights_and_groups_are_columns_or_files(tmp_path):
    weights = RNG.uniform(0.5, 2.0, 12)
    scenes = np.repeat([10, 9, 2], 4)
    first = SCORES.assign(w=weights, scene=scenes)
    found = read(tmp_path, first, OTHER, weight="w", groups="scene")
    np.testing.assert_allclose(found.weights, weights)
    assert found.groups.tolist() == scenes.tolist()
    np.save(tmp_path / "w.npy", weights)
    found = read(tmp_path, SCORES, OTHER, weight=str(tmp_path / "w.npy"))
    np.testing.assert_allclose(found.weights, weights)
    with pytest.raises(
        ValueError, match=r"--groups must name a column of a\.csv or b\.csv, or a file, got 'x'"
    ):
        read(tmp_path, SCORES, OTHER, groups="x")


def test_answers_alone_and_rows_of_data_are_no_scores(tmp_path):
    answers = pd.DataFrame({"row_id": range(3, 15), "prediction": CLASSES * 4})
    with pytest.raises(ValueError, match="got answers alone.*shiftmetrics diff"):
        read(tmp_path, answers, answers)
    counts = pd.DataFrame(RNG.integers(0, 9, (12, 3)), columns=CLASSES)
    with pytest.raises(ValueError, match="whole numbers in every column"):
        read(tmp_path, counts, counts + 1)


def test_large_arrays_stay_where_they_lie(tmp_path):
    np.save(tmp_path / "a.npy", SCORES.to_numpy())
    typed = [(str(tmp_path / "a.npy"), "SHIFTED"), (str(tmp_path / "a.npy"), "REFERENCE")]
    found = read_score_files(typed, ColumnOptions())
    assert isinstance(found.scores[0], np.memmap)
    assert found.classes == ("0", "1", "2")
    np.save(tmp_path / "a.npy", np.arange(12))
    with pytest.raises(ValueError, match="Labels have no scores"):
        read_score_files(typed, ColumnOptions())
