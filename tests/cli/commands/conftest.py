"""A folder of visits with a model of them, and a passport of them."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from visits import visits


@pytest.fixture(scope="session")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    rng = np.random.default_rng(0)
    reference, current = visits(rng, 200), visits(rng, 200)
    current.loc[120:159, "city"] = "C"
    model = LogisticRegression().fit(reference[["x"]], reference["paid"])
    joblib.dump(model, folder / "model.joblib")
    reference.to_csv(folder / "reference.csv", index=False)
    current.to_csv(folder / "labelled.csv", index=False)
    current.drop(columns="paid").to_csv(folder / "current.csv", index=False)
    return folder


@pytest.fixture
def passport(run, clinic, tmp_path):
    path = tmp_path / "passport.json"
    options = ["--model", clinic / "model.joblib", "--trust", "--label", "paid", "--exclude", "day"]
    result = run("passport", clinic / "reference.csv", "--output", path, *options)
    assert result.exit_code == 0, result.output
    assert "Watches errors" in result.stdout
    return path
