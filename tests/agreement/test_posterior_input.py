"""What posterior agreement accepts, and what it refuses."""

import math
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import oracles
from shiftmetrics import Computing
from shiftmetrics.agreement import posterior_agreement

LOG2 = math.log(2)


def test_identical_samples_are_noticed() -> None:
    scores = np.round(oracles.noisy_pairs(7, 10, 3)[0], 1)
    (warning,) = posterior_agreement(scores, scores).warnings
    assert "identical in every row" in warning
    changed = scores.copy()
    changed[0, 0] += 0.001
    assert posterior_agreement(changed, scores).warnings == ()
    eighths = np.round(8 * scores) / 8  # a constant added to a row is exact here
    (warning,) = posterior_agreement(eighths + np.arange(10)[:, None], eighths).warnings
    assert "identical in every row" in warning


def test_memory_is_bounded_by_the_block_not_by_the_rows() -> None:
    peaks = []
    for n in (4_000, 24_000):
        scores, reference = (x.astype(np.float32) for x in oracles.noisy_pairs(13, n, 60))
        tracemalloc.start()
        with ThreadPoolExecutor(1) as executor:
            posterior_agreement(scores, reference, computing=Computing(executor=executor))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 24_000 * 60 * 8  # the centred rows of one sample


def test_threads_change_nothing() -> None:
    scores, reference = oracles.noisy_pairs(10, 3000, 30)
    expected = posterior_agreement(scores, reference)
    with ThreadPoolExecutor(3) as executor:
        assert posterior_agreement(
            scores, reference, computing=Computing(executor=executor)
        ).equals(expected)


def test_unrelated_rows_are_said_to_agree_by_chance() -> None:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(500, 4))
    (warning,) = posterior_agreement(rng.permutation(reference), reference).warnings
    assert "unrelated rows" in warning
    # A heavy shift of the same rows leaves more than chance, and few rows cannot tell.
    assert posterior_agreement(reference + 4 * rng.normal(size=(500, 4)), reference).warnings == ()
    assert posterior_agreement(rng.permutation(reference[:20]), reference[:20]).warnings == ()
    # Of ten classes a kappa of 0.4 in 40 rows is no chance: its standard error is 0.05, not 1 / sqrt(40).
    ten = np.eye(10)[np.arange(40) % 10]
    half = np.where(np.arange(40)[:, None] % 20 < 9, ten, np.roll(ten, 1, axis=0))
    result = posterior_agreement(half, ten)
    assert 0.3 < result.changes.kappa < 3.0 / math.sqrt(40)
    assert result.warnings == ()


@pytest.mark.slow
def test_related_rows_are_rarely_called_unrelated() -> None:
    """Of rows of which a third keeps its prediction for sure, fewer than 1 in 50 samples of 100 are."""
    said = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        reference, other = rng.normal(size=(2, 100, 3))
        other[:50] = reference[:50]
        said += len(posterior_agreement(other, reference).warnings)
    assert said <= 4


def test_rows_that_differ_in_a_class_of_prior_zero_are_not_called_identical() -> None:
    rng = np.random.default_rng(0)
    shifted, reference = rng.normal(size=(2, 60, 3))
    assert not any(
        "identical" in text
        for text in posterior_agreement(shifted, reference, prior=[1, 0, 0]).warnings
    )
    assert "identical" in posterior_agreement(shifted, shifted, prior=[1, 1, 0]).warnings[0]


def test_a_coarse_tolerance_cannot_report_chance() -> None:
    with pytest.raises(ValueError, match="atol must be at most 0.01 nats, got 10"):
        posterior_agreement(np.eye(3), np.eye(3), computing=Computing(atol=10.0))


def test_a_uniform_prior_has_a_name_and_a_result_is_a_number() -> None:
    shifted, reference = np.random.default_rng(0).normal(size=(2, 60, 3))
    named, default = (
        posterior_agreement(shifted, reference, prior=prior) for prior in ("uniform", None)
    )
    assert named.equals(default)
    assert float(named) == named.value
