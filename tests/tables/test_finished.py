"""What was read, put together and said."""

from __future__ import annotations

import numpy as np
import pandas as pd

from shiftmetrics.tables.options import RoleOptions
from shiftmetrics.tables.predictions import read_predictions
from tables.variants import cells

N = 12
RNG = np.random.default_rng(0)


def test_ids_of_several_columns_and_all_roles_are_said():
    frames = []
    for _ in range(2):
        frame = pd.DataFrame({"patient": np.arange(N) // 2, "visit": np.arange(N) % 2})
        frame["prediction"] = np.array(["a", "b"], dtype=object)[RNG.integers(0, 2, N)]
        frame["latency"] = RNG.uniform(size=N)
        frames.append(frame.assign(truth=["a", "b"] * 6, site=["x", "y", "z"] * 4))
    options = RoleOptions(id="patient,visit", group="site")
    found = read_predictions(
        [cells(frames[0]), cells(frames[1], "NEW", "new.csv")], options=options
    )
    assert found.ids[:3].tolist() == ["0/0", "0/1", "1/0"]
    file = found.reading.files[0]
    assert (file.id, file.answer, file.truth, file.group) == (
        ("patient", "visit"),
        "prediction",
        "truth",
        "site",
    )
    assert file.left_out == ("latency",)
    assert found.classes == ("a", "b")


def test_whole_ids_stay_numbers_and_places_count():
    frame = pd.DataFrame({"id": np.arange(N) + 5, "prediction": RNG.integers(0, 2, N)})
    both = [cells(frame), cells(frame, "NEW", "new.csv")]
    assert read_predictions(both).ids.tolist() == frame["id"].tolist()
    assert read_predictions(both, options=RoleOptions(id="none")).ids.tolist() == list(range(N))


def test_columns_without_a_role_and_groups_stand_beside():
    frame = pd.DataFrame({"id": np.arange(N) + 5, "prediction": ["a", "b"] * 6})
    frame = frame.assign(truth=["a", "b"] * 6, site=["x", "y", "z"] * 4, latency=np.arange(N) / 7)
    both = [cells(frame), cells(frame.drop(columns="latency"), "NEW", "new.csv")]
    found = read_predictions(both, options=RoleOptions(group="site", exclude=("latency",)))
    assert [list(columns) for columns in found.beside] == [["site", "latency"], ["site"]]
    assert found.beside[0]["site"].tolist() == frame["site"].tolist()
    assert np.allclose(found.beside[0]["latency"].astype(float), frame["latency"])


def test_a_weight_may_stand_in_the_second_file_alone():
    answers = pd.DataFrame({"id": np.arange(N), "prediction": ["a", "b"] * 6})
    weights = np.arange(N) + 0.5
    old = answers.assign(prediction=["a"] * 3 + ["b"] * 9)
    new = answers.assign(w=weights).iloc[::-1].reset_index(drop=True)
    found = read_predictions(
        [cells(old), cells(new, "NEW", "new.csv")], options=RoleOptions(weight="w")
    )
    assert found.ids.tolist() == list(range(N))
    assert found.weight.tolist() == weights.tolist()
