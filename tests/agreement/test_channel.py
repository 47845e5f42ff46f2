"""The symmetric channel: capacity, its inverse, and their ends."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.agreement import channel_capacity, equivalent_error


@given(st.floats(0.0, 1.0), st.integers(2, 10_000))
def test_the_inverse_inverts(share: float, n_classes: int) -> None:
    error = share * (1 - 1 / n_classes)
    capacity = channel_capacity(error, n_classes)
    assert 0.0 <= capacity <= math.log(n_classes)
    assert channel_capacity(equivalent_error(capacity, n_classes), n_classes) == pytest.approx(
        capacity, abs=1e-13
    )


@given(st.floats(1e-6, 0.999), st.integers(2, 100))
def test_the_error_comes_back(share: float, n_classes: int) -> None:
    error = share * (1 - 1 / n_classes)
    found = equivalent_error(channel_capacity(error, n_classes), n_classes)
    assert found == pytest.approx(error, rel=1e-6)


@given(st.floats(-1.0, 5.0), st.floats(-1.0, 5.0), st.integers(2, 100))
def test_more_agreement_is_less_error(first: float, second: float, n_classes: int) -> None:
    low, high = sorted([first, second])
    assert equivalent_error(low, n_classes) >= equivalent_error(high, n_classes)


@pytest.mark.parametrize("n_classes", [2, 3, 1000])
def test_ends(n_classes: int) -> None:
    assert channel_capacity(0.0, n_classes) == math.log(n_classes)
    assert channel_capacity(1 - 1 / n_classes, n_classes) == pytest.approx(0.0, abs=1e-15)
    assert equivalent_error(math.log(n_classes), n_classes) == 0.0
    assert equivalent_error(0.0, n_classes) == 1 - 1 / n_classes
    assert equivalent_error(100.0, n_classes) == 0.0
    assert equivalent_error(-0.1, n_classes) == 1 - 1 / n_classes


def test_binary_entropy() -> None:
    e = 0.11
    entropy = -e * math.log(e) - (1 - e) * math.log(1 - e)
    assert channel_capacity(e, 2) == pytest.approx(math.log(2) - entropy, rel=1e-14)


@pytest.mark.parametrize(
    ("error", "n_classes", "message"),
    [
        (0.6, 2, "error must be a number at least 0 and at most 0.5"),
        (-0.1, 2, "error must be"),
        (math.nan, 2, "error must be"),
        (0.1, 1, "n_classes must be an integer at least 2"),
    ],
)
def test_bad_input(error: float, n_classes: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        channel_capacity(error, n_classes)


def test_bad_types() -> None:
    with pytest.raises(TypeError, match="n_classes must be an integer"):
        equivalent_error(0.1, 2.5)
    with pytest.raises(TypeError, match="agreement must be a real number"):
        equivalent_error("high", 2)
