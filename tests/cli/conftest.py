"""A runner of the command line, and small files of scores, losses and features to run it on."""

import contextvars
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from shiftmetrics.cli.app import app
from shiftmetrics.cli.inputs import objects

UNSEEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""Warnings that Python shows to developers alone."""


@pytest.fixture
def run() -> Callable:
    """Return a function that runs a command line inside this process.

    A warning of a library that a user of the command would see is an error.
    """
    runner = CliRunner()

    def run(*arguments: object):
        with warnings.catch_warnings(record=True) as shown:
            # As Python shows them by default, but each time.
            warnings.resetwarnings()
            warnings.simplefilter("always")
            for category in UNSEEN:
                warnings.simplefilter("ignore", category)
            # In a context of its own: what a command sets for its inputs ends with it, as with its process.
            result = contextvars.copy_context().run(
                runner.invoke, app, [str(argument) for argument in arguments]
            )
        assert not shown, "\n".join(map(str, shown))
        return result

    return run


@pytest.fixture
def opened_apart() -> None:
    """Ask for models to be opened in a process of their own first, as the commands do."""


@pytest.fixture(autouse=True)
def opened_at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open models in this process alone: another one takes seconds to import what they need."""
    if "opened_apart" not in request.fixturenames:
        monkeypatch.setattr(objects, "_try_apart", lambda text: None)


@pytest.fixture
def fails(run) -> Callable:
    """Return a function that runs a command line, makes sure that it fails as it should, and returns its message."""

    def fails(*arguments: object) -> str:
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        lines = result.stderr.splitlines()
        assert len(lines) == 1, result.stderr
        assert "Traceback" not in result.output
        return lines[0].removeprefix("error: ")

    return fails


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that the commands run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of small inputs for each command."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    clean = pd.DataFrame(
        rng.normal(size=(60, 3)) + 3.0 * np.eye(3)[labels], columns=["cat", "dog", "eel"]
    )
    noisy = clean + rng.normal(size=(60, 3))
    names = [f"image-{i}" for i in range(60)]
    kinds = np.array(["cat", "dog", "eel"], dtype=object)[labels]
    clean.assign(image=names, truth=kinds).sample(frac=1, random_state=0).to_csv(
        tmp_path / "clean.csv", index=False
    )
    noisy[["eel", "cat", "dog"]].assign(image=names, truth=kinds).to_csv(
        tmp_path / "noisy.csv", index=False
    )
    np.savez(tmp_path / "runs.npz", noisy=noisy.to_numpy(), clean=clean.to_numpy(), labels=labels)

    distances = np.maximum(rng.normal(0.6, 0.5, 80), 0.0)
    patients = pd.DataFrame(
        {"age": rng.integers(20, 90, 80), "distance": distances, "loss": rng.exponential(size=80)}
    )
    patients.assign(died=rng.integers(0, 2, 80)).to_csv(
        tmp_path / "patients.csv", index_label="patient"
    )
    np.save(tmp_path / "distances.npy", distances)

    reference = rng.normal(size=(70, 2))
    new = np.concatenate([rng.normal(size=(40, 2)), rng.normal(8.0, 0.3, size=(20, 2))])
    np.savez(tmp_path / "points.npz", new=new, reference=reference, images=rng.random((60, 4, 4)))
    pd.DataFrame(new, columns=["x", "y"]).assign(kind=["old"] * 40 + ["new"] * 20).to_csv(
        tmp_path / "new.csv", index=False
    )
    pd.DataFrame(reference[:, ::-1], columns=["y", "x"]).to_csv(
        tmp_path / "reference.csv", index=False
    )
    return tmp_path


@pytest.fixture
def write(folder: Path) -> Callable[[str], Path]:
    """Return a function that writes a configuration beside the inputs."""

    def write(text: str, name: str = "config.toml") -> Path:
        path = folder / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
