"""Results in MLflow: metrics, parameters, tags, and the files of a result, by one call inside a run."""

from __future__ import annotations

import math
import numbers
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shiftmetrics._core.exceptions import ArgumentTypeError, ArgumentValueError
from shiftmetrics._core.record import public_names
from shiftmetrics._core.result import Result
from shiftmetrics._core.validation import needs
from shiftmetrics._version import __version__
from shiftmetrics.comparison.result import ComparisonResult
from shiftmetrics.views import Context, write_report

LONGEST_PARAM = 500
"""Characters of a parameter's value: what every store of MLflow takes."""

LONGEST_TAG = 5000
_REFUSED = re.compile(r"[^\w\-. /]")
"""Characters that MLflow refuses in names."""


def log_result(
    result: Result,
    name: str | None = None,
    *,
    report: bool = True,
    context: Context | None = None,
    step: int | None = None,
) -> None:
    """Log a result to the active run of MLflow; without one, MLflow begins a run.

    Parameters
    ----------
    result : Result
        Of any measure.
    name : str, optional
        What stands before the names in MLflow; it tells several results of one run apart. Default: the measure, such
        as "posterior_agreement".
    report : bool, default True
        Whether to add the HTML report to the artifacts.
    context : Context, optional
        What the report may show besides, as in `shiftmetrics.write_report`.
    step : int, optional
        The step of the metrics, such as an epoch.

    Raises
    ------
    ImportError
        If MLflow is missing.
    TypeError
        If ``result`` is not a result.
    ValueError
        If ``name`` is empty.

    Notes
    -----
    Metrics are ``name/value``, ``name/error_bound``, ``name/interval_low``, ``name/interval_high`` and every other
    number of the result, such as ``name/normalized``; of a comparison, ``name/model/MODEL`` for each model. Numbers
    that are not finite are left out: stores of MLflow change or refuse them. Parameters are the settings, cut off at
    500 characters; tags the status, the sentence of the result and the version. The artifacts ``name/result.json``,
    its arrays ``name/result.npz`` and ``name/report.html`` hold everything: `Result.from_json` reads it back.

    Examples
    --------
    ``with mlflow.start_run(): log_result(posterior_agreement(scores, reference_scores), "noise")``
    """
    with needs("shiftmetrics.adapters.mlflow", "MLflow", "'shiftmetrics[mlflow]'"):
        import mlflow
    if not isinstance(result, Result):
        raise ArgumentTypeError("result", "a result of a measure", type(result).__name__)
    name = _name(result.measure if name is None else name)
    metrics = {f"{name}/{key}": number for key, number in metrics_of(result).items()}
    mlflow.log_metrics(metrics, step=step)
    mlflow.log_params({f"{name}/{key}": text for key, text in params_of(result).items()})
    mlflow.set_tag(f"{name}/status", str(result.status))
    mlflow.set_tag(f"{name}/headline", result.headline()[:LONGEST_TAG])
    mlflow.set_tag("shiftmetrics.version", __version__)
    # the whole result goes to the artifacts, because metrics and tags hold a part of it
    with tempfile.TemporaryDirectory() as folder:
        result.to_json(Path(folder) / "result.json")
        if report:
            page = Path(folder) / "report.html"
            write_report({name: result}, page, title=result.title, context=context)
        mlflow.log_artifacts(folder, artifact_path=name)


def metrics_of(result: Result) -> dict[str, float]:
    """Return every finite number of a result under the name of its field or property; see `log_result`.

    Examples
    --------
    >>> from shiftmetrics import FixedLoss, stability_criterion
    >>> from shiftmetrics.adapters.mlflow import metrics_of
    >>> metrics_of(stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.5))["base_risk"]
    0.25
    """
    # fields and properties that anybody may read, then what belongs to no field
    found = {key: getattr(result, key) for key in public_names(type(result))}
    found.update(result.secondary_metrics)
    if result.interval is not None:
        found["interval_low"] = result.interval.low
        found["interval_high"] = result.interval.high
    if isinstance(result, ComparisonResult):
        for model in result.models:
            found[f"model/{_name(model.name)}"] = model.value
    metrics = {}
    for key, value in found.items():
        # stores of MLflow change or refuse NaN and infinity; True is no number
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if is_number and math.isfinite(value):
            metrics[key] = float(value)
    return metrics


def params_of(result: Result) -> dict[str, str]:
    """Return the settings of a result as short strings; parts of a setting after a dot, as in ``versions.numpy``.

    Examples
    --------
    >>> from shiftmetrics import FixedLoss, stability_criterion
    >>> from shiftmetrics.adapters.mlflow import params_of
    >>> params_of(stability_criterion(FixedLoss([0.0, 0.0, 1.0, 0.0]), 0.5))["threshold"]
    '0.5'
    """
    return {key: str(value)[:LONGEST_PARAM] for key, value in _flat(result.settings)}


def _name(text: str) -> str:
    """Return a name that MLflow takes, as metric and as folder."""
    name = _REFUSED.sub("_", text).strip("/ .")
    if not name:
        raise ArgumentValueError("name", "a name for the result", value=text)
    return name


def _flat(settings: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{_name(str(key))}.")
        else:
            yield f"{before}{_name(str(key))}", value
