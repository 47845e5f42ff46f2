"""Divergences and transport between outputs: SciPy and linear programs agree, identities hold, bad input is named."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import jensenshannon
from scipy.special import softmax
from scipy.stats import entropy
from scipy.stats import wasserstein_distance as scipy_wasserstein

from shiftmetrics import Result
from shiftmetrics_lab.distances import output_distance

kl_divergence = partial(output_distance, method="kl")
jensen_shannon_divergence = partial(output_distance, method="jensen_shannon")
wasserstein_distance = partial(output_distance, method="wasserstein")
DISTANCES = [kl_divergence, jensen_shannon_divergence, wasserstein_distance]


def transport_oracle(p, q, cost):
    """One dense linear program with every class on both sides."""
    k = len(p)
    rows = np.vstack([np.kron(np.eye(k), np.ones(k)), np.kron(np.ones(k), np.eye(k))])
    kept = np.delete(np.arange(2 * k), k + np.argmax(q))  # one equation follows from the others
    return linprog(np.ravel(cost), A_eq=rows[kept], b_eq=np.r_[p, q][kept], method="highs").fun


# --- against other implementations -------------------------------------------------------------------------


def test_kl_is_that_of_scipy(outputs, probabilities):
    expected = entropy(*probabilities, axis=1)
    for result in (kl_divergence(*outputs), kl_divergence(*probabilities, kind="probabilities")):
        np.testing.assert_allclose(result.per_sample, expected, atol=1e-14)
        assert result.value == pytest.approx(expected.mean(), abs=1e-14)
        assert result.standard_error == pytest.approx(expected.std(ddof=1) / math.sqrt(60))
        assert result.interval.low < result.value < result.interval.high


def test_jensen_shannon_is_the_square_of_scipys_distance(outputs, probabilities):
    expected = jensenshannon(*probabilities, axis=1) ** 2
    np.testing.assert_allclose(jensen_shannon_divergence(*outputs).per_sample, expected, atol=1e-14)


def test_total_variation_is_half_the_absolute_difference(outputs, probabilities):
    p, q = probabilities
    result = wasserstein_distance(*outputs)
    np.testing.assert_allclose(result.per_sample, 0.5 * np.abs(p - q).sum(axis=1), atol=1e-14)
    expected = [
        transport_oracle(a, b, 1.0 - np.eye(5)) for a, b in zip(p[:10], q[:10], strict=True)
    ]
    np.testing.assert_allclose(result.per_sample[:10], expected, atol=1e-9)


def test_costs_of_classes_in_an_order_are_the_one_dimensional_distance(outputs, probabilities):
    positions = np.array([3.0, 0.0, 4.5, 1.0, 2.0])
    result = wasserstein_distance(*outputs, cost=np.abs(positions[:, None] - positions))
    assert result.settings["route"] == "line"
    expected = [
        scipy_wasserstein(positions, positions, a, b) for a, b in zip(*probabilities, strict=True)
    ]
    np.testing.assert_allclose(result.per_sample, expected, atol=1e-13)


@pytest.mark.parametrize("kind", ["metric", "squared", "asymmetric"])
def test_any_cost_is_solved_exactly(outputs, probabilities, kind):
    rng = np.random.default_rng(2)
    points = rng.normal(size=(5, 3))
    cost = np.linalg.norm(points[:, None] - points, axis=2)
    if kind == "squared":  # no metric: probability that both share may move
        cost = cost**2
    if kind == "asymmetric":
        cost = cost + np.triu(rng.random((5, 5)), 1)
    result = wasserstein_distance(*outputs, cost=cost, progress=False)
    expected = [transport_oracle(a, b, cost) for a, b in zip(*probabilities, strict=True)]
    assert result.settings["route"] == "linear program"
    np.testing.assert_allclose(result.per_sample, expected, atol=1e-8)
    assert result.error_bound < 1e-10


def test_many_programs_in_batches_are_the_same_as_one_by_one():
    rng = np.random.default_rng(3)
    p, q = softmax(rng.normal(size=(2, 150, 8)), axis=2)
    points = rng.normal(size=(8, 2))
    cost = np.linalg.norm(points[:, None] - points, axis=2)
    together = wasserstein_distance(p, q, cost=cost, kind="probabilities").per_sample
    alone = [
        wasserstein_distance(p[[i]], q[[i]], cost=cost, kind="probabilities").value
        for i in range(0, 150, 15)
    ]
    np.testing.assert_allclose(together[::15], alone, atol=1e-10)


# --- identities --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_sample_is_at_no_distance_from_itself(distance, outputs):
    scores, _ = outputs
    result = distance(scores, scores.copy())
    assert result.value == pytest.approx(0.0, abs=1e-15)
    assert result.status.ok
    assert not result.higher_is_better


@pytest.mark.parametrize("distance", [jensen_shannon_divergence, wasserstein_distance])
def test_symmetric_ones_are_symmetric(distance, outputs):
    assert distance(*outputs).value == pytest.approx(distance(*outputs[::-1]).value, abs=1e-15)


def test_kl_has_a_direction(outputs):
    assert kl_divergence(*outputs).value != pytest.approx(
        kl_divergence(*outputs[::-1]).value, rel=0.01
    )


@given(
    scale=st.floats(1e-3, 1e3),
    shift=st.floats(-1e3, 1e3),
    seed=st.integers(0, 1000),
    distance=st.sampled_from(DISTANCES),
)
def test_a_constant_added_to_a_row_changes_nothing_and_beta_is_a_scale(
    scale, shift, seed, distance
):
    scores, reference = np.random.default_rng(seed).normal(size=(2, 4, 3))
    plain = distance(scores, reference).value
    assert distance(scores + shift, reference - shift).value == pytest.approx(plain, abs=1e-12)
    assert distance(scores / scale, reference / scale, beta=scale).value == pytest.approx(
        plain, rel=1e-9
    )


@given(seed=st.integers(0, 10_000), scale=st.floats(0.01, 50.0))
def test_the_bounds_between_them_hold(seed, scale):
    scores, reference = scale * np.random.default_rng(seed).normal(size=(2, 5, 4))
    variation = wasserstein_distance(scores, reference).per_sample
    js = jensen_shannon_divergence(scores, reference).per_sample
    kl = kl_divergence(scores, reference).per_sample
    assert (js <= math.log(2) * variation + 1e-12).all()
    assert (variation <= np.sqrt(kl / 2) + 1e-12).all()  # Pinsker
    assert (js >= variation**2 / 2 - 1e-12).all()


def test_extreme_margins_neither_overflow_nor_vanish():
    scores, reference = np.array([[2000.0, 0.0]]), np.array([[0.0, 2000.0]])
    assert kl_divergence(scores, reference).value == pytest.approx(2000.0)
    assert jensen_shannon_divergence(scores, reference).value == pytest.approx(math.log(2))
    assert wasserstein_distance(scores, reference).value == pytest.approx(1.0)


def test_an_infinite_divergence_is_a_status_with_a_remedy():
    result = kl_divergence([[0.5, 0.5]], [[1.0, 0.0]], kind="probabilities")
    assert result.value == math.inf
    assert result.status.code == "infinite"
    assert "Jensen-Shannon" in result.summary()
    assert Result.from_json(result.to_json()).equals(result)
    assert kl_divergence([[1.0, 0.0]], [[0.5, 0.5]], kind="probabilities").value == pytest.approx(
        math.log(2)
    )


@pytest.mark.parametrize("distance", DISTANCES)
def test_torch_lists_and_tables_give_the_same(distance, outputs):
    torch, pd = pytest.importorskip("torch"), pytest.importorskip("pandas")
    expected = distance(*outputs).value
    assert distance(*(torch.tensor(part) for part in outputs)).value == pytest.approx(
        expected, abs=1e-14
    )
    assert distance(*(part.tolist() for part in outputs)).value == expected
    scores, reference = (pd.DataFrame(part, columns=list("abcde")) for part in outputs)
    assert distance(scores, reference.iloc[::-1, ::-1]).value == pytest.approx(expected, abs=1e-14)


def test_a_distance_reads_like_a_sentence(outputs):
    text = kl_divergence(*outputs).summary()
    assert text.startswith("Kullback-Leibler divergence: ")
    assert "Lower is better" in text
    assert float(kl_divergence(*outputs)) == kl_divergence(*outputs).value


def test_a_cost_is_refused_where_it_has_no_effect():
    with pytest.raises(
        ValueError, match='cost must be None with this method, got a matrix. Pass method="wass'
    ):
        output_distance([[0.0, 1.0]], [[1.0, 0.0]], cost=np.eye(2))
    with pytest.raises(
        ValueError, match="method must be one of 'kl', 'jensen_shannon', 'wasserstein'"
    ):
        output_distance([[0.0, 1.0]], [[1.0, 0.0]], method="hellinger")


# --- bad input ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(
    ("scores", "reference", "options", "message"),
    [
        (
            [[0.0, 1.0]],
            [[0.0, 1.0], [1.0, 0.0]],
            {},
            "reference_scores must be of as many rows as scores, 1, got 2",
        ),
        ([[0.0, np.nan]], [[0.0, 1.0]], {}, "scores must be finite"),
        ([[0.0]], [[1.0]], {}, "scores must be an array of at least 2 column"),
        ([0.0, 1.0], [0.0, 1.0], {}, "scores must be an array of shape"),
        ([[0.0, 1.0]], [[0.0, 1.0, 2.0]], {}, "same shape"),
        ([[0.0, 2.0]], [[0.5, 0.5]], {"kind": "probabilities"}, "scores must be probabilities"),
        (
            [[0.5, 0.5]],
            [[0.5, 0.5]],
            {"kind": "probabilities", "beta": 2.0},
            "beta must be 1 for probabilities",
        ),
        ([[0.0, 1.0]], [[0.0, 1.0]], {"kind": "logits"}, "kind must be one of"),
        ([[0.0, 1.0]], [[0.0, 1.0]], {"beta": -1.0}, "beta must be a number at least 0"),
    ],
)
def test_bad_outputs_are_named(distance, scores, reference, options, message):
    with pytest.raises(ValueError, match=message):
        distance(scores, reference, **options)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ([[0.0, 1.0]], "cost must be a matrix of shape"),
        ([[0.0, -1.0], [1.0, 0.0]], "cost must be non-negative, got -1 from class 0 to 1"),
        ([[1.0, 1.0], [1.0, 0.0]], "cost must be 0 from each class to itself, got 1 at class 0"),
        ([[0.0, np.inf], [1.0, 0.0]], "cost must be finite"),
    ],
)
def test_bad_costs_are_named(cost, message):
    with pytest.raises(ValueError, match=message):
        wasserstein_distance([[0.0, 1.0]], [[1.0, 0.0]], cost=cost)


def test_confident_outputs_with_tiny_probabilities_are_solved():
    rng = np.random.default_rng(0)
    scores, reference = 15.0 * rng.normal(size=(2, 80, 12))
    cost = rng.random((12, 12)) + 0.5  # a metric: no detour is shorter than 1
    np.fill_diagonal(cost, 0.0)
    result = wasserstein_distance(scores, reference, cost=cost)
    p, q = softmax(scores, axis=1), softmax(reference, axis=1)
    expected = [transport_oracle(a, b, cost) for a, b in zip(p[:20], q[:20], strict=True)]
    np.testing.assert_allclose(result.per_sample[:20], expected, atol=1e-6)
    assert result.error_bound < 1e-9
    squared = wasserstein_distance(scores, reference, cost=cost**3)
    expected = [transport_oracle(a, b, cost**3) for a, b in zip(p[:20], q[:20], strict=True)]
    np.testing.assert_allclose(squared.per_sample[:20], expected, atol=1e-6)
