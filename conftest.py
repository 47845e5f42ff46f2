"""What holds for every test and every example in a docstring."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Close the figures that a test drew, or the next ones would be warned of them."""
    yield
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")
