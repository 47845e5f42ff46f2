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
from shiftmetrics.stability.result import (
    ALREADY_AT_RISK,
    BOUNDARY,
    CONVERGED,
    HIGHEST_RISK,
    MAX_ITER,
    UNATTAINABLE,
    UNBOUNDED_LOSS,
)
from shiftmetrics.stability.words import most_grown

INF = np.inf


def test_json_brings_everything_back(
    make_loss: Callable[..., Loss], between: Callable[..., float], tmp_path
) -> None:
    loss = make_loss(seed=1)
    for result in (
        stability_criterion(loss, between(loss, 0.4, 0.4)),
        stability_criterion(loss, between(loss, 0.4, INF, 0.3), theta2=INF),
        stability_criterion(loss, 1e9, theta1=INF),
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


def test_the_table_of_a_result_begins_with_what_moves() -> None:
    result = stability_criterion(ZeroOneLoss([0.0, 0.5, 1.0, 2.0]), 0.6)
    frame = result.to_frame()
    assert list(frame.columns[:4]) == ["measure", "base_risk", "risk", "share_moved"]
    assert frame["value"].tolist() == [result.value]
    assert not set(frame.columns) & set(result.row_fields)
    assert len(frame.columns) == len(set(frame.columns))


def test_headlines_say_what_moves_and_who_gains_weight() -> None:
    margins = np.linspace(-0.5, 2.4, 30)
    moved = stability_criterion(HingeLoss(margins, 1.5), 1.0)
    assert moved.headline().startswith("A mean hinge loss of 1 (now 0.4")
    assert f"% of the rows move, by at most {moved.moved_distances.max():.4g}" in moved.headline()
    assert " in units of the distances, and weights change until" in moved.headline()
    assert (
        f"an effective {100 * moved.effective_sample_fraction:.3g} % of the rows count"
        in moved.headline()
    )
    even = stability_criterion(HingeLoss(margins, 1.5), 1.0, theta2=5.0)
    assert 0.99 < even.effective_sample_fraction < 0.9995
    assert (
        "in units of the distances; by reweighting alone" in even.headline()
    )  # such weights matter to nobody
    little = stability_criterion(FixedLoss(np.arange(100) < 50), 0.52, theta1=INF)
    assert little.effective_sample_fraction > 0.99
    assert "weights change until an effective" in little.shift_in_words()  # nothing else changes
    assert (
        "by reweighting alone, once the weight of the tenth of the rows with the highest"
        in moved.headline()
    )
    errors = stability_criterion(ZeroOneLoss(np.maximum(margins, 0.0) / 1.5), 0.5)
    assert errors.headline().startswith("50 % errors (now 20 %) once ")
    assert "the weight of the rows that are wrong now grows 2.5-fold." in errors.headline()
    weighed = stability_criterion(FixedLoss([0.0, 1.0, 2.0]), 1.2)
    assert weighed.headline().startswith(
        "A mean loss of 1.2 (now 1) by reweighting alone: once the weight of"
    )
    doubled = stability_criterion(FixedLoss(np.arange(10) < 2), 0.4)
    assert doubled.headline() == (
        "40 % errors (now 20 %) by reweighting alone: once the weight of the rows that are wrong now doubles."
    )
    worst = worst_case_risk(HingeLoss(margins, 1.5), 0.05)
    assert worst.headline().startswith("At worst a mean hinge loss of ")
    assert "within a budget of 0.05: " in worst.headline()
    assert moved.summary().startswith(moved.headline())
    assert (
        "Stability 0.06903 at risk threshold 1: the least cost, at the prices theta1 = 0.4, theta2 = 0.4"
        in moved.summary()
    )
    assert "Higher is better" in moved.summary()
    assert "Lower is better" in worst.summary()
    nothing = worst_case_risk(FixedLoss([1.0, 1.0]), 0.05)
    assert "nothing changes" in nothing.headline()


def test_the_weights_of_reweighting_alone_are_the_least_shift_without_moves() -> None:
    margins = np.random.default_rng(0).normal(1.0, 1.0, 60)
    loss, weights = HingeLoss(margins, 1.5), np.random.default_rng(1).uniform(0.5, 2.0, 60)
    both = stability_criterion(loss, 1.0, sample_weight=weights)
    alone = stability_criterion(loss, 1.0, sample_weight=weights, theta1=np.inf)
    np.testing.assert_allclose(both.weights_alone, alone.weights, rtol=1e-6)
    assert stability_criterion(loss, 1.0, theta2=np.inf).weights_alone is None
    assert alone.weights_alone is None


def test_reference_values_are_what_halves_and_equal_distances_give() -> None:
    rng = np.random.default_rng(0)
    distances = np.maximum(rng.normal(1.0, 1.0, 400), 0.0)
    result = stability_criterion(ZeroOneLoss(distances), 0.3)
    assert result.mean_distance == pytest.approx(distances[distances > 0].mean())
    errors = (distances == 0.0).astype(float)
    gaps = []
    for _ in range(3000):
        order = rng.permutation(400)
        gaps.append(abs(errors[order[:200]].mean() - errors[order[200:]].mean()))
    halves, equal = result.reference_values()
    assert float(halves.split("differ by ")[1].split()[0]) == pytest.approx(
        100 * np.mean(gaps), rel=0.07
    )
    assert f"{100 * (0.3 - errors.mean()):.3g} % would move that far" in equal
    assert halves in result.summary()
    assert stability_criterion(HingeLoss(distances, 1.0), 1.0).mean_distance is None


def test_the_class_that_grows_most() -> None:
    labels = np.repeat(["a", "b", "c"], 2)
    assert most_grown(np.array([0.5, 0.5, 2.0, 2.0, 0.5, 0.5]), labels) == ("b", 2.0)
    assert most_grown(np.ones(6), labels) is None
    assert most_grown(np.array([1.0, 3.0]), np.array(["a", "a"])) is None
    weights = [1.0, 1.0, 3.0, 3.0, 1.0, 1.0]
    assert most_grown(np.array([0.4, 0.4, 1.4, 1.4, 0.4, 0.4]), labels, weights) == (
        "b",
        pytest.approx(1.4),
    )


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
    below = stability_criterion(FixedLoss([0.0, 1.0]), 2.0)
    assert "Choose a lower threshold, or allow rows to move" in below.summary()


def test_atoms_split_the_weight_of_a_row() -> None:
    result = stability_criterion(ZeroOneLoss([0.0, 0.5, 0.5, 1.0]), 0.6, theta2=INF)
    assert list(result.splits.rows) == [1, 2]
    atoms = result.atoms()
    assert isinstance(atoms, pd.DataFrame)
    assert list(atoms.columns) == ["row", "weight", "loss", "distance"]
    assert list(atoms["row"]) == [0, 1, 1, 2, 2, 3]
    np.testing.assert_allclose(atoms["weight"], [1.0, 0.3, 0.7, 0.3, 0.7, 1.0], rtol=1e-6)
    np.testing.assert_array_equal(atoms["loss"], [1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(atoms["distance"], [0.0, 0.0, 0.5, 0.0, 0.5, 0.0])
    assert result.share_moved == pytest.approx(0.35)
    assert result.rms_move == pytest.approx(np.sqrt(0.35 * 0.25))
    no_split = stability_criterion(FixedLoss([0.0, 1.0]), 0.7).atoms()
    assert len(no_split) == 2


def test_arrays_are_read_only_and_inputs_unchanged() -> None:
    distances = np.array([0.0, 0.5, 1.0, 2.0])
    before = distances.copy()
    loss = ZeroOneLoss(distances)
    result = stability_criterion(loss, 0.6)
    np.testing.assert_array_equal(distances, before)
    for name in ("weights", "moved_losses", "moved_distances"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(result, name)[0] = 9.0
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
    assert {"status", "dual", "rms_move", "interval_low"} <= set(frame.columns)


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
