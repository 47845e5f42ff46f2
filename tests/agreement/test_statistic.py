"""The map step: one formula for every array library, every block size and every scale; shards add up."""

import functools
import math
import operator
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp, softmax

import oracles
from optional import array_api_strict, torch
from shiftmetrics.agreement import posterior_agreement, scores
from shiftmetrics.agreement.scores import prepare_pairs
from shiftmetrics.agreement.statistic import (
    AgreementLimits,
    AgreementStatistic,
    evaluator,
    limits_of,
    row_agreement,
    survey,
)

BETAS = [0.0, 1e-9, 0.01, 0.3, 1.0, 7.0, 500.0]

LIBRARIES = {
    "torch": torch.asarray,
    "torch float32": lambda x: torch.asarray(x, dtype=torch.float32),
    "array-api-strict": array_api_strict.asarray,
}


def sample(seed: int = 0, n: int = 50, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Scores on a grid of eighths, exact in every format, with ties, identical rows and a contradiction."""
    rng = np.random.default_rng(seed)
    reference = np.round(rng.normal(size=(n, k)) * 24) / 8
    shifted = reference + np.round(rng.normal(size=(n, k)) * 8) / 8
    shifted[:3] = reference[:3]
    shifted[3], reference[3] = 0.0, [1.0] + [0.0] * (k - 1)
    shifted[4] = -100 * reference[4]
    return shifted, reference


def textbook(
    shifted: np.ndarray, reference: np.ndarray, beta: float
) -> tuple[float, float, float, float]:
    """Sums of L(a + b), its slope, L(a) + L(b), its slope, with rows centred, by SciPy."""
    a, b = (x - x.max(axis=1, keepdims=True) for x in (shifted, reference))

    def part(s: np.ndarray) -> tuple[float, float]:
        value = logsumexp(beta * s, axis=1) - math.log(s.shape[1])
        return value.sum(), np.sum(softmax(beta * s, axis=1) * s)

    pair, first, second = part(a + b), part(a), part(b)
    return pair[0], pair[1], first[0] + second[0], first[1] + second[1]


def assert_close(first: object, second: object, rtol: float = 1e-12) -> None:
    assert type(first) is type(second)
    for name in first.field_names():
        a, b = getattr(first, name), getattr(second, name)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, err_msg=name)


def test_the_statistic_is_the_textbook_sum() -> None:
    shifted, reference = sample()
    found = evaluator(prepare_pairs(shifted, reference))(BETAS)
    for j, beta in enumerate(BETAS):
        expected = textbook(shifted, reference, beta)
        parts = found.pair[j], found.pair_slope[j], found.single[j], found.single_slope[j]
        np.testing.assert_allclose(parts, expected, rtol=1e-12, atol=1e-12)
        if beta <= 7.0:
            assert found.value[j] == pytest.approx(
                oracles.agreement(shifted, reference, beta), abs=1e-12
            )
    assert found.weight == 50.0


@given(st.integers(0, 10_000), st.floats(0.0, 3.0))
def test_slopes_are_derivatives(seed: int, beta: float) -> None:
    rng = np.random.default_rng(seed)
    pairs = prepare_pairs(rng.normal(size=(5, 3)) * 3, rng.normal(size=(5, 3)) * 3)
    step = 1e-5
    before, at, after = (evaluator(pairs)([beta + shift]) for shift in (0.0, step, 2 * step))
    for name in ("pair", "single"):
        quotient = (getattr(after, name) - getattr(before, name)) / (2 * step)
        np.testing.assert_allclose(getattr(at, f"{name}_slope"), quotient, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(at.slope, (after.value - before.value) / (2 * step), atol=1e-6)


def test_beta_zero_is_stationary_with_the_covariance_as_curvature() -> None:
    shifted, reference = sample(1)
    found = evaluator(prepare_pairs(shifted, reference))([0.0, 1e-4])
    assert found.value[0] == pytest.approx(0.0, abs=1e-15)
    assert found.slope[0] == pytest.approx(0.0, abs=1e-12)
    covariance = np.mean(
        [np.cov(a, b, bias=True)[0, 1] for a, b in zip(shifted, reference, strict=True)]
    )
    assert found.slope[1] / 1e-4 == pytest.approx(2 * covariance, rel=1e-2)


def test_both_parts_are_convex_and_fall_from_zero() -> None:
    shifted, reference = sample(2)
    found = evaluator(prepare_pairs(shifted, reference))(np.linspace(0, 20, 200))
    for name in ("pair", "single"):
        value, slope = getattr(found, name), getattr(found, f"{name}_slope")
        assert value[0] == pytest.approx(0.0, abs=1e-12)
        assert (np.diff(slope) >= -1e-12).all()
        assert (slope <= 1e-12).all()


def test_limits() -> None:
    shifted, reference = sample()
    limits = limits_of(prepare_pairs(shifted, reference))
    a, b = (x - x.max(axis=1, keepdims=True) for x in (shifted, reference))
    first, second = a == 0, b == 0
    common = (first & second).sum(axis=1)
    assert limits.weight == limits.n_rows == 50
    assert limits.start_slope == pytest.approx((a + b).mean(axis=1).sum())
    assert limits.pair_fall == pytest.approx((a + b).max(axis=1).sum())
    assert limits.single_limit == pytest.approx(
        np.log(first.mean(axis=1) * second.mean(axis=1)).sum()
    )
    assert limits.pair_limit == pytest.approx(np.log(common[common > 0] / 4).sum())
    assert limits.disagreeing == (common == 0).sum() > 0
    assert limits.n_identical == 3
    assert limits.predicted.sum() == limits.reference_predicted.sum() == pytest.approx(50)
    np.testing.assert_allclose(
        limits.predicted + limits.reference_predicted,
        sum(np.bincount(x.argmax(axis=1), minlength=4) for x in (first, second)),
    )
    assert limits.spread == max(np.ptp(part, axis=1).max() for part in (a, b, a + b))
    assert limits.value == -math.inf


def test_limits_are_what_the_statistic_tends_to() -> None:
    reference = np.round(np.random.default_rng(4).normal(size=(40, 3)))
    limits = limits_of(prepare_pairs(2 * reference, reference))
    far = evaluator(prepare_pairs(2 * reference, reference))([0.0, 1e4])
    assert limits.single_limit == pytest.approx(far.single[1], abs=1e-10)
    assert limits.pair_limit == pytest.approx(far.pair[1], abs=1e-10)
    assert limits.value == pytest.approx(far.value[1], abs=1e-12)
    assert limits.start_slope == pytest.approx(far.pair_slope[0])
    assert limits.start_slope == pytest.approx(far.single_slope[0])


def test_a_prior_and_weights_enter_every_sum() -> None:
    shifted, reference = sample(5, n=20)
    prior, weights = np.array([0.1, 0.2, 0.3, 0.4]), np.arange(20.0)
    pairs = prepare_pairs(shifted, reference, prior=prior, sample_weight=weights)
    found = evaluator(pairs)([0.7])
    assert found.value[0] == pytest.approx(
        oracles.agreement(shifted, reference, 0.7, prior, weights), abs=1e-12
    )
    rows = oracles.agreement_rows(shifted, reference, 0.7, prior).astype(float)
    np.testing.assert_allclose(row_agreement(pairs, 0.7), rows, atol=1e-12)
    limits = limits_of(pairs)
    disagree = [set(np.flatnonzero(a == a.max())).isdisjoint(np.flatnonzero(b == b.max()))
                for a, b in zip(shifted, reference, strict=True)]  # fmt: skip
    assert limits.disagreeing == pytest.approx(weights[disagree].sum() / weights.mean())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("k", [2, 4, 70])
def test_libraries_give_one_statistic(library: str, k: int) -> None:
    shifted, reference = sample(6, n=40, k=k)
    asarray = LIBRARIES[library]
    weights = np.linspace(0.0, 2.0, 40)
    first = prepare_pairs(shifted, reference, sample_weight=weights)
    second = prepare_pairs(asarray(shifted), asarray(reference), sample_weight=weights)
    assert_close(evaluator(first)(BETAS), evaluator(second)(BETAS))
    assert_close(limits_of(first), limits_of(second))
    for beta in (0.5, math.inf):
        np.testing.assert_allclose(
            row_agreement(first, beta), row_agreement(second, beta), atol=1e-12
        )


@pytest.mark.parametrize("k", [2, 60])
def test_the_array_api_route_is_taken_and_agrees(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch on a CPU is read through NumPy; on a device the same kernels run in torch."""
    shifted, reference = sample(7, n=40, k=k)
    prior = np.append(0.0, np.full(k - 1, 1 / (k - 1))) if k > 2 else None
    pairs = prepare_pairs(torch.asarray(shifted), torch.asarray(reference), prior=prior)
    expected = [evaluator(pairs)(BETAS), limits_of(pairs)]
    monkeypatch.setattr(scores, "on_cpu", lambda array: False)
    assert isinstance(pairs.block(slice(0, 3)), torch.Tensor)
    for mine, other in zip(expected, [evaluator(pairs)(BETAS), limits_of(pairs)], strict=True):
        assert_close(mine, other)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_argument_works_with_every_library(library: str) -> None:
    shifted, reference = sample(8)
    asarray = LIBRARIES[library]
    a, b = asarray(shifted), asarray(reference)
    for options in (
        {"prior": "predicted"},
        {"prior": [0.5, 0.0, 0.25, 0.25]},
        {"sample_weight": np.arange(50.0)},
    ):
        expected = posterior_agreement(shifted, reference, **options)
        found = posterior_agreement(a, b, **options)
        assert found.value == pytest.approx(expected.value, abs=1e-12)
        np.testing.assert_allclose(found.per_sample, expected.per_sample, atol=1e-6)
    p, q = (
        softmax(x / 10, axis=1).astype(np.float32).astype(np.float64) for x in (reference, shifted)
    )
    p[0] = [1.0, 0.0, 0.0, 0.0]
    expected = posterior_agreement(q, p, kind="probabilities")
    found = posterior_agreement(asarray(q), asarray(p), kind="probabilities")
    assert found.value == pytest.approx(expected.value, abs=1e-12)
    assert found.settings["floor"] == pytest.approx(expected.settings["floor"])
    margins = posterior_agreement(asarray(shifted[:, 0]), asarray(reference[:, 0]))
    assert margins.value == pytest.approx(
        posterior_agreement(shifted[:, 0], reference[:, 0]).value, abs=1e-12
    )


def test_half_precision_tensors_and_gradients() -> None:
    shifted, reference = sample(9)
    expected = posterior_agreement(shifted, reference)
    for dtype in (torch.bfloat16, torch.float16):
        a, b = torch.asarray(shifted).to(dtype), torch.asarray(reference).to(dtype)
        exact = posterior_agreement(a.to(torch.float64), b.to(torch.float64))
        assert posterior_agreement(a, b).value == exact.value
    a = torch.asarray(shifted).requires_grad_()
    assert posterior_agreement(a, torch.asarray(reference)).value == expected.value


@pytest.mark.parametrize("other", [torch.asarray, array_api_strict.asarray])
def test_libraries_do_not_mix(other: object) -> None:
    shifted, reference = sample(10)
    with pytest.raises(
        TypeError, match="scores and reference_scores must come from the same array library"
    ):
        posterior_agreement(shifted, other(reference))


@pytest.mark.parametrize("k", [2, 4, 70])
def test_blocks_change_nothing(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shifted, reference = sample(11, n=60, k=k)
    pairs = prepare_pairs(shifted, reference, sample_weight=np.linspace(1, 2, 60))
    whole = [evaluator(pairs)(BETAS), limits_of(pairs)]
    rows = row_agreement(pairs, 0.4)
    for size in (1, 7 * 8 * k, 59 * 8 * k):
        monkeypatch.setattr(scores, "PLANE_BYTES", size)
        assert len(pairs.slices()) > 1
        for mine, other in zip(whole, [evaluator(pairs)(BETAS), limits_of(pairs)], strict=True):
            assert_close(mine, other)
        np.testing.assert_allclose(row_agreement(pairs, 0.4), rows, atol=1e-14)


def test_shards_add_up_and_travel() -> None:
    shifted, reference = sample(12)
    whole = prepare_pairs(shifted, reference)
    shards = [
        prepare_pairs(shifted[part], reference[part])
        for part in np.array_split(np.arange(50), [1, 20, 44])
        if len(part)
    ]
    for make in (lambda pairs: evaluator(pairs)(BETAS), limits_of):
        parts = [pickle.loads(pickle.dumps(make(shard))) for shard in shards]
        assert_close(functools.reduce(operator.add, parts), make(whole))
        assert_close(functools.reduce(operator.add, reversed(parts)), make(whole))
        packed = parts[0].unpack(sum(part.pack() for part in parts))
        if not isinstance(packed, AgreementLimits):  # whose spreads are maxima, not sums
            assert_close(packed, make(whole))


def test_statistics_of_other_betas_do_not_add() -> None:
    pairs = prepare_pairs(*sample(13))
    with pytest.raises(ValueError, match="of shape"):
        evaluator(pairs)([0.1]) + evaluator(pairs)([0.1, 0.2])
    with pytest.raises(TypeError):
        evaluator(pairs)([0.1]) + limits_of(pairs)
    assert isinstance(evaluator(pairs)([0.1]), AgreementStatistic)


def test_extreme_scales_are_surveyed_into_range() -> None:
    shifted, reference = sample(14)
    for scale in (1e-300, 5e-324, 1.0, 1e300, 1.5e305):
        pairs, limits = survey(prepare_pairs(shifted * scale, reference * scale))
        assert np.isfinite(limits.pack()).all()
        assert pairs.scale == 2.0 ** round(math.log2(pairs.scale))
        assert (pairs.scale == 1.0) == (scale == 1.0)
        assert (
            limits.disagreeing == limits_of(prepare_pairs(shifted, reference)).disagreeing
            or scale < 1e-300
        )
