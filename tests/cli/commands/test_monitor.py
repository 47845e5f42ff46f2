"""Batches are watched, and their state is kept."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from visits import visits


@pytest.mark.slow
def test_batches_are_watched_and_the_state_is_kept(run, clinic, passport, tmp_path):
    rng = np.random.default_rng(1)
    model = ["--model", clinic / "model.joblib", "--trust"]
    batch = tmp_path / "batch.csv"
    codes = []
    for look in range(30):
        frame = visits(rng, 40)
        if look >= 3:
            frame["paid"] = 1 - frame["paid"]
        frame.to_csv(batch, index=False)
        result = run("monitor", passport, batch, *model, "--junit", tmp_path / "m.xml")
        codes.append(result.exit_code)
        if result.exit_code:
            break
    assert codes == [0] * (len(codes) - 1) + [1]
    assert 4 <= len(codes) <= 15
    assert result.stdout.startswith("MORE ERRORS")
    state = json.loads(passport.with_suffix(".state.json").read_text())
    assert state["n_batches"] == len(codes)
    suite = ET.parse(tmp_path / "m.xml").getroot()
    assert int(suite.get("failures")) == 1


def test_a_batch_that_cannot_be_read_leaves_the_state(run, clinic, passport, tmp_path):
    model = ["--model", clinic / "model.joblib", "--trust"]
    batch = tmp_path / "batch.csv"
    rng = np.random.default_rng(2)
    visits(rng, 40).to_csv(batch, index=False)
    assert run("monitor", passport, batch, *model).exit_code == 0
    state = passport.with_suffix(".state.json")
    before = state.read_text()
    visits(rng, 40).drop(columns="city").to_csv(batch, index=False)
    result = run("monitor", passport, batch, *model)
    assert result.exit_code == 2
    assert "city" in result.output
    assert state.read_text() == before
    visits(rng, 40).to_csv(batch, index=False)
    assert run("monitor", passport, batch).exit_code == 2  # the model is missing
    assert state.read_text() == before


def test_an_alarm_is_silent_once_it_is_acknowledged(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    pd.DataFrame(rng.normal(size=(400, 2)), columns=["a", "b"]).to_csv("was.csv", index=False)
    pd.DataFrame(rng.normal(2, 1, size=(150, 2)), columns=["a", "b"]).to_csv("is.csv", index=False)
    assert run("passport", "was.csv", "--output", "p.json").exit_code == 0
    early = run("monitor", "p.json", "is.csv", "--acknowledge", "new station")
    assert early.exit_code == 2
    assert "--acknowledge" in early.output
    assert run("monitor", "p.json", "is.csv").exit_code == 1
    told = run("monitor", "p.json", "is.csv", "--acknowledge", "new station")
    assert told.exit_code == 0
    assert "Acknowledged after batch 1 (samples): new station." in told.output
    assert run("monitor", "p.json", "is.csv").exit_code == 0
    history = (tmp_path / "p.state.history.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in history]
    assert [line["acknowledged"] for line in lines] == [[], ["new station"], []]


@pytest.mark.parametrize(
    "options",
    [
        ["--junit", "batch.csv"],
        ["--junit", "p.json"],
        ["--junit", "./link.csv"],
        ["--state", "s.json", "--json", "s.json"],
        ["--json", "p.state.json"],
        ["--json", "./p.state.json"],
        ["--state", "x.html", "--report", "x.html"],
        ["--junit", "x.xml", "--report", "x.xml"],
        ["--state", "x.xml", "--junit", "x.xml"],
        ["--state", "s.json", "--json", "s.history.jsonl"],
        ["--state", "p.json"],
    ],
)
def test_a_monitor_replaces_no_other_file(options, run, fails, place):
    table = pd.DataFrame({"a": np.random.default_rng(0).normal(size=60)})
    table.to_csv("batch.csv", index=False)
    assert run("passport", "batch.csv", "--output", "p.json").exit_code == 0
    Path("link.csv").symlink_to("batch.csv")
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    message = fails("monitor", "p.json", "batch.csv", *options)
    assert options[0] in message
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
