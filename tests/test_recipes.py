"""The recipes of CONTRIBUTING: each protocol takes a toy implementation of fewer than 40 lines."""

from __future__ import annotations

import dataclasses
import importlib
import math
import pkgutil
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from shiftmetrics import Computing, stability_criterion
from shiftmetrics._core.result import Result, Status
from shiftmetrics.models.search.worst_case import Route, WorstCase
from shiftmetrics.stability import ZeroOneLoss
from shiftmetrics.stability.losses.base import Loss, Reach, Transform
from shiftmetrics.tables import register
from shiftmetrics.tables.cells import Cells
from shiftmetrics.tables.content import Content, Reader, UnreadableError
from shiftmetrics.tables.predictions import read_predictions

QUIET = Computing(progress=False)


# A loss: the absolute residual of a linear model whose weights have norm 1.


@dataclasses.dataclass(frozen=True, eq=False)
class AbsoluteLoss(Loss):
    residuals: Any

    def base(self, rows: slice) -> Any:
        return np.abs(self.residuals[rows])

    def _perturbed(self, dual: float, theta1: float, rows: slice) -> Transform:
        # A step s raises the loss by s and costs theta1 s^2: dual s - theta1 s^2 is greatest here.
        step = dual / (2.0 * theta1)
        loss = self.base(rows) + step
        squared_distance = np.full_like(loss, step**2)
        return Transform(dual * loss - theta1 * squared_distance, loss, squared_distance)

    def _reach(self, rows: slice) -> Reach:
        base = self.base(rows)
        return Reach(np.full_like(base, math.inf), np.zeros_like(base))


def test_a_new_loss() -> None:
    residuals = np.random.default_rng(0).normal(size=200)
    mean = float(np.abs(residuals).mean())
    result = stability_criterion(
        AbsoluteLoss(residuals), mean + 0.5, theta1=2.0, theta2=np.inf, computing=QUIET
    )
    # Without reweighting every row takes the same step of 0.5.
    assert result.value == pytest.approx(2.0 * 0.5**2, rel=1e-9)
    assert stability_criterion(AbsoluteLoss(residuals), 0.5 * mean, computing=QUIET).value == 0.0
    np.testing.assert_array_equal(AbsoluteLoss(residuals).take([3, 1]).residuals, residuals[[3, 1]])


# A report card: a result of a new class, and what the page says about it.


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ToyResult(Result):
    title: ClassVar[str] = "Toy"
    unit: ClassVar[str] = "points"

    luck: float


def test_a_new_report_card(monkeypatch: pytest.MonkeyPatch) -> None:
    from shiftmetrics.views import report
    from shiftmetrics.views.report import parts, render_report

    # The cards of the library register themselves where they are imported: before the registry is replaced.
    for module in pkgutil.iter_modules(report.__path__, f"{report.__name__}."):
        importlib.import_module(module.name)
    registry = next(
        name for name, value in vars(parts).items() if isinstance(value, dict) and Result in value
    )
    monkeypatch.setattr(parts, registry, dict(getattr(parts, registry)))

    @parts.reports("other", ToyResult)
    def fill_toy(entry: Any) -> None:
        entry.sentences.append("The toy had a lucky day.")
        entry.add_table([{"Luck": parts.number(entry.result.luck)}], "How lucky it was.")

    status = Status("computed", "It was computed.")
    page = render_report(
        ToyResult(value=2.0, error_bound=0.0, status=status, n_samples=3, luck=0.25)
    )
    assert "The toy had a lucky day." in page
    assert "How lucky it was." in page
    assert "0.25" in page


# A reader: a table of fixed records that begins with a mark of its own.


def _toy_cells(content: Content) -> Cells:
    _, names, *rows = content.read().decode().split("#")
    content.check_size(8 * content.size)
    table = pd.DataFrame([row.split("/") for row in rows], columns=names.split("/"), dtype=object)
    return Cells(
        argument=content.argument, name=content.name, table=table, written=frozenset(table.columns)
    )


TOY_READER = Reader(
    name="a toy file",
    suffixes=(".toy",),
    told_by="its first three letters, TOY",
    tells=lambda content: content.head.startswith(b"TOY"),
    read=_toy_cells,
)


def test_a_new_reader(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(register, "READERS", list(register.READERS))
    register.add_reader(TOY_READER)
    answers = "#1/cat#2/dog#3/dog#4/cat#5/cat#6/dog"
    old, new = tmp_path / "old", tmp_path / "new"  # told by their content
    old.write_text("TOY#id/answer" + answers)
    new.write_text("TOY#id/answer" + answers.replace("5/cat", "5/dog"))
    # every command reads it, because none knows which formats there are
    pair = read_predictions([register.read_file(old, "OLD"), register.read_file(new, "NEW")])
    before, after = (file.answers() for file in pair.files)
    assert before.tolist() == ["cat", "dog", "dog", "cat", "cat", "dog"]
    assert (before != after).tolist() == [False] * 4 + [True, False]
    new.write_text("TOY")
    with pytest.raises(UnreadableError, match="NEW must be a toy file, got 'new', which cannot be"):
        register.read_file(new, "NEW")


# A command option: a parameter of a command, with its line in the docstring.


def test_a_new_command_option(capsys: pytest.CaptureFixture[str]) -> None:
    import typer
    from typer.testing import CliRunner

    from shiftmetrics.cli.signature import command

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


# A kernel: any function of two blocks of samples that returns their similarities.


def laplace(samples: Any, points: Any) -> Any:
    distances = np.abs(samples[:, None, :] - points[None, :, :]).sum(axis=2)
    return np.exp(-distances)


def test_a_new_kernel() -> None:
    from shiftmetrics import kernel_entropic_novelty

    rng = np.random.default_rng(0)
    reference = rng.normal(size=(80, 2))
    new = np.concatenate([rng.normal(size=(60, 2)), rng.normal((8.0, 0.0), 0.3, size=(20, 2))])
    result = kernel_entropic_novelty(new, reference, kernel=laplace)
    # The definition: the entropy of the positive eigenvalues of K of the samples, less that of the reference.
    both = np.concatenate([new, reference])
    sign = np.r_[np.full(80, 1.0 / 80), np.full(80, -1.0 / 80)]
    eigenvalues = np.linalg.eigvals(laplace(both, both) * sign).real
    positive = eigenvalues[eigenvalues > 1e-9]
    expected = -np.sum(positive * np.log(positive / positive.sum()))
    assert result.value == pytest.approx(expected, rel=1e-6)


# A kernel with a bandwidth, in the register: exp(-|x - y|_1 / bandwidth).


@dataclasses.dataclass(frozen=True, eq=False)
class LaplaceKernel:
    bandwidth: float

    name: ClassVar[str] = "laplace"
    linear: ClassVar[bool] = False
    knows_columns: ClassVar[bool] = True
    chooses_bandwidth: ClassVar[bool] = False

    def __call__(self, rows: Any, points: Any) -> Any:
        return laplace(rows / self.bandwidth, points / self.bandwidth)

    def at_width(self, similarities: Any, width: float) -> Any:
        return similarities ** (1.0 / width)

    def entry_error(self, spread: float) -> float:
        return 1e-14

    def fitted(self, center: Any, probes: Any) -> LaplaceKernel:
        return self

    def check(self, array: Any, argument: str) -> None:
        pass

    def points(self, rows: Any) -> Any:
        return rows


def test_a_new_kernel_with_a_bandwidth(monkeypatch: pytest.MonkeyPatch) -> None:
    from shiftmetrics import kernel_entropic_novelty
    from shiftmetrics.novelty.score import basis, kernels

    monkeypatch.setitem(kernels.KERNELS, "laplace", LaplaceKernel)
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(80, 2))
    new = np.concatenate([rng.normal(size=(60, 2)), rng.normal((8.0, 0.0), 0.3, size=(20, 2))])
    options: dict[str, Any] = {"kernel": "laplace", "computing": QUIET}
    result = kernel_entropic_novelty(new, reference, bandwidth=1.7, **options)
    both = np.concatenate([new, reference])
    sign = np.r_[np.full(80, 1.0 / 80), np.full(80, -1.0 / 80)]
    eigenvalues = np.linalg.eigvals(laplace(both / 1.7, both / 1.7) * sign).real
    positive = eigenvalues[eigenvalues > 1e-9]
    expected = -np.sum(positive * np.log(positive / positive.sum()))
    assert result.value == pytest.approx(expected, rel=1e-6)
    assert (result.score.kernel, result.score.bandwidth) == ("laplace", 1.7)
    # Half and twice the width are those of this kernel, not of the Gaussian.
    kernel = LaplaceKernel(1.7)
    for width in (0.5, 1.0, 2.0):
        found = basis.at_relative_width(kernel, kernel(both, both), width)
        np.testing.assert_allclose(found, LaplaceKernel(1.7 * width)(both, both), rtol=1e-12)
    # The rule for bandwidths is that of the Gaussian kernel.
    with pytest.raises(ValueError, match="bandwidth"):
        kernel_entropic_novelty(new, reference, **options)


# A kind of model: one that is constant on either side of a cut in its first column.


class CutModel:
    def __init__(self, cut: float) -> None:
        self.cut = cut
        self.classes_ = np.array([0, 1])

    def predict(self, X: Any) -> Any:
        return (np.asarray(X)[:, 0] > self.cut).astype(int)


class CutRoute(Route):
    def accepts(self, model: Any, loss: str) -> bool:
        return isinstance(model, CutModel) and loss == "zero_one"

    def worst_case(self, problem: Any) -> WorstCase:
        start = problem.codes[:, 0]
        wrong = problem.is_wrong(problem.codes, slice(None))
        # The nearest error of a sample that is right lies just beyond the cut.
        beyond = np.where(
            start > problem.model.cut, problem.model.cut, np.nextafter(problem.model.cut, np.inf)
        )
        ends = problem.codes.copy()
        ends[:, 0] = np.where(wrong, start, beyond)
        distances = problem.domain.distances(ends, problem.codes)
        return WorstCase(ZeroOneLoss(distances), lambda rows, distances, choices: ends[rows])


def test_a_new_kind_of_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from shiftmetrics import Perturbation, model_stability
    from shiftmetrics.models.measures import routes

    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 2))
    model = CutModel(0.2)
    y = np.where(rng.random(100) < 0.1, 1 - model.predict(X), model.predict(X))
    monkeypatch.setattr(routes, "ROUTES", {"cut": CutRoute(), **routes.ROUTES})
    options: dict[str, Any] = {
        "perturbation": Perturbation(bounds=None, cost="unit"),
        "computing": QUIET,
    }
    result = model_stability(model, X, y, 0.4, theta2=np.inf, **options)
    assert (result.search.route, result.kind) == ("cut", "exact")
    # Without reweighting the nearest samples that are right cross the cut, at their squared distance.
    right = model.predict(X) == y
    squared = np.sort((X[right, 0] - 0.2) ** 2)
    needed = 0.4 * 100 - (~right).sum()
    expected = 0.4 * squared[: int(needed)].sum() / 100
    assert result.value == pytest.approx(expected, rel=1e-9)
