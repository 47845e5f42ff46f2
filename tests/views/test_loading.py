"""Views are loaded for the results that they are about, and only these."""

import subprocess
import sys

from shiftmetrics.views.loading import FILES


def loaded(module: str, name: str) -> set[str]:
    code = (
        "import sys\n"
        f"from {module} import {name}\n"
        "from shiftmetrics.views.loading import load_views\n"
        f"load_views({name}, 'drawings')\n"
        "print(*sorted(sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    prefix = "shiftmetrics.views.drawings."
    known = {file for files in FILES.values() for file in files if file.startswith("drawings")}
    found = {
        name.removeprefix("shiftmetrics.views.")
        for name in done.stdout.split()
        if name.startswith(prefix)
    }
    return found & known


def test_a_decision_loads_its_own_drawings_alone():
    assert loaded("shiftmetrics.decisions.diff.result", "DiffResult") == {"drawings.diff"}


def test_a_class_that_is_no_result_loads_nothing():
    assert loaded("decimal", "Decimal") == set()
