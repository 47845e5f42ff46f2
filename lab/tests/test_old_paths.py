"""What was written while the laboratory was a part of shiftmetrics is still read."""

import importlib
import pickle
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np

import shiftmetrics
import shiftmetrics_lab
from shiftmetrics._core.record import Record
from shiftmetrics_lab import __version__
from shiftmetrics_lab.records import RECORDS
from shiftmetrics_lab.result import LabResult, mean_distance


def a_result() -> LabResult:
    return mean_distance("a distance", np.array([1.0, 2.0, 4.0]), 1.0, settings={})


def test_pickles_of_the_old_path_are_read():
    old = pickle.dumps(a_result(), protocol=0).replace(b"shiftmetrics_lab", b"shiftmetrics.lab")
    assert b"shiftmetrics.lab.result" in old
    assert pickle.loads(old).equals(a_result())


def test_a_module_stands_once_under_both_paths():
    import shiftmetrics.lab.result as old_path

    assert old_path.LabResult is LabResult


def test_records_are_found_by_name_without_importing_the_laboratory():
    code = (
        "import sys; from shiftmetrics._core.record import _class_of;"
        "assert 'shiftmetrics_lab' not in sys.modules;"
        "print(_class_of('LabResult').__module__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "shiftmetrics_lab.result"


def test_all_records_of_the_laboratory_are_listed():
    for found in pkgutil.walk_packages(shiftmetrics_lab.__path__, "shiftmetrics_lab."):
        importlib.import_module(found.name)
    known = Record._registry.values()
    ours = {cls for cls in known if cls.__module__.startswith("shiftmetrics_lab.")}
    assert ours == set(RECORDS)


def test_versions_are_one():
    assert __version__ == shiftmetrics.__version__
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    assert f"shiftmetrics=={__version__}" in project["dependencies"]
