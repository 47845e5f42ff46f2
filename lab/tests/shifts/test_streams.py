import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftmetrics._core.validation import seed_of
from shiftmetrics_lab.shifts.streams import RowStreams, child_seed


@given(st.integers(0, 40), st.integers(0, 40), st.integers(1, 9))
def test_rows_have_the_same_numbers_in_any_batch(start, length, size):
    streams = RowStreams(7, "noise")
    whole = streams.uniforms(slice(0, 80), (size,))
    part = streams.uniforms(slice(start, start + length), (size,))
    np.testing.assert_array_equal(part, whole[start : start + length])


def test_uniforms_are_uniform_and_normals_normal():
    from scipy import stats

    streams = RowStreams(3, "noise")
    assert stats.kstest(streams.uniforms(slice(0, 5000), (4,)).ravel(), "uniform").pvalue > 0.01
    assert stats.kstest(streams.normals(slice(0, 5000), (4,)).ravel(), "norm").pvalue > 0.01


def test_uniforms_equal_the_generator_of_the_same_bits():
    bits = RowStreams(3, "noise")._bits(0)
    np.testing.assert_array_equal(
        RowStreams(3, "noise").uniforms(slice(0, 6), (4,)), np.random.Generator(bits).random((6, 4))
    )


def test_rows_seeds_and_purposes_are_independent():
    base = RowStreams(1, "a").uniforms(slice(0, 500), (8,))
    for other in (RowStreams(2, "a"), RowStreams(1, "b")):
        assert (
            abs(np.corrcoef(base.ravel(), other.uniforms(slice(0, 500), (8,)).ravel())[0, 1]) < 0.06
        )
    assert abs(np.corrcoef(base[:-1].ravel(), base[1:].ravel())[0, 1]) < 0.06
    rows = [RowStreams(1, "a").generator(row).random(200) for row in (0, 1)]
    assert abs(np.corrcoef(*rows)[0, 1]) < 0.2
    # The generator of row 0 does not repeat the block of uniforms.
    assert not np.isin(rows[0], base).any()


def test_seed_of_keeps_seeds_and_draws_from_generators():
    assert seed_of(5) == 5
    assert seed_of(np.int32(5)) == 5
    assert seed_of(np.random.default_rng(0)) == seed_of(np.random.default_rng(0))
    assert seed_of(None) != seed_of(None)
    generator = np.random.default_rng(0)
    assert seed_of(generator) != seed_of(generator)  # it moves on
    with pytest.raises(TypeError, match="rng must be a seed"):
        seed_of("seven")
    with pytest.raises(ValueError, match="rng must be a seed"):
        seed_of(-1)


def test_children_of_a_seed_differ():
    assert len({child_seed(seed, position) for seed in range(20) for position in range(20)}) == 400
