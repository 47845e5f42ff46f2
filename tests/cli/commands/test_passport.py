"""Passports as they are typed."""

import errno

import joblib
import numpy as np
import pandas as pd
import pytest

from seasonal import month_of, year_of
from shiftmetrics.decisions import Passport, make_passport


def test_a_foreign_file_is_no_passport(run, clinic, tmp_path):
    path = tmp_path / "passport.json"
    path.write_text("{}")
    assert run("monitor", path, clinic / "current.csv").exit_code == 2
    result = run("passport", clinic / "reference.csv", "--output", path)
    assert result.exit_code == 2
    assert path.read_text() == "{}"


def test_the_file_is_what_the_function_makes(run, clinic, passport):
    reference = pd.read_csv(clinic / "reference.csv")
    model = joblib.load(clinic / "model.joblib")
    expected = make_passport(reference, model=model, label="paid", exclude=["day"], rng=0)
    assert Passport.load(passport).equals(expected)


def test_a_model_and_a_column_of_predictions_exclude_each_other(fails, clinic, tmp_path):
    model = ["--model", clinic / "model.joblib", "--trust", "--prediction", "paid"]
    path = tmp_path / "passport.json"
    message = fails("passport", clinic / "reference.csv", "--output", path, *model)
    assert "--prediction" in message
    assert "--model" in message
    assert not path.exists()


def test_dates_of_two_readings_are_asked_for_and_the_remedy_works(run, tmp_path):
    rng = np.random.default_rng(0)
    parts = rng.integers(1, 13, (100, 2))
    frame = pd.DataFrame(
        {"when": [f"{a:02d}/{b:02d}/2024" for a, b in parts], "x": rng.normal(size=100)}
    )
    path = tmp_path / "reference.csv"
    frame.to_csv(path, index=False)
    output = tmp_path / "p.json"
    asked = run("passport", path, "--output", output)
    assert asked.exit_code == 2
    assert "--date-order day" in asked.output
    assert "--exclude when" in asked.output
    for remedy in (["--date-order", "day"], ["--exclude", "when"]):
        found = run("passport", path, "--output", output, *remedy)
        assert found.exit_code == 0, found.output


@pytest.mark.parametrize("is_there", [True, False])
def test_an_output_that_cannot_be_written_leaves_the_file_as_it_was(
    run, tmp_path, monkeypatch, is_there
):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "p.json"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    frame.to_csv(tmp_path / "r.csv", index=False)
    if is_there:
        assert run("passport", tmp_path / "r.csv", "--output", path, "--quiet").exit_code == 0
    before = path.read_bytes() if is_there else None
    frame[:30].to_csv(tmp_path / "r.csv", index=False)
    monkeypatch.setattr("shiftmetrics.cli.commands.passport.say", full)
    assert run("passport", tmp_path / "r.csv", "--output", path).exit_code != 0
    assert (path.read_bytes() if path.exists() else None) == before


def test_seasons_are_told_apart_as_typed(run, tmp_path):
    rng = np.random.default_rng(0)
    year_of(rng, 60).drop(columns=["label", "guess"]).to_csv(tmp_path / "year.csv", index=False)
    july = month_of(rng, 7).drop(columns=["label", "guess"])
    july.to_csv(tmp_path / "july.csv", index=False)
    path = tmp_path / "p.json"
    plain = run("passport", tmp_path / "year.csv", "--output", path)
    assert "--season month --time day" in plain.output
    warned = run("monitor", path, tmp_path / "july.csv", "--state", tmp_path / "s.json")
    assert "an alarm may be the season's" in " ".join(warned.output.split())
    options = ["--season", "month", "--time", "day"]
    made = run("passport", tmp_path / "year.csv", "--output", path, *options)
    assert made.exit_code == 0, made.output
    assert "same month of the reference" in " ".join(made.output.split())
    calm = run("monitor", path, tmp_path / "july.csv", "--state", tmp_path / "t.json")
    assert calm.exit_code == 0, calm.output
    assert "an alarm may be the season's" not in " ".join(calm.output.split())
    moved = july.assign(temp=july["temp"] - 20)
    moved.to_csv(tmp_path / "moved.csv", index=False)
    report = ["--report", tmp_path / "r.html"]
    raised = run("monitor", path, tmp_path / "moved.csv", "--state", tmp_path / "t.json", *report)
    assert raised.exit_code == 1, raised.output
    assert "temp" in raised.output
