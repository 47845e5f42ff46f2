import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics_lab.shifts.factors import ENVIRONMENTS, factor_environments
from shiftmetrics_lab.shifts.factors.designs import uncorrelated_factors
from shiftmetrics_lab.shifts.factors.environments import split_instances
from shiftmetrics_lab.shifts.factors.spec import FactorSpec

LABELS = np.random.default_rng(0).choice(10, size=600, p=[0.19, *[0.09] * 9])


@given(st.integers(0, 200), st.integers(0, 200), st.integers(0, 9))
def test_parts_are_disjoint_and_of_one_composition(first, second, seed):
    parts = split_instances(LABELS, {"train": first, "test": second}, rng=seed)
    assert len(parts["train"]) == first
    assert len(parts["test"]) == second
    assert not set(parts["train"]) & set(parts["test"])
    for size, rows in ((first, parts["train"]), (second, parts["test"])):
        for digit in range(10):
            expected = size * (digit == LABELS).mean()
            assert abs((LABELS[rows] == digit).sum() - expected) <= 2.0


def test_shapes_and_shares():
    parts = split_instances(LABELS, {"a": 0.5, "b": 0.5}, shape=(4, 9), rng=0)
    assert set(LABELS[np.concatenate(list(parts.values()))]) == {4, 9}
    assert sum(map(len, parts.values())) == np.isin(LABELS, (4, 9)).sum()
    again = split_instances(LABELS, {"a": 0.5, "b": 0.5}, shape=(4, 9), rng=0)
    np.testing.assert_array_equal(parts["a"], again["a"])


@pytest.mark.parametrize(
    ("sizes", "shape", "message"),
    [
        ({"a": 500, "b": 101}, None, "at most 600 digits in all, got 601"),
        ({"a": 1.5}, None, r"sizes\['a'\] must be a number at least 0 and at most 1"),
        ({"a": -1}, None, "an integer at least 0"),
        ({}, None, "at least one part"),
        ({"a": 1}, (4, 11), r"got \[11\]"),
    ],
)
def test_bad_sizes_are_named(sizes, shape, message):
    with pytest.raises(ValueError, match=message):
        split_instances(LABELS, sizes, shape=shape, rng=0)


def test_the_same_digits_differ_in_the_factors_alone(handwriting):
    digits, labels = handwriting
    samples = factor_environments(
        digits, labels, ENVIRONMENTS["discriminability"], instances=np.arange(60), rng=0
    )
    assert len(samples) == 6
    base = samples[0]
    assert set(base.labels) == {4, 9}
    np.testing.assert_array_equal(labels[base.instances], base.labels)
    for sample, spec in zip(samples, ENVIRONMENTS["discriminability"], strict=True):
        np.testing.assert_array_equal(sample.instances, base.instances)
        assert {name: set(column) for name, column in sample.factors.items()} == {
            name: {value} for name, value in spec.values().items()
        }
    # Hue apart, environments 0 and 1 are one drawing.
    np.testing.assert_allclose(
        samples[0].images.mean(axis=3), samples[1].images.mean(axis=3), atol=1.0
    )
    assert base.to_frame().shape == (len(base.labels), 7)


def test_other_digits_of_the_same_class(handwriting):
    digits, labels = handwriting
    first, second = factor_environments(
        digits, labels, ENVIRONMENTS["hue training"], same_instances=False, size=32, rng=0
    )
    np.testing.assert_array_equal(first.labels, second.labels)
    assert not set(first.instances) & set(second.instances)
    assert len(first.labels) == sum((labels == digit).sum() // 2 for digit in (1, 4, 7, 9))
    assert first.seed != second.seed


def test_rows_can_have_factors_of_their_own(handwriting):
    digits, labels = handwriting
    factors = uncorrelated_factors(labels[:20], rng=0)
    (sample,) = factor_environments(digits[:20], labels[:20], [factors], size=32, rng=0)
    np.testing.assert_array_equal(sample.factors["hue"], factors["hue"])


@pytest.mark.parametrize(
    ("environments", "options", "message"),
    [
        ([], {}, "at least one environment"),
        ([FactorSpec(shape=(4,)), FactorSpec(shape=(9,))], {}, "of one shape"),
        ([FactorSpec()], {"instances": [0, 5000]}, "positions from 0 to"),
        ([FactorSpec()], {"instances": [0.5]}, "positions from 0 to"),
        (
            [FactorSpec(shape=(4, 9))] * 2,
            {"instances": [4], "same_instances": False},
            "enough for every",
        ),
    ],
)
def test_bad_input_is_named(environments, options, message, handwriting):
    with pytest.raises(ValueError, match=message):
        factor_environments(*handwriting, environments, rng=0, **options)


def test_labels_must_match(handwriting):
    with pytest.raises(ValueError, match="labels must be of length 1797"):
        factor_environments(handwriting[0], handwriting[1][:5], [FactorSpec()])
    with pytest.raises(ValueError, match="a list of digits"):
        split_instances([0.5, 1.5], {"a": 1})


@pytest.mark.realdata
def test_mnist_in_six_environments(data_folder):
    stored = np.load(data_folder / "mnist_test" / "mnist_t10k.npz")
    digits, labels = stored["images"], stored["labels"]
    sizes = {"train_0": 400, "train_1": 400, "validation": 200, "test": 100}
    parts = split_instances(labels, sizes, shape=(4, 9), rng=0)
    assert len(set(np.concatenate(list(parts.values())))) == 1100
    samples = factor_environments(
        digits, labels, ENVIRONMENTS["discriminability"], instances=parts["test"], rng=0
    )
    assert [sample.images.shape for sample in samples] == [(100, 128, 128, 3)] * 6
