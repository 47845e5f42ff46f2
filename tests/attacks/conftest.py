"""Trained networks whose nearest errors are looked for."""

import pytest

from trained_networks import Trained, network_of_digits, network_of_the_plane


@pytest.fixture(scope="session")
def plane() -> Trained:
    return network_of_the_plane()


@pytest.fixture(scope="session")
def digits() -> Trained:
    return network_of_digits()
