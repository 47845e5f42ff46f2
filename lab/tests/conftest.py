"""Trained networks to attack and to defend."""

import pytest
from hypothesis import settings

from trained_networks import Trained, network_of_digits, network_of_the_plane

# As in the tests of the core.
settings.register_profile("few", max_examples=30, deadline=None)
settings.load_profile("few")


@pytest.fixture(scope="session")
def plane() -> Trained:
    return network_of_the_plane()


@pytest.fixture(scope="session")
def digits() -> Trained:
    return network_of_digits()
