"""Tables, arrays and models from joblib, skops and modules: opened once trusted, with the answers of files."""

import os
import sys

import joblib
import numpy as np
import pandas as pd
import pytest

from shiftmetrics.cli.inputs.objects import as_content

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
        ("agreement M:noisy M:clean --id image", "agreement noisy.csv clean.csv --id image --exclude truth"),
        ("agreement noisy.joblib M:clean --id image", "agreement noisy.csv clean.csv --id image --exclude truth"),
        ("agreement M:Runs.noisy M:Runs.clean --labels M:Runs.labels", "agreement runs.npz:noisy runs.npz:clean"),
        ("stability distances.joblib --distances 0 -r 0.4", "stability distances.npy --distances 0 -r 0.4"),
        ("stability M:patients --distances distance -r 0.4", "stability patients.csv --distances distance -r 0.4"),
        ("novelty M:Runs.new M:Runs.reference", "novelty points.npz:new points.npz:reference"),
        (
            "compare a=noisy.joblib b=M:clean --reference clean.joblib --id image --resamples 50",
            "compare a=noisy.csv b=clean.csv --reference clean.csv --id image --exclude truth --resamples 50",
        ),
    ],
)  # fmt: skip
def test_objects_give_what_files_give(run, place, typed, same):
    found = run(*typed.replace("M:", f"{place}:").split(), "--trust")
    assert found.exit_code == 0, found.output
    expected = run(*same.split())
    lines = [line for line in expected.stdout.splitlines() if not line.startswith("Read ")]
    assert lines[0] in found.stdout.splitlines()


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("M:function", "SHIFTED must be a table or an array, got an object of type function."),
        ("model.pkl", "save model.predict_proba(X)"),
        ("dict.joblib", "SHIFTED must be a dict of columns of equal length"),
        ("M:nothing", "has no attribute 'nothing')."),
        ("nowhere:nothing", "SHIFTED must name an object that can be opened here, got 'nowhere:nothing' (Module"),
        ("broken:x", "got 'broken:x' (ZeroDivisionError: division by zero)."),
        ("broken.joblib", "got 'broken.joblib' (KeyError: 110). The packages and versions that wrote it"),
        ("M:patients", "Without an id rows go by their place"),
    ],
)  # fmt: skip
def test_what_is_no_sample_is_named(fails, place, folder, typed, message):
    (folder / "broken.py").write_text("1 / 0")
    (folder / "broken.joblib").write_bytes(b"no pickle")
    assert message in fails(
        "agreement", typed.replace("M:", f"{place}:"), "runs.npz:clean", "--trust"
    )


def test_content_of_every_kind():
    assert as_content([1.0, 2.0], "A").tolist() == [1.0, 2.0]
    assert as_content(pd.Series(["a", "b"]), "A").tolist() == ["a", "b"]
    frame = pd.DataFrame({1: [0.5]}, index=[7])
    assert as_content(frame, "A").columns.tolist() == ["1"]
    assert as_content(frame.rename_axis("id"), "A").columns.tolist() == ["id", "1"]
    with pytest.raises(TypeError, match="A must be an array of numbers"):
        as_content([[1.0], [1.0, 2.0]], "A")


def test_tensors_are_content():
    torch = pytest.importorskip("torch")
    assert as_content(torch.tensor([1.0], requires_grad=True), "A").tolist() == [1.0]


@pytest.mark.slow
def test_an_object_in_a_run(run, place, folder):
    table = f'[[agreement]]\nname = "a"\nshifted = "{place}:noisy"\nreference = "clean.joblib"\nid = "image"\n'
    (folder / "config.toml").write_text(f"trust = true\n{table}")
    assert run("run", "config.toml").exit_code == 0
    (folder / "config.toml").write_text(f"{table}trust = true\n")
    assert run("run", "config.toml").exit_code == 0


class Leaves:
    """What a hostile file holds: opening it leaves a mark and calls a function."""

    def __init__(self, function):
        self.function = function

    def __reduce__(self):
        return self.function, (0,)


HOSTILE = "import pathlib\npathlib.Path('opened').touch()\nscores = [[0.5, 0.5]] * 60\n"
CONFIG = """
[[agreement]]
name = "a"
shifted = "hostile:scores"
reference = "clean.csv"

[[stability]]
name = "s"
file = "patients.csv"
model = "hostile:scores"
target = "died"
threshold = 0.4
"""


@pytest.mark.parametrize(
    "typed",
    [
        "agreement hostile:scores clean.csv",
        "agreement clean.csv clean.csv --label hostile:scores",
        "agreement runs.npz:noisy runs.npz:clean --prior hostile:scores",
        "compare a=hostile:scores b=clean.csv --reference clean.csv",
        "novelty reference.csv hostile:scores",
        "stability hostile:scores --losses 0 -r 0.4",
        "stability patients.csv --model hostile:scores --target died -r 0.4",
        "agreement noisy.joblib clean.joblib",
        "run config.toml",
    ],
)
def test_nothing_is_opened_unasked(fails, place, folder, typed):
    (folder / "hostile.py").write_text(HOSTILE)
    (folder / "config.toml").write_text(CONFIG)
    message = fails(*typed.split())
    assert "runs the code inside it. Give --trust" in message
    assert not (folder / "opened").exists()
    assert "hostile" not in sys.modules


@pytest.mark.usefixtures("opened_apart")
def test_a_file_that_exits_is_an_error(fails, place, folder):
    joblib.dump(Leaves(sys.exit), folder / "exit.joblib")
    assert "got 'exit.joblib' (SystemExit: 0)" in fails(
        "agreement", "exit.joblib", "clean.csv", "--trust"
    )


def test_skops_needs_no_trust_for_types_that_it_knows(run, fails, place, folder):
    skops = pytest.importorskip("skops.io")
    from sklearn.linear_model import LogisticRegression

    rows = pd.read_csv("patients.csv")
    skops.dump(LogisticRegression().fit(rows[["age", "loss"]], rows["died"]), "model.skops")
    skops.dump(Leaves(print), "unknown.skops")
    arguments = [
        "stability",
        "patients.csv",
        "--target",
        "died",
        "--id",
        "patient",
        "-r",
        "0.9",
        "--model",
    ]
    done = run(*arguments, "model.skops")
    assert done.exit_code == 0, done.output
    refused = fails(*arguments, "unknown.skops")
    assert "Give --trust" in refused
    for name in pytest.importorskip("skops.io").get_untrusted_types(file="unknown.skops"):
        assert name in refused.replace("\n", "")


class Crash:
    """Ends the interpreter where it is unpickled, as a damaged file may."""

    def __reduce__(self) -> tuple:
        return os.abort, ()


@pytest.mark.usefixtures("opened_apart")
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_file_that_crashes_the_interpreter_is_refused(fails, folder) -> None:
    joblib.dump(Crash(), folder / "bad.joblib")
    message = fails("agreement", folder / "bad.joblib", folder / "runs.npz:clean", "--trust")
    assert "bad.joblib" in message
    assert "crashes the interpreter" in message


@pytest.mark.parametrize("top", ["trust = true\n", ""])
def test_a_measurement_of_a_run_may_be_trusted_less(run, fails, place, folder, top):
    del place
    table = '[[agreement]]\nname = "a"\nshifted = "noisy.joblib"\nreference = "clean.csv"\nid = "image"\ntrust = {}\n'
    options = () if top else ("--trust",)
    file = folder / "run.toml"
    file.write_text(top + table.format("false"))
    assert "--trust" in fails("run", file, "--dry-run", *options)
    file.write_text(top + table.format("true"))
    assert run("run", file, "--dry-run", *options).exit_code == 0
