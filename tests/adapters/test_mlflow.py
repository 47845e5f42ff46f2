"""Results in MLflow: what is logged, in words MLflow takes, and a result that comes back from its artifacts."""

import builtins
import math
import warnings
from pathlib import Path

import numpy as np
import pytest

from shiftmetrics import (
    FixedLoss,
    Resampling,
    Result,
    ZeroOneLoss,
    posterior_agreement,
    stability_criterion,
)
from shiftmetrics.adapters.mlflow import LONGEST_PARAM, log_result, metrics_of, params_of
from shiftmetrics.comparison import compare_agreement


@pytest.fixture
def result() -> Result:
    return stability_criterion(ZeroOneLoss(np.linspace(0.0, 2.0, 80)), 0.3)


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return MLflow with a store of files in a fresh folder, and a fresh experiment."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")  # read when MLflow is first imported
    found = pytest.importorskip(
        "mlflow", reason="MLflow is not installed: pip install 'shiftmetrics[mlflow]'"
    )
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        found.set_tracking_uri((tmp_path / "store").as_uri())
        found.set_experiment("shift")
        yield found
        while found.active_run() is not None:
            found.end_run()


# --- what is logged ----------------------------------------------------------------------------------------


def test_metrics_are_the_finite_numbers_of_a_result(result) -> None:
    metrics = metrics_of(result)
    assert metrics["value"] == result.value
    assert metrics["error_bound"] == result.error_bound
    assert (metrics["interval_low"], metrics["interval_high"]) == (
        result.interval.low,
        result.interval.high,
    )
    assert metrics["rms_distance"] == result.plan.rms_distance  # a readable companion
    assert metrics["n_samples"] == 80
    assert all(type(number) is float and math.isfinite(number) for number in metrics.values())


def test_numbers_that_are_not_finite_are_left_out() -> None:
    unreachable = stability_criterion(FixedLoss([0.0, 1.5, 0.0, 0.0]), 2.0)
    assert unreachable.value == math.inf
    assert "value" not in metrics_of(unreachable)


def test_a_comparison_has_a_metric_for_each_model() -> None:
    scores = np.random.default_rng(0).normal(size=(30, 3))
    compared = compare_agreement(
        {"small": scores, "a=b": scores + 1.0}, scores, resampling=Resampling(n_resamples=50, rng=0)
    )
    metrics = metrics_of(compared)
    assert {"model/small", "model/a_b"} <= metrics.keys()
    assert metrics["value"] == max(metrics["model/small"], metrics["model/a_b"])


def test_parameters_are_flat_and_short(result) -> None:
    params = params_of(result)
    assert params["threshold"] == "0.3"
    assert params["versions.numpy"] == np.__version__
    assert max(map(len, params.values())) <= LONGEST_PARAM
    prior = posterior_agreement(np.eye(200), np.eye(200), prior=np.full(200, 1 / 200))
    assert max(map(len, params_of(prior).values())) <= LONGEST_PARAM


# --- in a real store ---------------------------------------------------------------------------------------


def test_a_result_goes_to_the_store_and_comes_back(mlflow, result) -> None:
    with mlflow.start_run() as run:
        log_result(result, "patients")
    stored = mlflow.get_run(run.info.run_id).data
    assert stored.metrics == {
        f"patients/{key}": number for key, number in metrics_of(result).items()
    }
    assert stored.params["patients/threshold"] == "0.3"
    assert stored.tags["patients/status"] == "converged"
    assert stored.tags["patients/headline"] == result.headline()
    assert stored.tags["shiftmetrics.version"]
    folder = Path(
        mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="patients")
    )
    assert sorted(path.name for path in folder.iterdir()) == [
        "report.html",
        "result.json",
        "result.npz",
    ]
    assert type(result).from_json(folder / "result.json").equals(result)
    page = (folder / "report.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert result.headline()[:20] in page


def test_results_of_one_run_are_told_apart_and_steps_are_kept(mlflow, result) -> None:
    scores = np.random.default_rng(0).normal(size=(30, 3))
    with mlflow.start_run() as run:
        for step in (0, 1):
            log_result(result, "patients [new]", report=False, step=step)
        log_result(posterior_agreement(scores, scores))
    stored = mlflow.get_run(run.info.run_id).data
    assert {"patients _new_/value", "posterior_agreement/value"} <= stored.metrics.keys()
    history = mlflow.MlflowClient().get_metric_history(run.info.run_id, "patients _new_/value")
    assert [entry.step for entry in history] == [0, 1]
    names = [
        part.path
        for part in mlflow.MlflowClient().list_artifacts(run.info.run_id, "patients _new_")
    ]
    assert "patients _new_/report.html" not in names


def test_bad_input(mlflow, result) -> None:
    with pytest.raises(TypeError, match=r"^result must be a result of a measure, got dict\.$"):
        log_result({"value": 1.0})
    with pytest.raises(ValueError, match=r"^name must be a name for the result, got ' / '\.$"):
        log_result(result, " / ")
    assert mlflow.active_run() is None


def test_without_mlflow_it_says_what_to_install(monkeypatch, result) -> None:
    def absent(name, *rest, imported=builtins.__import__, **options):
        if name == "mlflow":
            raise ImportError(name)
        return imported(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r"needs MLflow: pip install 'shiftmetrics\[mlflow\]'$"):
        log_result(result)
