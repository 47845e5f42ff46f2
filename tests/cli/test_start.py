"""How much a command imports: most of the time of a small comparison, which must not creep back."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

HEAVY = {
    "scipy.optimize", "scipy.stats", "sklearn", "torch", "dask", "matplotlib.pyplot", "jinja2",
    "pydantic", "rich", "pyarrow.parquet",
}  # fmt: skip
"""None of these is needed to compare two csv files."""

DECISIONS = {f"shiftmetrics.decisions.{name}" for name in ("audit", "monitor", "scores", "tokens")}

STARTS = {
    "diff old.csv new.csv": (205, HEAVY | DECISIONS | {"shiftmetrics.models"}),
    "diff old.csv new.csv --label label --allow 0.01": (
        205,
        HEAVY | DECISIONS | {"shiftmetrics.models"},
    ),
    "agreement new.csv old.csv": (180, HEAVY | DECISIONS | {"scipy", "shiftmetrics.novelty"}),
    "compare old.csv new.csv": (265, HEAVY),
    "--help": (25, HEAVY | DECISIONS | {"pandas", "scipy"}),
    "audit --help": (330, {"pydantic", "rich", "sklearn", "matplotlib.pyplot", "torch"}),
}
"""The most modules of the library itself, and what must not be loaded; a few above what it is now."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("start")
    rng = np.random.default_rng(0)
    labels = rng.choice(list("abc"), 200)
    for name in ("old", "new"):
        table = pd.DataFrame(rng.dirichlet(np.ones(3), size=200), columns=list("abc"))
        table["label"] = labels
        table.to_csv(place / f"{name}.csv", index_label="id")
    return place


@pytest.mark.parametrize("typed", STARTS)
def test_a_command_imports_no_more_than_it_needs(typed, folder):
    most, never = STARTS[typed]
    code = (
        f"import sys; sys.argv = ['shiftmetrics', *{typed.split()!r}]\n"
        "from shiftmetrics.cli import main\n"
        "try: main()\n"
        "except SystemExit as ended: assert ended.code in (None, 0, 1, 3), ended.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout
    loaded = set(done.stderr.split())
    assert loaded & never == set()
    own = [name for name in loaded if name.partition(".")[0] == "shiftmetrics"]
    assert 10 < len(own) <= most
