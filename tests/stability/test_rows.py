"""Losses that are not in memory: the same answer, from sums over parts."""

import math

import numpy as np
import pytest

from shiftmetrics.stability import FixedLoss, ZeroOneLoss, stability_criterion, worst_case_risk

da = pytest.importorskip("dask.array", reason="needs dask: pip install 'shiftmetrics[dask]'")

RNG = np.random.default_rng(0)
LOSSES = RNG.exponential(size=3000)
DISTANCES = np.where(RNG.random(3000) < 0.1, 0.0, RNG.exponential(size=3000))
DISTANCES[5] = math.inf


def of_dask(values: np.ndarray) -> object:
    return da.from_array(values, chunks=((0, 1, 1999, 0, 1000),))


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_dask_gives_the_number_of_memory(divergence: str) -> None:
    for kind, values, target in ((FixedLoss, LOSSES, 1.4), (ZeroOneLoss, DISTANCES, 0.3)):
        for measure in (stability_criterion, worst_case_risk):
            exact = measure(kind(values), target, divergence=divergence)
            split = measure(kind(of_dask(values)), target, divergence=divergence)
            assert split.value == pytest.approx(exact.value, rel=1e-12)
            if exact.standard_error is not None:
                assert split.standard_error == pytest.approx(exact.standard_error, rel=1e-9)
            assert split.status == exact.status
            assert split.plan.changed_fraction == pytest.approx(
                exact.plan.changed_fraction, rel=1e-9
            )
            assert split.plan.weights is None
            assert split.headline()
            assert split.summary()


def test_the_highest_risk_of_many_blocks_is_the_highest_loss() -> None:
    """Blocks without a row of the highest loss once counted as if all their rows had it."""
    losses = np.random.default_rng(0).exponential(size=100_000)
    assert worst_case_risk(FixedLoss(losses), 1e3).value == pytest.approx(losses.max(), rel=1e-12)
    distances = np.where(np.arange(100_000) < 40_000, 3.0, 1.0 + np.arange(100_000) % 7)
    distances[-1] = 0.0
    few = worst_case_risk(ZeroOneLoss(distances), 1e4)
    assert few.value == pytest.approx(1.0, rel=1e-12)


def test_stored_losses_keep_their_rows(tmp_path) -> None:
    zarr = pytest.importorskip("zarr", reason="needs zarr: pip install zarr")
    stored = zarr.save_array
    stored(str(tmp_path / "losses.zarr"), LOSSES)
    exact = stability_criterion(FixedLoss(LOSSES), 1.4)
    result = stability_criterion(
        FixedLoss(zarr.open_array(str(tmp_path / "losses.zarr"), mode="r")), 1.4
    )
    assert result.value == pytest.approx(exact.value, rel=1e-12)
    np.testing.assert_allclose(result.plan.weights, exact.plan.weights, rtol=1e-9)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (-LOSSES, "losses must be at least 0 everywhere"),
        (LOSSES * np.nan, "losses must be finite everywhere"),
        (LOSSES[:, None], "losses must be a one-dimensional array"),
    ],
)
def test_bad_losses_are_named(values: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FixedLoss(da.from_array(values, chunks=(1000, *values.shape[1:])))


def test_weights_are_refused() -> None:
    with pytest.raises(
        ValueError, match="sample_weight must be None for a loss of out-of-core data"
    ):
        stability_criterion(FixedLoss(of_dask(LOSSES)), 1.4, sample_weight=np.ones(3000))
