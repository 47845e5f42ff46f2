"""The cosine kernel in the space of the columns: exact, in one pass."""

import numpy as np
import pytest
import torch

from shiftmetrics.novelty import CosineMap, NoveltyStatus, kernel_entropic_novelty


def samples(seed: int, n: int, m: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)) + 0.3, rng.normal(size=(m, columns)) @ np.diag(
        np.linspace(0.2, 2, columns)
    )


@pytest.mark.parametrize("eta", [1.0, 4.0])
def test_columns_and_rows_give_the_same(eta: float) -> None:
    x, y = samples(0, 80, 60, 7)
    options = {"kernel": "cosine", "eta": eta, "reverse": True, "n_permutations": 0}
    exact = kernel_entropic_novelty(x, y, method="dense", **options)
    result = kernel_entropic_novelty(x, y, method="cosine", **options)
    assert (result.method, result.rank, result.status) == ("cosine", 7, NoveltyStatus.EXACT)
    assert result.value == pytest.approx(exact.value, abs=1e-9)
    assert result.reverse == pytest.approx(exact.reverse, abs=1e-9)
    assert result.error_bound < 1e-9
    np.testing.assert_allclose(result.eigenvalues, exact.eigenvalues[: len(result.eigenvalues)], atol=1e-12)
    np.testing.assert_allclose(result.modes[0].membership, exact.modes[0].membership, atol=1e-9)
    np.testing.assert_allclose(result.modes[0].score(y), exact.modes[0].reference_membership, atol=1e-9)


def test_auto_takes_the_columns_where_there_are_fewer() -> None:
    x, y = samples(1, 30, 20, 5)
    narrow = kernel_entropic_novelty(x, y, kernel="cosine")
    assert (narrow.method, narrow.settings["reason"]) == ("cosine", "the cosine kernel is exact in 5 columns")
    x, y = samples(1, 10, 8, 40)
    assert kernel_entropic_novelty(x, y, kernel="cosine").method == "dense"


def test_weights_and_tensors_of_single_precision() -> None:
    x, y = samples(2, 40, 30, 4)
    counts = np.random.default_rng(0).integers(0, 3, size=40)
    weighted = kernel_entropic_novelty(
        torch.asarray(x), torch.asarray(y), kernel="cosine", sample_weight=counts, n_permutations=0
    )
    repeated = kernel_entropic_novelty(np.repeat(x, counts, axis=0), y, kernel="cosine", n_permutations=0)
    assert weighted.value == pytest.approx(repeated.value, abs=1e-10)
    single = kernel_entropic_novelty(
        x.astype(np.float32), y.astype(np.float32), kernel="cosine", n_permutations=0
    )
    assert single.value == pytest.approx(
        kernel_entropic_novelty(x, y, kernel="cosine", n_permutations=0).value, abs=1e-5
    )


def test_lengths_do_not_matter_even_extreme_ones() -> None:
    x, y = samples(3, 20, 20, 3)
    expected = kernel_entropic_novelty(x, y, kernel="cosine", n_permutations=0).value
    lengths = 10.0 ** np.random.default_rng(0).uniform(-200, 200, size=(20, 1))
    result = kernel_entropic_novelty(x * lengths, y, kernel="cosine", n_permutations=0)
    assert result.value == pytest.approx(expected, abs=1e-9)


def test_rows_without_direction_and_other_kernels_are_refused() -> None:
    x, y = samples(4, 20, 20, 3)
    with pytest.raises(ValueError, match="kernel must be 'cosine' with method='cosine', got 'gaussian'"):
        kernel_entropic_novelty(x, y, method="cosine")
    with pytest.raises(ValueError, match="points must be free of rows of zeros.* row 1"):
        CosineMap(2).check_points([[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="points must be of 2 columns, got 3"):
        CosineMap(2).check_points(np.ones((2, 3)))
    with pytest.raises(ValueError, match="n_columns must be an integer at least 1"):
        CosineMap(0)
