"""What ``shiftmetrics stability`` answers, from one number a row or from a model, and what its report shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from shiftmetrics.tools.cli.model_stability import ModelOptions
    from shiftmetrics.tools.cli.outputs import Output

ARGUMENTS = {
    "losses": "--losses", "distances": "--distances", "threshold": "--threshold", "theta1": "--theta1",
    "theta2": "--theta2", "divergence": "--divergence", "sample_weight": "--weight", "level": "--confidence",
    "groups": "--groups",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is asked of numbers and of models alike, in the user's words."""

    threshold: float
    theta1: float
    theta2: float
    divergence: Literal["kl", "chi2"]
    level: float
    id_column: str | None
    label: str | None
    weight: str | None
    groups: str | None
    curve: bool

    @property
    def prices(self) -> dict[str, Any]:
        """What moving and reweighting cost, and how sure intervals are: the same for every result of one call."""
        return {
            "theta1": self.theta1, "theta2": self.theta2, "divergence": self.divergence, "level": self.level,
        }  # fmt: skip


def of_numbers(
    file: str,
    output: Output,
    asked: Asked,
    *,
    losses: str | None,
    distances: str | None,
    kind: Literal["losses", "distances"] | None,
) -> None:
    """Answer from one loss or distance a row."""
    from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion
    from shiftmetrics.tools.cli.errors import named_arguments
    from shiftmetrics.tools.cli.measurements import read_measurements
    from shiftmetrics.views import Context, Rows

    sample = read_measurements(
        file, losses=losses, distances=distances, kind=kind, id_column=asked.id_column, label=asked.label,
        weight=asked.weight, groups=asked.groups,
    )  # fmt: skip
    output.check([sample.source])
    with named_arguments(ARGUMENTS):
        loss: Any = ZeroOneLoss(sample.values) if sample.kind == "distances" else FixedLoss(sample.values)
        result = stability_criterion(
            loss,
            asked.threshold,
            sample_weight=sample.weight,
            groups=sample.groups,
            progress=output.progress,
            **asked.prices,
        )
    rows = Rows(
        loss=loss, sample_weight=sample.weight, names=sample.names, labels=sample.label, table=sample.table
    )
    name = str(sample.source)
    output.write_all(
        {name: result, **_curve(asked, result, rows, sample.groups)},
        title="Stability of a model",
        context=Context(
            description=f"{sample.kind.capitalize()} of {len(sample.values):,} rows in {sample.source}.",
            facts={
                "File": name,
                "Measured": sample.kind,
                "Risk that counts as broken": f"{asked.threshold:g}",
            },
            rows={name: rows},
        ),
        notes=sample.source.notes,
    )


def of_model(file: str, output: Output, asked: Asked, model: ModelOptions) -> None:
    """Answer from a model and its rows."""
    from shiftmetrics.tools.cli.model_stability import solve
    from shiftmetrics.tools.cli.models import check_model
    from shiftmetrics.tools.cli.samples import read_row_values
    from shiftmetrics.tools.cli.sources import parse_source
    from shiftmetrics.views import Context, Rows

    check_model(model.model)
    output.check([parse_source(file, "FILE")])
    answer = solve(file, model, asked, progress=output.progress)
    sample, result = answer.sample, answer.result
    labels: Any = sample.y
    if asked.label is not None:
        labels = read_row_values(asked.label, "--label", sample.table, required=True)
    rows = Rows(
        loss=result.loss,
        sample_weight=sample.weight,
        names=sample.names,
        labels=None if model.loss == "squared" and asked.label is None else labels,
        table=sample.table,
    )
    name = str(sample.source)
    beside = {} if answer.features is None else {answer.features.title: answer.features}
    output.write_all(
        {name: result, **_curve(asked, result, rows, sample.groups), **beside},
        title="Stability of a model",
        context=Context(
            description=f"{answer.name} on {result.n_samples:,} rows in {sample.source}.",
            facts={
                "File": name,
                "Model": Path(model.model).name,
                "Loss": model.loss.replace("_", " "),
                "Risk that counts as broken": f"{asked.threshold:g}",
                "Moves found by": f"the {result.route} route",
            },
            rows={name: rows},
        ),
        notes=answer.notes,
    )


def _curve(asked: Asked, result: Any, rows: Any, groups: Any) -> dict[str, Any]:
    """Return the stability over thresholds, from the risk as it is past the threshold that was asked for."""
    if not asked.curve:
        return {}
    import numpy as np

    from shiftmetrics.stability import stability_curve

    start, threshold = result.base_risk, asked.threshold
    thresholds = start + np.arange(1, 9) * max(threshold - start, 0.25 * max(start, 1e-3)) / 4
    curve = stability_curve(
        rows.loss,
        [*thresholds, threshold],
        sample_weight=rows.sample_weight,
        groups=groups,
        progress=False,
        **asked.prices,
    )
    return {curve.title: curve}
