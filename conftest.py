"""What holds for every test and every example in a docstring."""

import importlib.util
import sys
from collections.abc import Iterator
from doctest import UnexpectedException

import pytest


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
