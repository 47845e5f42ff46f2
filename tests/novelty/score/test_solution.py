"""The spectrum of the difference of two kernel covariances, against that of the weighted kernel matrix."""

from dataclasses import replace

import numpy as np
import pytest

from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel
from shiftmetrics.novelty.score.routes import solve
from shiftmetrics.novelty.score.solution import (
    CERTIFIED,
    EXACT,
    RANK_LIMITED,
    SAMPLED,
    NoveltyProblem,
    cautions,
    solve_dense,
    status_of_solution,
)

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(25, 2)), RNG.normal(size=(30, 2))
X[:8] += 6.0


def problem_of(x=X, y=Y, *, eta=1.0, bandwidth=1.0, weights=None):
    weights = np.full(len(x), 1 / len(x)) if weights is None else weights
    return NoveltyProblem(
        gram=Gram(x, y, GaussianKernel(bandwidth)),
        test_weights=weights,
        reference_weights=np.full(len(y), 1 / len(y)),
        eta=eta,
        rtol=1e-12,
        memory_limit=1 << 30,
    )


def spectrum(x, y, eta, bandwidth=1.0):
    """Return the eigenvalues of C_X - eta C_Y: those of K D, largest first."""
    rows = np.concatenate([x, y])
    squared = ((rows[:, None] - rows) ** 2).sum(axis=2)
    kernel = np.exp(-squared / (2.0 * bandwidth**2))
    signs = np.concatenate([np.full(len(x), 1 / len(x)), np.full(len(y), -eta / len(y))])
    return np.sort(np.linalg.eigvals(kernel * signs).real)[::-1]


@pytest.mark.parametrize("eta", [1.0, 3.0])
def test_the_dense_route_and_landmarks_have_the_spectrum_of_the_kernel_matrix(eta):
    expected = spectrum(X, Y, eta)
    dense = solve_dense(problem_of(eta=eta), "chosen by name", vectors=True)
    np.testing.assert_allclose(dense.eigenvalues, expected, atol=1e-10)
    landmarks = solve(problem_of(eta=eta), "landmarks")
    np.testing.assert_allclose(landmarks.eigenvalues[:5], expected[:5], atol=1e-6)
    assert dense.vectors.shape == (55, (expected > 1e-10).sum())


def test_the_score_is_the_entropy_of_what_is_positive_either_way():
    solution = solve_dense(problem_of(), "chosen by name", vectors=False)
    for reverse, eigenvalues in ((False, spectrum(X, Y, 1.0)), (True, -spectrum(X, Y, 1.0)[::-1])):
        positive = eigenvalues[eigenvalues > 1e-10]
        total = positive.sum()
        expected = -(positive * np.log(positive / total)).sum()
        value, slack, kept = solution.score(reverse=reverse)
        assert value == pytest.approx(expected, abs=slack + 1e-9)
        assert slack < 1e-6
        np.testing.assert_allclose(kept[:20], positive[:20], atol=1e-9)


def test_the_number_of_modes_is_one_over_the_mean_square_of_similarities():
    solution = solve_dense(problem_of(), "chosen by name", vectors=False)
    for rows, found in zip((X, Y), solution.mode_counts, strict=True):
        squared = ((rows[:, None] - rows) ** 2).sum(axis=2)
        assert found == pytest.approx(1.0 / (np.exp(-squared) ** 1.0).mean())


def test_a_singular_matrix_has_no_dense_solution():
    copies = np.repeat(X[:5], 5, axis=0)
    assert solve_dense(problem_of(copies, copies), "chosen by name", vectors=False) is None


def test_how_a_route_ended():
    dense = solve_dense(problem_of(), "chosen by name", vectors=False)
    assert status_of_solution(dense, 55) is EXACT
    assert status_of_solution(dense, 1_000) is SAMPLED
    assert status_of_solution(replace(dense, method="landmarks"), 55) is CERTIFIED
    assert status_of_solution(replace(dense, converged=False), 55) is RANK_LIMITED


def test_few_rows_for_their_modes_and_rows_that_are_alike_are_said():
    def said(problem):
        solution = solve(problem, "dense")
        return cautions(problem, solution, solution.score()[2].sum())

    narrow = said(problem_of(bandwidth=0.1))
    assert [text.split()[0] for text in narrow] == ["features", "reference"]
    assert "widen the bandwidth" in narrow[0]
    wide = said(problem_of(bandwidth=300.0))
    assert wide == ("All rows are nearly alike under this kernel, and novelty near 0.",)
