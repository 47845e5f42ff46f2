"""What holds for every test and every example in a docstring: no windows, extras and data where they are."""

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from doctest import UnexpectedException
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

os.environ.setdefault("MPLBACKEND", "Agg")

# The same examples on every machine: none from earlier runs, and no constants of the modules that are loaded,
# which depend on the tests that ran before.
settings.register_profile(
    "ci",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ci")
if hasattr(providers, "is_local_module_file"):
    providers.is_local_module_file = lambda path: False  # type: ignore[attr-defined]

NO_DATA = "SHIFTMETRICS_DATA is not set: point it at a folder of real data sets to run this test"


MISSING = re.compile(r"No module named '(?!shiftmetrics)\w+|pip install '?shiftmetrics\[")


def missing_package(error: BaseException | None) -> str | None:
    """Return the package of an extra whose absence led to an error, or None where all that it asked for is there."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name:
            package = error.name.partition(".")[0]
            if package != "shiftmetrics" and is_missing(package):
                return package
        # pandas asks for its reader of Parquet in words alone.
        if isinstance(error, ImportError) and "pyarrow" in str(error) and is_missing("pyarrow"):
            return "pyarrow"
        error = error.__cause__ or error.__context__
    return None


def is_missing(package: str) -> bool:
    """Return True if a package is not installed; one that a test only hides counts as installed."""
    return package not in sys.modules and importlib.util.find_spec(package) is None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip what fails because a package of an extra is not installed; where all are, nothing is skipped."""
    try:
        return (yield)
    except (ImportError, UnexpectedException) as error:
        cause = error.exc_info[1] if isinstance(error, UnexpectedException) else error
        package = missing_package(cause)
        if package:
            pytest.skip(f"{package} is not installed")
        raise


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close the figures that a test drew, or the next ones would be warned of them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Iterator[None]:
    """Skip files that import a package which is not installed: it belongs to an extra."""
    report: Any = yield
    text = str(report.longrepr) if report.failed else ""
    if MISSING.search(text):
        cause = next(line for line in reversed(text.splitlines()) if MISSING.search(line))
        report.outcome, report.longrepr = (
            "skipped",
            (str(collector.path), 0, f"Skipped: {cause.strip('E ')}"),
        )
    return report


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the tests on real data where there is none, whether or not they ask for the folder."""
    if item.get_closest_marker("realdata") and not os.environ.get("SHIFTMETRICS_DATA"):
        pytest.skip(NO_DATA)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real data sets, or skip: a plain `make test` needs none."""
    folder = os.environ.get("SHIFTMETRICS_DATA")
    if not folder:
        pytest.skip(NO_DATA)
    assert Path(folder).is_dir(), f"SHIFTMETRICS_DATA must be a folder, got {folder}"
    return Path(folder)


@pytest.fixture
def bars_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the progress bars that wait for two seconds at once, and where no terminal is."""
    from tqdm.std import tqdm

    from shiftmetrics._core.options import ProgressBar

    plain = tqdm.__init__

    def impatient(self: Any, *arguments: Any, **options: Any) -> None:
        plain(self, *arguments, **{**options, "disable": bool(options.get("disable"))})

    assert ProgressBar.delay == 2.0, "bars wait for two seconds"
    monkeypatch.setattr(ProgressBar, "delay", 0.0)
    monkeypatch.setattr(tqdm, "__init__", impatient)
