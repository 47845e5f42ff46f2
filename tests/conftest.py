"""Settings for all tests: reproducible Hypothesis, real data only where it is pointed at."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real data sets, or skip: a plain `make test` needs none."""
    folder = os.environ.get("SHIFTMETRICS_DATA")
    if not folder:
        pytest.skip("SHIFTMETRICS_DATA is not set: point it at a folder of real data sets to run this test")
    return Path(folder)
