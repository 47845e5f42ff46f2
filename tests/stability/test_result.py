"""Results: sentences, tables, JSON, and what travels with them."""

import json
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Computing
from shiftmetrics._core.result import Result
from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    ZeroOneLoss,
    stability_criterion,
    worst_case_risk,
)
from shiftmetrics.stability.losses import Loss
from shiftmetrics.stability.status import (
    ALREADY_AT_RISK,
    BOUNDARY,
    CONVERGED,
    HIGHEST_RISK,
    MAX_ITER,
    UNATTAINABLE,
    UNBOUNDED_LOSS,
)

INF = np.inf


def test_json_brings_everything_back(
    make_loss: Callable[..., Loss], between: Callable[..., float], tmp_path
) -> None:
    loss = make_loss(seed=1)
    for result in (
        stability_criterion(loss, between(loss, 0.4, 0.4)),
        stability_criterion(loss, between(loss, 0.4, INF, 0.3), theta2=INF),
        stability_criterion(FixedLoss([0.0, 1.5]), 1e9, theta1=INF),
        worst_case_risk(loss, 0.01).without_rows(),
    ):
        assert type(result).from_json(result.to_json()).equals(result)
        path = tmp_path / "result.json"
        result.to_json(path)
        assert Result.from_json(path).equals(result)
        document = json.loads(path.read_text())
        assert document["measure"] in ("stability", "worst_case_risk")
        assert document["measure"] == result.measure
        assert document["status"]["code"] == result.status.code


def test_the_table_of_a_result_begins_with_what_changes() -> None:
    result = stability_criterion(ZeroOneLoss([0.0, 0.5, 1.0, 2.0]), 0.6)
    frame = result.to_frame()
    assert list(frame.columns[:4]) == ["measure", "base_risk", "risk", "changed_fraction"]
    assert frame["value"].tolist() == [result.value]
    assert frame["slope_threshold"].tolist() == [result.slopes.threshold]
    assert len(frame.columns) == len(set(frame.columns))


def test_headlines_say_what_changes() -> None:
    margins = np.linspace(-0.5, 2.4, 30)
    moved = stability_criterion(HingeLoss(margins, 1.5), 1.0)
    assert moved.headline().startswith("The mean hinge loss reaches 1 (currently 0.4) if ")
    assert "% of the samples change by at most " in moved.headline()
    falls = f"sample size falls to {100 * moved.plan.effective_sample_fraction:.2g} %"
    assert falls in moved.headline()
    even = stability_criterion(HingeLoss(margins, 1.5), 1.0, theta2=5.0)
    assert 0.99 < even.plan.effective_sample_fraction < 0.9995
    assert "effective" not in even.headline()  # such weights matter to nobody
    little = stability_criterion(FixedLoss(np.arange(100) < 50), 0.52, theta1=INF)
    assert little.plan.effective_sample_fraction > 0.99
    assert "weights hardly change" in little.headline()
    errors = stability_criterion(ZeroOneLoss(np.maximum(margins, 0.0) / 1.5), 0.5)
    assert errors.headline().startswith("The error rate reaches 50 % (currently 20 %) if ")
    weighed = stability_criterion(FixedLoss([0.0, 1.0, 2.0]), 1.2)
    assert "mean loss reaches 1.2 (currently 1) by reweighting alone" in weighed.headline()
    worst = worst_case_risk(HingeLoss(margins, 1.5), 0.05)
    assert worst.headline().startswith("At worst a mean hinge loss of ")
    assert "within a budget of 0.05: " in worst.headline()
    assert moved.summary().startswith(moved.headline())
    assert "Stability 0.06903 at risk threshold 1" in moved.summary()
    assert "Higher is better" in moved.summary()
    assert "Lower is better" in worst.summary()


def test_the_reference_value_is_what_halves_give() -> None:
    rng = np.random.default_rng(0)
    distances = np.maximum(rng.normal(1.0, 1.0, 400), 0.0)
    result = stability_criterion(ZeroOneLoss(distances), 0.3)
    errors = (distances == 0.0).astype(float)
    gaps = []
    for _ in range(3000):
        order = rng.permutation(400)
        gaps.append(abs(errors[order[:200]].mean() - errors[order[200:]].mean()))
    (halves,) = result.reference_values()
    stated = float(halves.split("differ by ")[1].split()[0])
    assert stated == pytest.approx(100 * np.mean(gaps), rel=0.07)
    assert halves in result.summary()


def test_every_status_says_cause_and_remedy() -> None:
    statuses = (
        ALREADY_AT_RISK,
        BOUNDARY,
        CONVERGED,
        HIGHEST_RISK,
        MAX_ITER,
        UNATTAINABLE,
        UNBOUNDED_LOSS,
    )
    for status in statuses:
        assert status.text.endswith(".")
        assert status.ok == (status.code != "max_iter")
    below = stability_criterion(FixedLoss([0.0, 1.5]), 2.0)
    assert "Choose a lower threshold, or allow" in below.summary()


def test_arrays_are_read_only_and_inputs_unchanged() -> None:
    distances = np.array([0.0, 0.5, 1.0, 2.0])
    before = distances.copy()
    loss = ZeroOneLoss(distances)
    result = stability_criterion(loss, 0.6)
    np.testing.assert_array_equal(distances, before)
    for name in ("weights", "losses", "distances"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(result.plan, name)[0] = 9.0
    with pytest.raises(AttributeError):
        loss.distances = before


def test_settings_record_the_call() -> None:
    result = stability_criterion(
        CandidateLoss([[0.0, 1.0]], [[0.0, 1.0]]),
        0.5,
        theta1=0.3,
        theta2=INF,
        divergence="chi2",
        sample_weight=[2.0],
    )
    settings = result.settings
    assert (settings["loss"], settings["n_candidates"], settings["threshold"]) == (
        "CandidateLoss",
        2,
        0.5,
    )
    assert (settings["theta1"], settings["theta2"], settings["divergence"]) == (0.3, INF, "chi2")
    assert settings["sample_weight"] == "given"
    assert "numpy" in settings["versions"]


def test_frames_stack() -> None:
    loss = HingeLoss(np.linspace(-1, 2, 20), 1.0)
    frame = pd.concat([stability_criterion(loss, r).to_frame() for r in (0.6, 0.8, 1.0)])
    assert frame["value"].is_monotonic_increasing
    assert {"status", "slope_threshold", "rms_distance", "interval_low"} <= set(frame.columns)


def test_kinds_of_result() -> None:
    loss = FixedLoss([0.0, 0.5, 1.0])
    cost, risk = stability_criterion(loss, 0.7), worst_case_risk(loss, 0.1)
    assert (cost.measure, cost.title, cost.higher_is_better) == ("stability", "Stability", True)
    assert (risk.measure, risk.title, risk.higher_is_better) == (
        "worst_case_risk",
        "Worst-case risk",
        False,
    )
    assert Result.from_json(risk.to_json()).measure == "worst_case_risk"


@pytest.mark.usefixtures("bars_at_once")
def test_progress_is_shown_and_can_be_switched_off(capsys: pytest.CaptureFixture[str]) -> None:
    loss = HingeLoss(np.linspace(-1, 2, 20), 1.0)
    stability_criterion(loss, 1.0)
    worst_case_risk(loss, 0.1)
    shown = capsys.readouterr().err
    assert "stability" in shown
    assert "worst-case risk" in shown
    stability_criterion(loss, 1.0, computing=Computing(progress=False))
    worst_case_risk(loss, 0.1, computing=Computing(progress=False))
    assert capsys.readouterr().err == ""


def test_quick_work_shows_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    stability_criterion(HingeLoss(np.linspace(-1, 2, 20), 1.0), 1.0)
    assert capsys.readouterr().err == ""
