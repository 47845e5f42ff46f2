"""Transforms against grids and identities, at the door of every loss, and in every array library."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from optional import array_api_strict, torch
from shiftmetrics.stability import (
    CandidateLoss,
    FixedLoss,
    HingeLoss,
    LogisticLoss,
    PiecewiseLinearLoss,
    SquaredLoss,
    ZeroOneLoss,
    stability_criterion,
)
from shiftmetrics.stability.losses import Loss

INF = np.inf


def everything(loss: Loss) -> slice:
    return slice(0, loss.n_samples)


@pytest.mark.parametrize("dual", [0.02, 0.5, 4.0])
def test_the_value_is_that_of_the_place(make_loss: Callable[..., Loss], dual: float) -> None:
    loss, theta1 = make_loss(), 0.9
    dual = min(dual, 0.9 * loss.largest_dual(theta1))
    value, losses, squared, *_ = loss.transform(dual, theta1, everything(loss))
    np.testing.assert_allclose(value, dual * losses - theta1 * squared, rtol=1e-12, atol=1e-12)
    assert np.all(value >= dual * loss.base(everything(loss)) - 1e-12)
    assert np.all(squared >= 0.0)


def test_the_slope_of_the_value_is_the_loss(make_loss: Callable[..., Loss]) -> None:
    loss, theta1, step = make_loss(3), 0.9, 1e-6
    dual = min(0.37123, 0.6 * loss.largest_dual(theta1))
    low, mid, high = (
        loss.transform(dual + s, theta1, everything(loss)) for s in (-step, 0.0, step)
    )
    slope = (high.value - low.value) / (2 * step)
    smooth = np.abs(high.loss - low.loss) < 1e-3  # not at a kink
    assert smooth.mean() > 0.9
    np.testing.assert_allclose(slope[smooth], mid.loss[smooth], rtol=1e-6, atol=1e-7)


def test_nothing_moves_at_dual_zero_or_an_infinite_price(make_loss: Callable[..., Loss]) -> None:
    loss = make_loss()
    base = loss.base(everything(loss))
    for dual, theta1 in ((0.0, 0.4), (0.7, INF)):
        value, losses, squared, *_ = loss.transform(dual, theta1, everything(loss))
        np.testing.assert_array_equal(losses, base)
        np.testing.assert_array_equal(value, dual * base)
        assert not squared.any()
    np.testing.assert_array_equal(loss.reach(INF, everything(loss)).loss, base)


def test_blocks_are_the_rows_of_the_whole(make_loss: Callable[..., Loss]) -> None:
    loss, part = make_loss(), slice(7, 19)
    whole = loss.transform(0.3, 0.9, everything(loss))
    for mine, all_rows in zip(loss.transform(0.3, 0.9, part), whole, strict=True):
        if mine is None:
            continue
        np.testing.assert_array_equal(mine, all_rows[part])
    rows = np.array([5, 0, 30])
    taken = loss.take(rows)
    assert taken.n_samples == 3
    assert taken.kind == loss.kind
    for mine, all_rows in zip(taken.transform(0.3, 0.9, slice(0, 3)), whole, strict=True):
        if mine is None:
            continue
        np.testing.assert_array_equal(mine, all_rows[rows])


def test_reach_is_the_limit_of_a_high_dual(make_loss: Callable[..., Loss]) -> None:
    loss = make_loss()
    reach = loss.reach(0.4, everything(loss))
    if not np.isfinite(reach.loss).all():
        growing = [loss.transform(h, 0.4, everything(loss)).loss.max() for h in (0.01, 0.1)]
        assert growing[1] > growing[0]
        return
    _, losses, squared, *_ = loss.transform(1e9, 0.4, everything(loss))
    np.testing.assert_array_equal(losses, reach.loss)
    np.testing.assert_array_equal(squared, reach.squared_distance)


CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "list": lambda x: x.tolist(),
    "float32": lambda x: x.astype(np.float32),
    "float16": lambda x: x.astype(np.float16),
    "integer": lambda x: x.astype(np.int8),
    "bool": lambda x: x.astype(bool),
    "pandas": lambda x: (
        pd.DataFrame(x) if x.ndim == 2 else pd.Series(x, index=range(5, 5 + len(x)))
    ),
    "torch": torch.tensor,
    "torch bfloat16": lambda x: torch.tensor(x, dtype=torch.bfloat16),
    "torch with gradient": lambda x: torch.tensor(x, requires_grad=True),
    "strict": array_api_strict.asarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_loss_takes_every_array(container: str) -> None:
    convert, ones = CONTAINERS[container], np.array([1.0, 0.0, 1.0, 0.0])
    matrix, far = np.stack([ones, np.ones(4)], axis=1), np.tile([0.0, 1.0], (4, 1))
    for loss in (FixedLoss, ZeroOneLoss, lambda x: HingeLoss(x, 1.5), lambda x: LogisticLoss(x, 1.5),
                 lambda x: SquaredLoss(x, 0.2)):  # fmt: skip
        mine, expected = (
            stability_criterion(loss(x), 0.9, theta1=1.0) for x in (convert(ones), ones)
        )
        assert mine.value == expected.value
    mine, expected = (
        stability_criterion(CandidateLoss(x, y), 0.9, theta1=1.0)
        for x, y in ((convert(matrix), convert(far)), (matrix, far))
    )
    assert mine.value == pytest.approx(expected.value, rel=1e-14)
    np.testing.assert_array_equal(mine.plan.choices, expected.plan.choices)
    for norms in (far, far[0]):
        mine, expected = (
            stability_criterion(PiecewiseLinearLoss(x, y), 1.1)
            for x, y in ((convert(matrix), convert(norms)), (matrix, norms))
        )
        assert mine.value == pytest.approx(expected.value, rel=1e-14)


def test_zero_sample_weights_in_every_library() -> None:
    losses, distances = (
        np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 1.0]]),
        np.array([[0.0, 0.5], [0.0, 1.0], [0.0, 0.2]]),
    )
    for convert in (np.asarray, torch.tensor, array_api_strict.asarray):
        loss = CandidateLoss(convert(losses), convert(distances))
        result = stability_criterion(loss, 0.9, sample_weight=[1.0, 1.0, 0.0])
        kept = stability_criterion(CandidateLoss(losses[:2], distances[:2]), 0.9)
        assert result.value == pytest.approx(kept.value, rel=1e-12)
        assert result.plan.weights[2] == 0.0


BAD = [
    (lambda: FixedLoss([]), ValueError, "losses must be an array of at least 1 value"),
    (lambda: FixedLoss([0.1, -0.2]), ValueError, "losses must be at least 0 everywhere, got -0.2 at row 1"),
    (lambda: FixedLoss([0.1, np.nan]), ValueError, "losses must be finite everywhere, got nan at row 1"),
    (lambda: FixedLoss([0.1, INF]), ValueError, "losses must be finite everywhere, got inf at row 1"),
    (lambda: FixedLoss([[0.1]]), ValueError, "losses must be a one-dimensional array"),
    (lambda: FixedLoss(["a"]), TypeError, "losses must hold real numbers"),
    (lambda: FixedLoss([[0.1], [0.2, 0.3]]), TypeError, "losses must be an array of numbers"),
    (lambda: ZeroOneLoss([0.1, np.nan]), ValueError, "distances must be free of NaN, got nan at row 1"),
    (lambda: ZeroOneLoss([-0.1]), ValueError, "distances must be at least 0"),
    (lambda: ZeroOneLoss([0.1], kind="about"), ValueError, "kind must be one of 'exact'"),
    (lambda: HingeLoss([INF], 1.0), ValueError, "margins must be finite"),
    (lambda: HingeLoss([1.0], -1.0), ValueError, "weight_norm must be a number at least 0"),
    (lambda: LogisticLoss([1.0], np.nan), ValueError, "weight_norm"),
    (lambda: LogisticLoss([1.0], [1.0, 2.0]), TypeError, "weight_norm must be a real number"),
    (lambda: SquaredLoss([1.0], INF), ValueError, "weight_norm"),
    (lambda: SquaredLoss([np.nan], 1.0), ValueError, "residuals must be finite"),
    (lambda: PiecewiseLinearLoss([1.0], [1.0]), ValueError, "values must be an array of shape"),
    (lambda: PiecewiseLinearLoss([[1.0, 0.0]], [1.0]), ValueError, "slope_norms must be of length 2, got length 1"),
    (lambda: PiecewiseLinearLoss([[1.0, 0.0]], [[1.0]]), ValueError, "slope_norms and values must have the same"),
    (lambda: PiecewiseLinearLoss([[1.0, 0.0]], [1.0, -1.0]), ValueError, "slope_norms must be at least 0"),
    (lambda: PiecewiseLinearLoss([[1.0, 0.0]], [[1.0, -1.0]]), ValueError, "got -1 at row 0, column 1"),
    (lambda: PiecewiseLinearLoss([[1.0], [-1.0]], [1.0]), ValueError, "got -1 at row 1. Add a piece of zeros"),
    (lambda: PiecewiseLinearLoss([[1.0, np.nan]], [1.0, 0.0]), ValueError, "values must be finite"),
    (lambda: CandidateLoss([[1.0]], [[0.5]]), ValueError, "distances must be 0 in column 0, the sample itself"),
    (lambda: CandidateLoss([[1.0]], [[INF]]), ValueError, "distances must be 0 in column 0"),
    (lambda: CandidateLoss([[1.0]], [[0.0, 1.0]]), ValueError, "losses and distances must have the same shape"),
    (lambda: CandidateLoss([[1.0, INF]], [[0.0, 1.0]]), ValueError, "losses must be finite and at least 0"),
    (lambda: CandidateLoss([[1.0, -1.0]], [[0.0, 1.0]]), ValueError, "got -1 at row 0, column 1"),
    (lambda: CandidateLoss([[1.0, 1.0]], [[0.0, -1.0]]), ValueError, "distances must be at least 0"),
    (lambda: CandidateLoss([[1.0, 1.0]], [[0.0, np.nan]]), ValueError, "distances must be at least 0"),
    (lambda: CandidateLoss([[1.0]], [[0.0]], kind="x"), ValueError, "kind must be one of"),
    (lambda: CandidateLoss(np.empty((0, 2)), np.empty((0, 2))), ValueError, "losses must be an array of at least 1"),
    (lambda: CandidateLoss(np.empty((2, 0)), np.empty((2, 0))), ValueError, "at least 1 column"),
    (lambda: CandidateLoss([[1.0]], [[0.0]]).appended([1.0, 2.0], [1.0, 1.0]), ValueError, "losses must be of 1"),
    (lambda: CandidateLoss([[1.0]], [[0.0]]).appended([1.0], [-1.0]), ValueError, "distances must be at least 0"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "error", "message"), BAD)
def test_bad_input_is_refused_in_words(
    build: Callable[[], Loss], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        build()
    assert message in str(caught.value)
