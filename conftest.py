"""What holds for every test and every example in a docstring."""

import importlib.util
import re
import sys
from collections.abc import Iterator
from doctest import UnexpectedException

import pytest

MISSING = re.compile(r"No module named '(?!shiftmetrics)(\w+)|pip install '?shiftmetrics\[(\w+)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip what fails because a package of an extra is not installed; where all are, nothing is skipped."""
    try:
        return (yield)
    except (ImportError, UnexpectedException) as error:
        cause = error.exc_info[1] if isinstance(error, UnexpectedException) else error
        text = str(cause)
        no_parquet = "pyarrow" in text and importlib.util.find_spec("pyarrow") is None
        if isinstance(cause, ImportError) and (MISSING.search(text) or no_parquet):
            pytest.skip(text.splitlines()[0])
        raise


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close the figures that a test drew, or the next ones would be warned of them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
