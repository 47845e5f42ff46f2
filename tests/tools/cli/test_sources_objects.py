"""Tables and arrays from joblib and from modules: the same answers as from files, and a word on trust."""

import joblib
import numpy as np
import pandas as pd
import pytest
import torch

from shiftmetrics.tools.cli.sources import as_content, load_attribute

MODULE = """
import numpy as np
import pandas as pd

noisy = pd.read_csv("noisy.csv", index_col="image").drop(columns="truth")
clean = pd.read_csv("clean.csv", index_col="image").drop(columns="truth")
arrays = np.load("runs.npz")
patients = pd.read_csv("patients.csv")
points = np.load("points.npz")


class Runs:
    noisy, clean = arrays["noisy"].tolist(), arrays["clean"]
    labels = pd.Series(arrays["labels"])
    distances = patients["distance"]
    new, reference = points["new"], points["reference"]


def function(): ...
"""


@pytest.fixture
def place(folder, monkeypatch, request):
    """Return the folder of inputs with a module of its own in it, as the present folder."""
    name = f"module_{abs(hash(request.node.name))}"
    (folder / f"{name}.py").write_text(MODULE)
    for key in ("noisy", "clean"):
        frame = pd.read_csv(folder / f"{key}.csv", index_col="image").drop(columns="truth")
        joblib.dump(frame, folder / f"{key}.joblib")
    joblib.dump(np.load(folder / "distances.npy"), folder / "distances.joblib")
    joblib.dump({"a": 1}, folder / "dict.joblib")
    monkeypatch.chdir(folder)
    return name


@pytest.mark.parametrize(
    ("typed", "same"),
    [
        ("agreement M:noisy M:clean --id image", "agreement noisy.csv clean.csv --id image --label truth"),
        ("agreement noisy.joblib M:clean --id image", "agreement noisy.csv clean.csv --id image --label truth"),
        ("agreement M:Runs.noisy M:Runs.clean --label M:Runs.labels", "agreement runs.npz:noisy runs.npz:clean"),
        ("stability distances.joblib --kind distances -r 0.4", "stability distances.npy --kind distances -r 0.4"),
        ("stability M:patients --distances distance -r 0.4", "stability patients.csv --distances distance -r 0.4"),
        ("novelty M:Runs.new M:Runs.reference", "novelty points.npz:new points.npz:reference"),
        (
            "compare a=noisy.joblib b=M:clean --reference clean.joblib --id image --draws 50",
            "compare a=noisy.csv b=clean.csv --reference clean.csv --id image --label truth --draws 50",
        ),
    ],
)  # fmt: skip
def test_objects_give_what_files_give(run, place, typed, same):
    found = run(*typed.replace("M:", f"{place}:").split())
    assert found.exit_code == 0, found.output
    assert "ran the code inside it: give only files from people you trust." in found.stdout
    expected = run(*same.split())
    assert "people you trust" not in expected.stdout
    assert found.stdout.splitlines()[1] == expected.stdout.splitlines()[1]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("M:function", "SHIFTED must be a table or an array, got an object of type function."),
        ("dict.joblib", "SHIFTED must be a table or an array, got an object of type dict."),
        ("M:nothing", "has no attribute 'nothing')."),
        ("nowhere:nothing", "SHIFTED must name something that can be imported, got 'nowhere:nothing' (No module"),
        ("broken:x", "got 'broken:x', which fails on import (ZeroDivisionError: division by zero)."),
        ("broken.joblib", "SHIFTED must be an object that joblib.load can open here, got 'broken.joblib'"),
        ("M:patients", "looks like a row id. Say so with --id"),
    ],
)  # fmt: skip
def test_what_is_no_sample_is_named(fails, place, folder, typed, message):
    (folder / "broken.py").write_text("1 / 0")
    (folder / "broken.joblib").write_bytes(b"no pickle")
    assert message in fails("agreement", typed.replace("M:", f"{place}:"), "runs.npz:clean")


def test_content_of_every_kind():
    assert as_content([1.0, 2.0], "A").tolist() == [1.0, 2.0]
    assert as_content(torch.tensor([1.0], requires_grad=True), "A").tolist() == [1.0]
    assert as_content(pd.Series(["a", "b"]), "A").tolist() == ["a", "b"]
    frame = pd.DataFrame({1: [0.5]}, index=[7])
    assert as_content(frame, "A").columns.tolist() == ["1"]
    assert as_content(frame.rename_axis("id"), "A").columns.tolist() == ["id", "1"]
    assert load_attribute("math:inf", "A") == np.inf


def test_an_object_in_a_run(run, place, folder):
    table = (
        f'[[agreement]]\nname = "a"\nshifted = "{place}:noisy"\nreference = "clean.joblib"\nid = "image"\n'
    )
    (folder / "config.toml").write_text(table)
    assert run("run", "config.toml").exit_code == 0
