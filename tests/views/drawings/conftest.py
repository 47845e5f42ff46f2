"""Drawings without a screen, closed after each test."""

import matplotlib as mpl
import pytest

mpl.use("Agg")
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")
