"""`import shiftmetrics` is light: no framework comes with it, nor with a measure of NumPy arrays."""

import json
import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "sklearn",
    "dask",
    "pandas",
    "matplotlib",
    "jinja2",
    "typer",
    "array_api_compat.torch",
)


def loaded_after(code: str) -> set[str]:
    """Run ``code`` in a fresh interpreter and return which of the heavy libraries it loaded."""
    script = f"{code}\nimport sys, json\nprint(json.dumps([name for name in {HEAVY} if name in sys.modules]))"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.slow
def test_the_question_can_be_answered_yes() -> None:
    assert loaded_after("import torch, pandas") >= {"torch", "pandas"}


def test_importing_loads_no_framework() -> None:
    assert loaded_after("import shiftmetrics") == set()


def test_importing_loads_next_to_nothing() -> None:
    """What measures need of NumPy and of the library itself is loaded when a name is first used."""
    code = "import sys; before = set(sys.modules); import shiftmetrics; print(*sorted(set(sys.modules) - before))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = ended.stdout.split()
    assert len([name for name in loaded if name.partition(".")[0] == "shiftmetrics"]) < 10
    others = {name.partition(".")[0] for name in loaded} - {"shiftmetrics"}
    assert others <= sys.stdlib_module_names


def test_a_measure_loads_little_beside_numpy() -> None:
    """Threads, archives, logging and paths come when they are first used: half of the time of an import."""
    code = (
        "import sys, numpy; before = set(sys.modules); from shiftmetrics import posterior_agreement; "
        "print(*sorted(set(sys.modules) - before))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in ended.stdout.split()}
    later = {"concurrent", "decimal", "hashlib", "json", "logging", "pathlib", "tempfile", "uuid"}
    assert "shiftmetrics" in loaded
    assert not loaded & {*later, "zipfile"}


def test_looking_at_the_public_names_loads_no_framework() -> None:
    code = "import shiftmetrics\nfor name in shiftmetrics.__all__: getattr(shiftmetrics, name)\ndir(shiftmetrics)"
    assert loaded_after(code) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "posterior_agreement(np.eye(3), np.eye(3))",
        "stability_criterion(ZeroOneLoss(np.arange(9.0)), 0.5)",
        "worst_case_risk(ZeroOneLoss(np.arange(9.0)), 0.1)",
        "kernel_entropic_novelty(np.eye(20), np.ones((20, 20)), bandwidth=1.0)",
    ],
    ids=lambda call: call.split("(")[0],
)
def test_a_measure_of_numpy_arrays_loads_no_framework(call: str) -> None:
    code = f"import numpy as np\nfrom shiftmetrics import *\nresult = {call}\nstr(result), result.to_json()"
    assert loaded_after(code) == set()
