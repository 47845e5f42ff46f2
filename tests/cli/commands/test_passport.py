"""Passports as they are typed."""

import joblib
import pandas as pd

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
