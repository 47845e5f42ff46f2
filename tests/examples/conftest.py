"""A small demonstration: measured once."""

import pytest

from shiftmetrics.examples.evaluate import Demonstration, evaluate_digits


@pytest.fixture(scope="session")
def small() -> Demonstration:
    return evaluate_digits(n_images=500, withheld=0)
