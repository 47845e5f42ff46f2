"""All routes on one footing: sizes, weights, what is chosen and why, and what is refused."""

import tracemalloc

import numpy as np
import pytest

from calls import both_ways, novelty
from shiftmetrics.novelty.score import routes
from shiftmetrics.novelty.score.gram import Gram
from shiftmetrics.novelty.score.kernels import GaussianKernel
from shiftmetrics.novelty.score.routes import METHODS
from shiftmetrics.novelty.score.solution import CERTIFIED, EXACT, RANK_LIMITED, NoveltyProblem

GAUSSIAN = [method for method in METHODS if method != "cosine"]


def samples(seed: int, n: int, m: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    x[: n // 2] += 3.0
    return x, y


@pytest.mark.parametrize("method", GAUSSIAN)
@pytest.mark.parametrize(("n", "m", "eta"), [(3, 900, 1.0), (700, 2, 1.0), (60, 400, 10.0)])
def test_very_unequal_sizes_and_a_large_eta_in_one_column(
    method: str, n: int, m: int, eta: float
) -> None:
    x, y = samples(n, n, m, 1)
    exact = both_ways(x, y, bandwidth=0.5, eta=eta, method="dense")
    result = both_ways(x, y, bandwidth=0.5, eta=eta, method=method)
    assert result.value == pytest.approx(exact.value, abs=result.error_bound + exact.error_bound)
    assert result.score.reverse == pytest.approx(
        exact.score.reverse, abs=result.score.reverse_error_bound + exact.score.reverse_error_bound
    )
    assert result.score.eigenvalues[0] == pytest.approx(exact.score.eigenvalues[0], abs=1e-7)


@pytest.mark.parametrize("method", GAUSSIAN)
def test_rows_without_weight_do_not_count(method: str) -> None:
    x, y = samples(0, 80, 60, 2)
    weights, reference_weights = np.ones(80), np.ones(60)
    weights[::3], reference_weights[:20] = 0.0, 0.0
    options = {"bandwidth": 1.0, "method": method}
    weighted = novelty(x, y, sample_weight=weights, reference_weight=reference_weights, **options)
    fewer = novelty(x[weights > 0], y[20:], **options)
    assert weighted.value == pytest.approx(fewer.value, abs=1e-6)
    np.testing.assert_allclose(
        weighted.score.eigenvalues[:3], fewer.score.eigenvalues[:3], atol=1e-8
    )


@pytest.mark.parametrize("eta", [1.0, 3.0])
def test_a_score_alone_takes_the_place_of_the_factor_and_stays_the_same(eta: float) -> None:
    x, y = samples(1, 400, 300, 12)
    gram = Gram(x, y, GaussianKernel(3.0))
    shares = {"test_weights": np.full(400, 1 / 400), "reference_weights": np.full(300, 1 / 300)}
    problem = NoveltyProblem(gram=gram, **shares, eta=eta, rtol=1e-12, memory_limit=1 << 40)
    alone, beside = (routes.solve(problem, "dense", vectors=wanted) for wanted in (False, True))
    np.testing.assert_allclose(alone.eigenvalues, beside.eigenvalues, rtol=0, atol=1e-12)
    assert alone.score()[:2] == pytest.approx(beside.score()[:2])
    assert alone.mode_counts == pytest.approx(beside.mode_counts)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [0, 10])
def test_the_dense_route_holds_what_is_estimated(copies: int) -> None:
    x, y = samples(1, 1100, 900, 30)
    x[:copies] = y[:copies]  # a singular kernel matrix, factored with pivots
    shares = {"test_weights": np.full(1100, 1 / 1100), "reference_weights": np.full(900, 1 / 900)}
    problem = NoveltyProblem(
        gram=Gram(x, y, GaussianKernel(4.0)), **shares, eta=1.0, rtol=1e-12, memory_limit=1 << 40
    )
    novelty(x[:50], y[:50], bandwidth=4.0)  # imports
    tracemalloc.start()
    try:
        assert routes.solve(problem, "dense").rank == 2000 - copies
        # What is estimated, for a matrix that is regular and for one that is not.
        assert tracemalloc.get_traced_memory()[1] < (50 if copies else 24) * 2000**2
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_the_whole_answer_stays_within_its_limit() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 10_000, 3))
    tracemalloc.start()
    try:
        options = {
            "bandwidth": 0.7,
            "method": "landmarks",
            "n_landmarks": 800,
            "memory_limit": 300 << 20,
        }
        result = novelty(x, y, **options)
        assert tracemalloc.get_traced_memory()[1] < 300 << 20
    finally:
        tracemalloc.stop()
    assert result.status is RANK_LIMITED
    assert result.score.rank > 500


@pytest.fixture
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a thousand rows too many for the dense route, and for columns of the matrix."""
    monkeypatch.setattr(routes, "_FEW_ROWS", 100)
    monkeypatch.setattr(routes, "DENSE_SECONDS", 0.03)


@pytest.mark.slow
@pytest.mark.usefixtures("few_are_many")
def test_auto_chooses_by_what_landmarks_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = samples(3, 500, 400, 2)
    low = novelty(x, y, bandwidth=1.0)
    assert (low.score.method, low.status) == ("landmarks", CERTIFIED)
    assert "of the 900 rows" in low.settings["reason"]
    x, y = samples(5, 500, 400, 40)
    high = novelty(x, y, bandwidth=4.0)
    assert (high.score.method, high.status) == ("landmarks", CERTIFIED)
    monkeypatch.setattr(routes, "_MAX_LANDMARKS", 150)
    part = novelty(x, y, bandwidth=4.0, method="auto")
    assert (part.score.method, part.status) == (
        "dense",
        EXACT,
    )  # its score is of a part, here of all rows
    assert "150 landmarks leave out" in part.settings["reason"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "landmarks"}, r"method='landmarks' with 1024 landmarks needs .* Take fewer"),
        (
            {"method": "cosine", "kernel": "cosine"},
            r"method='cosine' with 2000 rows needs .* memory_limit",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_words(arguments: dict, message: str) -> None:
    x, y = samples(6, 1000, 1000, 2)
    with pytest.raises(MemoryError, match=message):
        novelty(x, y, memory_limit=20 << 20, **arguments)
