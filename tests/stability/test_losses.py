"""Transforms against grids and identities, at the door of every loss, and in every array library."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
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


# --- transforms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theta1", [0.05, 0.4, 3.0])
@pytest.mark.parametrize("dual", [1e-3, 0.3, 2.0, 30.0])
@pytest.mark.parametrize("name", ["hinge", "logistic", "squared", "piecewise"])
def test_closed_forms_agree_with_a_grid(name: str, dual: float, theta1: float) -> None:
    starts, norm = np.array([-3.0, -0.4, 0.0, 0.7, 1.0, 2.5, 6.0]), 1.3
    if name == "squared":  # below the pole
        dual = theta1 / norm**2 * dual / (0.1 + dual)
    loss = {
        "hinge": HingeLoss(starts, norm),
        "logistic": LogisticLoss(starts, norm),
        "squared": SquaredLoss(starts, norm),
        "piecewise": PiecewiseLinearLoss(
            np.stack([1 - starts, 0 * starts + 0.5], axis=1), [norm, 0.0]
        ),
    }[name]
    value, losses, squared, *_ = loss.transform(dual, theta1, everything(loss))
    for i, start in enumerate(starts):
        of_move: Any = {
            "hinge": lambda t, m=start: np.maximum(1 - m + norm * t, 0),
            "logistic": lambda t, m=start: np.logaddexp(0, norm * t - m),
            "squared": lambda t, m=start: (abs(m) + norm * t) ** 2,
            "piecewise": lambda t, m=start: np.maximum(1 - m + norm * t, 0.5),
        }[name]
        best, _, _ = oracles.worst_case_on_grid(
            of_move, dual, theta1, longest=1.01 * np.sqrt(squared[i]) + 3.0
        )
        assert value[i] == pytest.approx(best, rel=1e-7, abs=1e-9)
        assert of_move(np.sqrt(squared[i])) == pytest.approx(losses[i], rel=1e-9, abs=1e-12)


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


@given(
    margin=st.floats(-700, 700),
    norm=st.floats(1e-3, 50),
    dual=st.floats(1e-6, 1e3),
    theta1=st.floats(1e-3, 1e3),
)
def test_the_logistic_maximum_is_global(
    margin: float, norm: float, dual: float, theta1: float
) -> None:
    loss = LogisticLoss([margin], norm)
    value = loss.transform(dual, theta1, slice(0, 1)).value[0]
    longest = dual * norm / (2 * theta1)  # no stationary point is farther away
    moves = np.concatenate([np.linspace(0, longest, 2001), longest * np.geomspace(1e-9, 1, 500)])
    scores = dual * np.logaddexp(0, moves * norm - margin) - theta1 * moves**2
    assert value >= scores.max() - 1e-12 * (1 + dual * (longest * norm + abs(margin)))


def test_a_degenerate_logistic_row_has_two_equal_maxima() -> None:
    # gain 8: two maxima meet at margin 4, mirror images of one another
    dual, theta1, norm = 8.0, 0.5, 1.0
    below, above = LogisticLoss([4 - 1e-9], norm), LogisticLoss([4 + 1e-9], norm)
    near, far = (loss.transform(dual, theta1, slice(0, 1)) for loss in (above, below))
    assert far.squared_distance[0] > 10 * near.squared_distance[0]
    assert far.value[0] == pytest.approx(near.value[0], rel=1e-7)
    # gain 4: all three stationary points are one
    flat = LogisticLoss([2.0], norm).transform(4.0, theta1, slice(0, 1))
    assert flat.squared_distance[0] == pytest.approx(4.0, rel=1e-4)


def test_squared_keeps_its_digits_near_the_pole() -> None:
    loss = SquaredLoss([1e-9], 1.5)
    pole = loss.largest_dual(0.4)
    assert pole == pytest.approx(0.4 / 2.25)
    dual = pole * (1 - 2.0**-40)
    value, losses, squared, *_ = loss.transform(dual, 0.4, slice(0, 1))
    assert losses[0] == pytest.approx(1e-18 * 2.0**80, rel=1e-3)
    assert np.sqrt(squared[0]) == pytest.approx((np.sqrt(losses[0]) - 1e-9) / 1.5, rel=1e-9)
    assert value[0] > 0


def test_a_weight_norm_of_zero_means_that_nothing_moves() -> None:
    for loss in (HingeLoss([0.3], 0.0), LogisticLoss([0.3], 0.0), SquaredLoss([0.3], 0.0)):
        value, losses, squared, *_ = loss.transform(0.7, 0.4, slice(0, 1))
        assert losses[0] == loss.base(slice(0, 1))[0] == loss.reach(0.4, slice(0, 1)).loss[0]
        assert (value[0], squared[0]) == (pytest.approx(0.7 * losses[0]), 0.0)
        assert loss.largest_dual(0.4) == INF


# --- candidates ------------------------------------------------------------------------------------------


def test_appending_equals_building_at_once() -> None:
    rng = np.random.default_rng(0)
    losses, distances = rng.exponential(size=(20, 12)), rng.uniform(0.1, 2, size=(20, 12))
    distances[:, 0] = 0
    distances[3, 4:] = INF
    whole = CandidateLoss(losses, distances)
    grown = CandidateLoss(losses[:, :1], distances[:, :1])
    for column in range(1, 9):
        grown = grown.appended(losses[:, column], distances[:, column])
    grown = grown.appended(losses[:, 9:], distances[:, 9:])
    assert grown.n_candidates == whole.n_candidates == 12
    np.testing.assert_array_equal(grown.losses, losses)
    np.testing.assert_array_equal(grown.distances, distances)
    for dual in (0.0, 0.3, 5.0):
        for mine, theirs in zip(
            grown.transform(dual, 0.4, slice(0, 20)),
            whole.transform(dual, 0.4, slice(0, 20)),
            strict=True,
        ):
            np.testing.assert_array_equal(mine, theirs)
    for mine, theirs in zip(
        grown.reach(0.4, slice(0, 20)), whole.reach(0.4, slice(0, 20)), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_choices_point_at_the_worst_case() -> None:
    rng = np.random.default_rng(1)
    losses, distances = rng.exponential(size=(30, 6)), rng.uniform(0.1, 2, size=(30, 6))
    distances[:, 0] = 0
    loss = CandidateLoss(losses, distances)
    for dual in (0.3, 5.0):
        choice = loss.transform(dual, 0.4, slice(0, 30)).choice
        np.testing.assert_array_equal(choice, (dual * losses - 0.4 * distances**2).argmax(axis=1))
    np.testing.assert_array_equal(loss.reach(0.4, slice(0, 30)).choice, losses.argmax(axis=1))
    np.testing.assert_array_equal(loss.transform(0.3, INF, slice(0, 30)).choice, 0)


def test_free_moves_count_as_the_row_itself() -> None:
    loss = CandidateLoss([[0.0, 2.0, 3.0], [1.0, 0.5, 9.0]], [[0.0, 0.0, 1.0], [0.0, 1.0, INF]])
    np.testing.assert_array_equal(loss.base(slice(0, 2)), [2.0, 1.0])
    np.testing.assert_array_equal(loss.transform(0.0, 0.4, slice(0, 2)).choice, [1, 0])
    assert stability_criterion(loss, 1.5).status.code == "already_at_risk"
    later = CandidateLoss([[0.0], [1.0]], [[0.0], [0.0]]).appended([4.0, 0.0], [0.0, INF])
    np.testing.assert_array_equal(later.base(slice(0, 2)), [4.0, 1.0])


def test_padding_may_hold_anything() -> None:
    clean = CandidateLoss([[0.5, 2.0], [1.0, 0.0]], [[0.0, 1.0], [0.0, INF]])
    for junk in (np.nan, INF, -1.0, 1e300):
        loss = CandidateLoss([[0.5, 2.0], [1.0, junk]], [[0.0, 1.0], [0.0, INF]])
        for dual in (0.0, 0.3, 7.0):
            for mine, theirs in zip(
                loss.transform(dual, 0.4, slice(0, 2)),
                clean.transform(dual, 0.4, slice(0, 2)),
                strict=True,
            ):
                np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(loss.reach(0.4, slice(0, 2)).loss, [2.0, 1.0])


def test_fixed_and_zero_one_are_candidates_too() -> None:
    distances = np.array([0.0, 0.4, 1.0, INF])
    zero_one = ZeroOneLoss(distances)
    losses = np.stack([(distances == 0).astype(float), np.ones(4)], axis=1)
    as_candidates = CandidateLoss(losses, np.stack([np.zeros(4), distances], axis=1), kind="exact")
    for threshold in (0.3, 0.5, 0.7):
        first, second = (stability_criterion(x, threshold) for x in (zero_one, as_candidates))
        assert first.value == pytest.approx(second.value, rel=1e-9)
    fixed = FixedLoss([0.1, 0.5, 2.0])
    column = CandidateLoss([[0.1], [0.5], [2.0]], np.zeros((3, 1)))
    assert stability_criterion(fixed, 1.0).value == stability_criterion(column, 1.0).value


def test_hinge_is_piecewise_linear() -> None:
    margins = np.random.default_rng(2).normal(size=50)
    values = np.stack([np.zeros(50), 1 - margins], axis=1)
    for norms in (np.array([0.0, 1.7]), np.tile([0.0, 1.7], (50, 1))):
        pieces = PiecewiseLinearLoss(values, norms)
        for mine, theirs in zip(
            pieces.transform(0.3, 0.4, slice(0, 50))[:3],
            HingeLoss(margins, 1.7).transform(0.3, 0.4, slice(0, 50))[:3],
            strict=True,
        ):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    moved = pieces.transform(0.3, 0.4, slice(0, 50)).squared_distance > 0
    np.testing.assert_array_equal(pieces.transform(0.3, 0.4, slice(0, 50)).choice, moved)


# --- the door --------------------------------------------------------------------------------------------

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
