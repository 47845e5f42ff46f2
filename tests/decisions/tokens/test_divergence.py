"""The lower bound of a divergence: never above the true one, and equal to it where all tokens are listed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics.decisions.tokens.divergence import least_divergence, top_token


def top(logprobs, k):
    best = np.argsort(-logprobs, kind="stable")[:k]
    return {int(token): float(logprobs[token]) for token in best}


@given(st.integers(0, 10**6), st.integers(1, 30), st.floats(0.0, 5.0))
def test_it_is_at_most_the_divergence_of_the_full_vectors(seed, k, spread):
    rng = np.random.default_rng(seed)
    old = rng.normal(size=30) * 3.0
    new = old + spread * rng.normal(size=30)
    old -= np.logaddexp.reduce(old)
    new -= np.logaddexp.reduce(new)
    true = float((np.exp(old) * (old - new)).sum())
    bound = least_divergence(top(old, k), top(new, k))
    assert 0.0 <= bound <= true + 1e-9
    if k == 30:
        assert bound == pytest.approx(true, abs=1e-5)


def test_more_tokens_never_lower_it():
    rng = np.random.default_rng(0)
    old = rng.normal(size=50) * 2.0
    new = old + 0.3 * rng.normal(size=50)
    old -= np.logaddexp.reduce(old)
    new -= np.logaddexp.reduce(new)
    # the same tokens in both, so that partitions refine each other
    order = np.argsort(-old)
    bounds = []
    for k in (1, 5, 20, 49):
        listed = order[:k]
        bounds.append(
            least_divergence(
                {int(t): float(old[t]) for t in listed}, {int(t): float(new[t]) for t in listed}
            )
        )
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1]


def test_tokens_that_only_one_lists_belong_to_the_rest():
    old = {"a": math.log(0.5), "b": math.log(0.3)}
    new = {"a": math.log(0.4), "c": math.log(0.3)}
    by_hand = 0.5 * math.log(0.5 / 0.4) + 0.5 * math.log(0.5 / 0.6)
    assert least_divergence(old, new) == pytest.approx(by_hand, abs=1e-5)
    assert least_divergence({"a": 0.0}, {"b": 0.0}) == 0.0


def test_rounding_makes_no_divergence():
    # float32 numbers whose sum is a little above or below 1
    logprobs = np.log(np.float32([0.7, 0.2, 0.1]))
    old = dict(enumerate(logprobs.astype(float)))
    new = {token: value + 3e-8 for token, value in old.items()}
    assert least_divergence(old, new) < 1e-6


def test_the_top_token_does_not_depend_on_the_order():
    assert top_token({2: -0.5, 1: -0.5, 3: -2.0}) == top_token({1: -0.5, 3: -2.0, 2: -0.5})
    assert top_token({b"a": -1.0, b"b": -0.1}) == b"b"
