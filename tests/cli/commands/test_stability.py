import json

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Resampling, Result
from shiftmetrics._core.documents import read_results
from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion, stability_curve


def test_distances_from_a_column(run, folder):
    result = run(
        "stability", folder / "patients.csv", "--distances", "distance", "--threshold", "0.4", "--id", "patient",
        "--label", "died", "--json", folder / "out.json", "--report", folder / "r.html",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    distances = pd.read_csv(folder / "patients.csv")["distance"].to_numpy()
    expected = stability_criterion(ZeroOneLoss(distances), 0.4)
    assert expected.headline() in result.stdout
    assert Result.from_json(folder / "out.json").equals(expected)
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "How far the worst case perturbs samples" in page
    assert ">age<" in page


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_losses_prices_and_weights(run, folder, divergence):
    frame = pd.read_csv(folder / "patients.csv")
    weights = np.random.default_rng(0).random(len(frame))
    np.save(folder / "w.npy", weights)
    arguments = [
        "--losses",
        "loss",
        "-r",
        "1.3",
        "--theta2",
        "0.2",
        "--divergence",
        divergence,
        "--id",
        "patient",
    ]
    result = run(
        "stability",
        folder / "patients.csv",
        *arguments,
        "--weight",
        folder / "w.npy",
        "--json",
        folder / "o.json",
    )
    assert result.exit_code == 0, result.output
    loss = FixedLoss(frame["loss"].to_numpy())
    expected = stability_criterion(
        loss, 1.3, theta2=0.2, divergence=divergence, sample_weight=weights
    )
    assert json.loads((folder / "o.json").read_text())["value"] == pytest.approx(
        expected.value, rel=1e-9
    )


def test_rows_that_belong_together_widen_the_interval(run, folder):
    frame = pd.read_csv(folder / "patients.csv")
    rows = np.arange(len(frame))
    frame["visit_of"] = np.where(rows < 20, rows // 2, rows)
    frame.to_csv(folder / "visits.csv", index=False)
    arguments = [
        "--distances",
        "distance",
        "-r",
        "0.4",
        "--confidence-level",
        "0.8",
        "--json",
        folder / "o.json",
    ]
    result = run("stability", folder / "visits.csv", *arguments, "--groups", "visit_of", "--curve")
    assert result.exit_code == 0, result.output
    loss = ZeroOneLoss(frame["distance"].to_numpy())
    expected = stability_criterion(
        loss, 0.4, resampling=Resampling(groups=frame["visit_of"], confidence_level=0.8)
    )
    assert expected.interval is not None
    assert expected.interval.confidence_level == 0.8
    assert expected.interval.low != stability_criterion(loss, 0.4, resampling=0.8).interval.low
    first, curve = read_results(folder / "o.json").values()
    assert first.equals(expected)
    same = stability_curve(
        loss,
        curve.points.threshold,
        resampling=Resampling(groups=frame["visit_of"], confidence_level=0.8),
    )
    np.testing.assert_allclose(curve.points.standard_error, same.points.standard_error, rtol=1e-9)


def test_a_vector_in_an_array_file(run, folder):
    result = run(
        "stability", folder / "distances.npy", "--distances", "0", "-r", "0.4", "--theta1", "inf"
    )
    expected = stability_criterion(
        ZeroOneLoss(np.load(folder / "distances.npy")), 0.4, theta1=np.inf
    )
    assert expected.headline() in result.stdout


@pytest.mark.parametrize(
    ("threshold", "price", "status"),
    [("0.01", "0.4", "already_at_risk"), ("0.9", "inf", "unattainable")],
)
def test_boundaries_are_answers(run, folder, threshold, price, status):
    arguments = [folder / "distances.npy", "--distances", "0", "-r", threshold]
    arguments += ["--theta1", price, "--theta2", price]
    result = run(
        "stability", *arguments, "--json", folder / "o.json", "--report", folder / "r.html"
    )
    assert result.exit_code == 0, result.output
    assert status in result.stdout
    assert json.loads((folder / "o.json").read_text())["status"]["code"] == status


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["distances.npy", "-r", "0.4"], "must say which numbers to take"),
        (
            ["patients.csv", "-r", "0.4", "--losses", "loss", "--distances", "distance"],
            "must say which numbers",
        ),
        (
            ["patients.csv", "-r", "0.4", "--losses", "los"],
            "--losses must name a column of FILE, got 'los'",
        ),
        (
            ["patients.csv", "-r", "0.4", "--losses", "0"],
            "--losses must name a column of FILE, got '0'",
        ),
        (
            ["patients.csv", "-r", "0.4", "--losses", "loss", "--id", "name"],
            "--id must name a column",
        ),
        (
            ["patients.csv", "-r", "0.4", "--losses", "loss", "--label", "dead"],
            "--label must name a column",
        ),
        (
            ["distances.npy", "-r", "0.4", "--distances", "d"],
            "--distances must name a column of FILE, got 'd'; it has '0'",
        ),
        (
            ["runs.npz:noisy", "-r", "0.4", "--losses", "3"],
            "--losses must name a column of FILE, got '3'; it has '0'",
        ),
        (["distances.npy", "--losses", "0"], "--threshold must be given"),
        (["distances.npy", "--distances", "0", "-r", "high"], "'--threshold'"),
        (["distances.npy", "--distances", "0", "-r", "40"], "--threshold must be an error rate"),
        (["distances.npy", "--distances", "0", "-r", "nan"], "--threshold must be"),
        (["distances.npy", "--distances", "0", "-r", "0.4", "--theta1", "0"], "--theta1 must be"),
        (
            ["points.npz:new", "--losses", "0", "-r", "0.4"],
            "--losses must be at least 0 everywhere",
        ),
        (
            ["distances.npy", "--distances", "0", "-r", "0.4", "--weight", "points.npz:new"],
            "--weight must",
        ),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(fails, folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert message in fails("stability", *arguments, "--json", "o.json", "--report", "r.html")
    assert sorted(folder.iterdir()) == before
