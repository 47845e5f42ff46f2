"""The recipes of CONTRIBUTING: each protocol takes a toy implementation of fewer than 40 lines."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

import numpy as np
import pytest

from shiftmetrics import Computing, stability_criterion
from shiftmetrics._core.result import Result, Status
from shiftmetrics.stability.losses.base import Loss, Reach, Transform

QUIET = Computing(progress=False)


# A loss: the absolute residual of a linear model whose weights have norm 1.


class AbsoluteLoss(Loss):
    def __init__(self, residuals: Any) -> None:
        self.residuals = np.asarray(residuals, dtype=np.float64)

    def base(self, rows: slice) -> Any:
        return np.abs(self.residuals[rows])

    def _moved(self, dual: float, theta1: float, rows: slice) -> Transform:
        # A step s raises the loss by s and costs theta1 s^2: dual s - theta1 s^2 is greatest here.
        step = dual / (2.0 * theta1)
        loss = self.base(rows) + step
        squared_distance = np.full_like(loss, step**2)
        return Transform(dual * loss - theta1 * squared_distance, loss, squared_distance)

    def _reach(self, rows: slice) -> Reach:
        base = self.base(rows)
        return Reach(np.full_like(base, math.inf), np.zeros_like(base))

    def take(self, rows: Any) -> AbsoluteLoss:
        return AbsoluteLoss(self.residuals[rows])


def test_a_new_loss() -> None:
    residuals = np.random.default_rng(0).normal(size=200)
    mean = float(np.abs(residuals).mean())
    result = stability_criterion(
        AbsoluteLoss(residuals), mean + 0.5, theta1=2.0, theta2=np.inf, computing=QUIET
    )
    # Without reweighting every row takes the same step of 0.5.
    assert result.value == pytest.approx(2.0 * 0.5**2, rel=1e-9)
    assert stability_criterion(AbsoluteLoss(residuals), 0.5 * mean, computing=QUIET).value == 0.0


# A report card: a result of a new class, and what the page says about it.


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ToyResult(Result):
    title: ClassVar[str] = "Toy"
    unit: ClassVar[str] = "points"

    luck: float


def test_a_new_report_card(monkeypatch: pytest.MonkeyPatch) -> None:
    from shiftmetrics.views.report import parts, render_report

    registry = next(name for name, value in vars(parts).items() if isinstance(value, dict) and Result in value)
    monkeypatch.setattr(parts, registry, dict(getattr(parts, registry)))

    @parts.reports("other", ToyResult)
    def fill_toy(entry: Any) -> None:
        entry.sentences.append("The toy had a lucky day.")
        entry.add_table([{"Luck": parts.number(entry.result.luck)}], "How lucky it was.")

    status = Status("computed", "It was computed.")
    page = render_report(ToyResult(value=2.0, error_bound=0.0, status=status, n_samples=3, luck=0.25))
    assert "The toy had a lucky day." in page
    assert "How lucky it was." in page
    assert "0.25" in page


# A command option: a parameter of a command, with its line in the docstring.


def test_a_new_command_option(capsys: pytest.CaptureFixture[str]) -> None:
    import typer
    from typer.testing import CliRunner

    from shiftmetrics.tools.cli.signature import command

    @command
    def greet(name: str, *, times: int = 1) -> None:
        """Greet somebody.

        Parameters
        ----------
        times : INTEGER
            How often.
        """
        typer.echo(" ".join(["hello", name] * times))

    app = typer.Typer()
    app.command()(greet)
    assert CliRunner().invoke(app, ["ada", "--times", "2"]).stdout.strip() == "hello ada hello ada"
    assert "How often." in CliRunner().invoke(app, ["--help"]).stdout
